// Events as sentences for people. Unknown kinds are shown by their name: a newer server may have more of them. What the
// schema promises of their data may still be missing in the log of another version, so that fields are looked at twice.
import type { EventData, WarrenEvent } from "../../api/types";
import { formatBytes, formatDuration } from "../../components/format";

export type Tone = "good" | "bad" | "warn" | "quiet";

export interface Description {
  text: string;
  tone: Tone;
}

/** `who`: by whom, where it was a person. */
export function describe(event: WarrenEvent, who = "Somebody"): Description {
  const { kind } = event;
  switch (event.kind) {
    case "workspace.lifecycle.created":
      return { text: `was created on ${word(event.data.provider) ?? "its provider"}`, tone: "quiet" };
    case "workspace.spec.changed":
      return { text: `was changed${fieldsOf(event.data.fields)}`, tone: "quiet" };
    case "workspace.status.changed":
      return statusChange(word(event.data.to), word(event.data.reason));
    case "workspace.lifecycle.removed":
      return { text: "was removed", tone: "warn" };
    case "workspace.removal.failed":
      return { text: "could not be stopped yet; it is tried again", tone: "bad" };
    case "workspace.runtime.registered":
      return { text: `registered its runtime (boot ${number(event.data.boots) ?? "?"})`, tone: "good" };
    case "workspace.budget.exhausted":
      return { text: `spent its budget for ${word(event.data.month) ?? "the month"}`, tone: "bad" };
    case "workspace.file.changed":
      return fileChange(word(event.data.operation), word(event.data.path), number(event.data.bytes));
    case "workspace.process.started":
      return {
        text: `started ${word(event.data.program) ?? "a program"} as process ${number(event.data.process) ?? "?"}`,
        tone: "quiet",
      };
    case "workspace.command.finished":
      return commandFinished(event.data);
    case "workspace.tool.refused":
      return {
        text: `refused the tool ${word(event.data.tool) ?? "?"}${times(number(event.data.count))}`,
        tone: "warn",
      };
    case "chat.conversation.created":
      return { text: "began a conversation", tone: "quiet" };
    case "chat.conversation.changed":
      return { text: "has a conversation with another title", tone: "quiet" };
    case "chat.conversation.removed":
      return {
        text: `lost a conversation with ${number(event.data.messages) ?? "?"} messages`,
        tone: "warn",
      };
    case "chat.message.posted":
      return { text: "has a new message", tone: "quiet" };
    case "exchange.task.submitted":
      return { text: "was asked for work", tone: "quiet" };
    case "exchange.task.changed":
      return taskChange(word(event.data.to), word(event.data.reason));
    case "exchange.task.progressed":
      return { text: `says: ${word(event.data.line) ?? "?"}`, tone: "quiet" };
    case "exchange.delivery.requeued":
      return { text: `keeps a message for later${because(word(event.data.reason))}`, tone: "warn" };
    case "exchange.message.refused":
      return { text: `refused a message${because(word(event.data.reason))}`, tone: "warn" };
    case "exchange.delegation.changed":
    case "exchange.delegation.completed":
      return { text: `handed on work: ${spaced(word(event.data.state))}`, tone: "quiet" };
    case "exchange.schedule.changed":
      return {
        text: `has its schedule ${word(event.data.name) ?? "?"} ${word(event.data.change) ?? "changed"}`,
        tone: "quiet",
      };
    case "exchange.schedule.fired":
      return { text: `was told by its schedule ${word(event.data.name) ?? "?"}`, tone: "quiet" };
    case "exchange.schedule.skipped":
      return {
        text: `was not told by its schedule ${word(event.data.name) ?? "?"}${because(word(event.data.reason))}`,
        tone: "warn",
      };
    case "exchange.schedule.failed":
      return {
        text: `could not be told by its schedule ${word(event.data.name) ?? "?"}${because(word(event.data.reason))}`,
        tone: "bad",
      };
    case "exchange.approval.requested":
      return { text: `asks for a decision: ${word(event.data.action) ?? "?"}`, tone: "warn" };
    case "exchange.approval.decided":
      return {
        text: `has its answer: ${word(event.data.action) ?? "?"} is ${spaced(word(event.data.state))}`,
        tone: "quiet",
      };
    case "agent.session.changed":
      return sessionChange(event.data);
    case "identity.token.created":
      return {
        text: `Token “${word(event.data.name) ?? "?"}” (${word(event.data.kind) ?? "?"}) was made`,
        tone: "quiet",
      };
    case "identity.token.revoked":
      return { text: "A token was revoked", tone: "warn" };
    case "identity.session.started":
      return { text: `${who} signed in`, tone: "quiet" };
    case "identity.user.joined":
      return {
        text: `${word(event.data.name) ?? "Somebody"} is in the org as ${word(event.data.role) ?? "?"}`,
        tone: "good",
      };
    case "identity.user.changed":
      return {
        text: `${word(event.data.name) ?? "Somebody"} was changed${event.data.role ? `: ${word(event.data.role)}` : ""}`,
        tone: "quiet",
      };
    case "identity.user.left":
      return { text: `${word(event.data.name) ?? "Somebody"} is no longer in the org`, tone: "warn" };
    case "fleet.template.stored":
      return { text: `The template ${word(event.data.name) ?? "?"} was stored`, tone: "quiet" };
    case "fleet.template.removed":
      return { text: `The template ${word(event.data.name) ?? "?"} was removed`, tone: "warn" };
    case "secret.value.set":
      return { text: `The secret ${word(event.data.name) ?? "?"} was set`, tone: "quiet" };
    case "secret.value.removed":
      return { text: `The secret ${word(event.data.name) ?? "?"} was removed`, tone: "warn" };
    case "secret.key.rotated":
      return { text: "All secrets were sealed under another key", tone: "quiet" };
    case "server.process.started":
      return { text: `Warren ${word(event.data.version) ?? ""} started`.replace("  ", " "), tone: "good" };
    case "server.process.stopping":
      return { text: "Warren was asked to stop", tone: "warn" };
    default:
      return { text: kind, tone: "quiet" };
  }
}

