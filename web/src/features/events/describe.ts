// Events as sentences for people. Unknown kinds are shown by their name: a newer server may have more of them.
import type { WarrenEvent } from "../../api/types";
import { formatBytes, formatDuration } from "../../components/format";

export type Tone = "good" | "bad" | "warn" | "quiet";

export interface Description {
  text: string;
  tone: Tone;
}

export function describe(event: WarrenEvent): Description {
  const data = event.data as Record<string, unknown>;
  const word = (name: string) => (typeof data[name] === "string" ? (data[name] as string) : undefined);
  const number = (name: string) => (typeof data[name] === "number" ? (data[name] as number) : undefined);
  switch (event.kind) {
    case "workspace.lifecycle.created":
      return { text: `was created on ${word("provider") ?? "its provider"}`, tone: "quiet" };
    case "workspace.spec.changed":
      return { text: `was changed${fieldsOf(data.fields)}`, tone: "quiet" };
    case "workspace.status.changed":
      return statusChange(word("to"), word("reason"));
    case "workspace.lifecycle.removed":
      return { text: "was removed", tone: "warn" };
    case "workspace.removal.failed":
      return { text: "could not be stopped yet; it is tried again", tone: "bad" };
    case "workspace.runtime.registered":
      return { text: `registered its runtime (boot ${number("boots") ?? "?"})`, tone: "good" };
    case "workspace.budget.exhausted":
      return { text: `spent its budget for ${word("month") ?? "the month"}`, tone: "bad" };
    case "workspace.file.changed":
      return fileChange(word("operation"), word("path"), number("bytes"));
    case "workspace.process.started":
      return {
        text: `started ${word("program") ?? "a program"} as process ${number("process") ?? "?"}`,
        tone: "quiet",
      };
    case "workspace.command.finished":
      return commandFinished(data, word, number);
    case "workspace.tool.refused":
      return { text: `refused the tool ${word("tool") ?? "?"}${times(number("count"))}`, tone: "warn" };
    case "chat.conversation.created":
      return { text: "began a conversation", tone: "quiet" };
    case "chat.conversation.changed":
      return { text: "has a conversation with another title", tone: "quiet" };
    case "chat.conversation.removed":
      return { text: `lost a conversation with ${number("messages") ?? "?"} messages`, tone: "warn" };
    case "chat.message.posted":
      return { text: "has a new message", tone: "quiet" };
    case "exchange.task.submitted":
      return { text: "was asked for work", tone: "quiet" };
    case "exchange.task.changed":
      return taskChange(word("to"), word("reason"));
    case "exchange.task.progressed":
      return { text: `says: ${word("line") ?? "?"}`, tone: "quiet" };
    case "exchange.delivery.requeued":
      return { text: `keeps a message for later${because(word("reason"))}`, tone: "warn" };
    case "exchange.message.refused":
      return { text: `refused a message${because(word("reason"))}`, tone: "warn" };
    case "exchange.delegation.changed":
    case "exchange.delegation.completed":
      return { text: `handed on work: ${spaced(word("state"))}`, tone: "quiet" };
    case "exchange.schedule.changed":
      return {
        text: `has its schedule ${word("name") ?? "?"} ${word("change") ?? "changed"}`,
        tone: "quiet",
      };
    case "exchange.schedule.fired":
      return { text: `was told by its schedule ${word("name") ?? "?"}`, tone: "quiet" };
    case "exchange.schedule.skipped":
      return {
        text: `was not told by its schedule ${word("name") ?? "?"}${because(word("reason"))}`,
        tone: "warn",
      };
    case "exchange.schedule.failed":
      return {
        text: `could not be told by its schedule ${word("name") ?? "?"}${because(word("reason"))}`,
        tone: "bad",
      };
    case "exchange.approval.requested":
      return { text: `asks for a decision: ${word("action") ?? "?"}`, tone: "warn" };
    case "exchange.approval.decided":
      return { text: `has its answer: ${word("action") ?? "?"} is ${spaced(word("state"))}`, tone: "quiet" };
    case "identity.token.created":
      return { text: `Token “${word("name") ?? "?"}” (${word("kind") ?? "?"}) was made`, tone: "quiet" };
    case "identity.token.revoked":
      return { text: "A token was revoked", tone: "warn" };
    case "identity.session.started":
      return { text: "Somebody signed in by link", tone: "quiet" };
    case "secret.value.set":
      return { text: `The secret ${word("name") ?? "?"} was set`, tone: "quiet" };
    case "secret.value.removed":
      return { text: `The secret ${word("name") ?? "?"} was removed`, tone: "warn" };
    case "secret.key.rotated":
      return { text: "All secrets were sealed under another key", tone: "quiet" };
    case "server.process.started":
      return { text: `Warren ${word("version") ?? ""} started`.replace("  ", " "), tone: "good" };
    case "server.process.stopping":
      return { text: "Warren was asked to stop", tone: "warn" };
    default:
      return { text: event.kind, tone: "quiet" };
  }
}

function taskChange(to: string | undefined, reason: string | undefined): Description {
  const tones: Record<string, Tone> = {
    completed: "good",
    failed: "bad",
    rejected: "bad",
    input_required: "warn",
  };
  return { text: `has work that is ${spaced(to)}${because(reason)}`, tone: tones[to ?? ""] ?? "quiet" };
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

function commandFinished(
  data: Record<string, unknown>,
  word: (name: string) => string | undefined,
  number: (name: string) => number | undefined,
): Description {
  const duration = number("duration_ms");
  const took = duration === undefined ? "" : ` in ${formatDuration(duration)}`;
  const program = word("program") ?? "a command";
  if (data.abandoned === true) return { text: `ran ${program}: left by its client${took}`, tone: "warn" };
  if (data.timed_out === true) return { text: `ran ${program}: timed out${took}`, tone: "warn" };
  const signal = number("signal");
  if (signal !== undefined) return { text: `ran ${program}: ended by signal ${signal}${took}`, tone: "warn" };
  const code = number("exit_code");
  return { text: `ran ${program}: exit code ${code ?? "?"}${took}`, tone: code === 0 ? "good" : "warn" };
}

function fieldsOf(fields: unknown): string {
  if (!Array.isArray(fields) || fields.length === 0) return "";
  return `: ${fields.filter((field) => typeof field === "string").join(", ")}`;
}

function times(count: number | undefined): string {
  return count !== undefined && count > 1 ? ` ${count} times` : "";
}