function word(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function taskChange(to: string | undefined, reason: string | undefined): Description {
  const tones: Record<string, Tone> = {
    completed: "good",
    failed: "bad",
    rejected: "bad",
    input_required: "warn",
  };
  const words: Record<string, string> = {
    submitted: "has work that waits",
    working: "is at work",
    completed: "did its work",
    failed: "could not do its work",
    rejected: "refused work",
    cancelled: "was told to stop its work",
    input_required: "asks back before it goes on",
    auth_required: "waits to be let in",
  };
  const text = words[to ?? ""] ?? `has work that is ${spaced(to)}`;
  return { text: text + because(reason), tone: tones[to ?? ""] ?? "quiet" };
}

function sessionChange(data: EventData<"agent.session.changed">): Description {
  const tones: Record<string, Tone> = { completed: "good", failed: "bad", suspended: "warn" };
  const phase = word(data.phase);
  const waits = phase === "suspended" ? `, waits for: ${spaced(word(data.suspended_by))}` : "";
  const what = phase === "active" ? "running" : spaced(phase);
  return {
    text: `has its session ${word(data.name) ?? "?"} ${what}${waits}`,
    tone: tones[phase ?? ""] ?? "quiet",
  };
}

function because(reason: string | undefined): string {
  return reason ? `: ${spaced(reason)}` : "";
}

function spaced(word: string | undefined): string {
  return word?.replaceAll("_", " ") ?? "?";
}

function statusChange(to: string | undefined, reason: string | undefined): Description {
  const tones: Record<string, Tone> = { online: "good", failed: "bad", degraded: "warn", offline: "warn" };
  const status = (to ?? "another status").replace("_", " ");
  const what = to === "failed" ? "failed" : `is ${status}`;
  return { text: `${what}${reason ? `: ${reason}` : ""}`, tone: tones[to ?? ""] ?? "quiet" };
}

function fileChange(operation: string | undefined, path = "a file", bytes?: number): Description {
  const verbs: Record<string, string> = {
    write: "wrote",
    create: "created",
    written: "wrote",
    created: "created",
    replaced: "replaced",
    move: "moved",
    moved: "moved",
    delete: "deleted",
    deleted: "deleted",
    create_directory: "made the folder",
    mkdir: "made the folder",
    directory: "made the folder",
  };
  const verb = verbs[operation ?? ""] ?? operation?.replaceAll("_", " ") ?? "changed";
  return { text: `${verb} ${path}${bytes === undefined ? "" : ` (${formatBytes(bytes)})`}`, tone: "quiet" };
}

function commandFinished(data: EventData<"workspace.command.finished">): Description {
  const duration = number(data.duration_ms);
  const took = duration === undefined ? "" : ` in ${formatDuration(duration)}`;
  const program = word(data.program) ?? "a command";
  if (data.abandoned === true) return { text: `ran ${program}: left by its client${took}`, tone: "warn" };
  if (data.timed_out === true) return { text: `ran ${program}: timed out${took}`, tone: "warn" };
  const signal = number(data.signal);
  if (signal !== undefined) return { text: `ran ${program}: ended by signal ${signal}${took}`, tone: "warn" };
  const code = number(data.exit_code);
  return { text: `ran ${program}: exit code ${code ?? "?"}${took}`, tone: code === 0 ? "good" : "warn" };
}

function fieldsOf(fields: unknown): string {
  if (!Array.isArray(fields) || fields.length === 0) return "";
  return `: ${fields.filter((field) => typeof field === "string").join(", ")}`;
}

function times(count: number | undefined): string {
  return count !== undefined && count > 1 ? ` ${count} times` : "";
}
