// Sessions in words.
import type { RunLimits, Session, SessionStatus } from "../../api/types";
import { visibleText } from "../../components/visibleText";

export const SESSION_STATUSES: readonly SessionStatus[] = [
  "running",
  "suspended",
  "completed",
  "failed",
  "interrupted",
  "idle",
];

export const STATUS_WORD: Record<SessionStatus, string> = {
  idle: "Idle",
  running: "Running",
  suspended: "Waiting",
  completed: "Completed",
  failed: "Failed",
  interrupted: "Stopped",
};

const WAITS: Record<string, string> = {
  approval: "for an approval",
  client_tool: "for a tool of the caller",
  input: "for your answer",
  timer: "for a time",
  workspace: "for its workspace",
  budget: "its budget is used up",
  stuck: "it goes in circles",
};

/** Why a session is in its status, in a few words. */
export function whyOf(
  session: Pick<Session, "status" | "suspension" | "failure" | "finish">,
): string | undefined {
  switch (session.status) {
    case "suspended":
      return session.suspension ? (WAITS[session.suspension.by] ?? session.suspension.reason) : undefined;
    case "failed":
      return session.failure ? forPeople(session.failure.message) : undefined;
    case "completed":
      return session.finish && session.finish !== "end_turn" ? finishWord(session.finish) : undefined;
    default:
      return undefined;
  }
}

export function finishWord(reason: string): string {
  const words: Record<string, string> = {
    end_turn: "the model had said everything",
    tool_use: "the model asked for tools",
    max_tokens: "the answer reached its length limit",
    refusal: "the model refused",
  };
  return words[reason] ?? reason.replaceAll("_", " ");
}

export function titleOf(session: Pick<Session, "title" | "name">): string {
  return session.title || session.name;
}

/** Whether a run is under way, so that a message has to wait, steer or interrupt. */
export function isBusy(status: SessionStatus): boolean {
  return status === "running" || status === "suspended";
}

/** The server names people by their id, which says nothing to people. */
export function forPeople(sentence: string): string {
  return sentence.replace(/\buser:[0-9a-f-]{36}\b/g, "a person");
}

export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** Millionths of the currency's unit; prices are in dollars. */
export function formatCost(micros: number): string {
  if (micros === 0) return "$0";
  const dollars = micros / 1_000_000;
  return `$${dollars < 0.01 ? dollars.toPrecision(2) : dollars.toFixed(dollars < 1 ? 3 : 2)}`;
}

export function formatTokens(tokens: number): string {
  if (tokens < 10_000) return String(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1_000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(2)}M`;
}

/** How long from one moment to another; undefined where one of them is missing. */
export function between(from: string | undefined | null, to: string | undefined | null): number | undefined {
  if (!from || !to) return undefined;
  const ms = Date.parse(to) - Date.parse(from);
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

export const LIMITS: { name: keyof RunLimits; word: string }[] = [
  { name: "steps", word: "Steps" },
  { name: "tool_calls", word: "Tool calls" },
  { name: "tokens", word: "Tokens" },
  { name: "cost_micros", word: "Cost (dollars)" },
  { name: "seconds", word: "Seconds of work" },
];

/** Limits for going on: what is used up is doubled, and stays at least a little above what was used. */
export function raisedLimits({ limits, usage }: Pick<Session, "limits" | "usage">): RunLimits {
  const raise = (limit: number | null | undefined, used: number) =>
    limit == null ? null : used >= limit * 0.9 ? Math.max(limit * 2, Math.ceil(used * 1.5)) : limit;
  return {
    steps: raise(limits.steps, usage.steps),
    tool_calls: raise(limits.tool_calls, usage.tool_calls),
    tokens: raise(limits.tokens, usage.tokens),
    cost_micros: raise(limits.cost_micros, usage.cost_micros),
    seconds: raise(limits.seconds, usage.active_ms / 1_000),
  };
}

/** A value as text: strings as they are, the rest as JSON. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** The arguments of a call in one line. */
export function gistOf(value: unknown, maxChars = 120): string {
  const text = typeof value === "object" && value !== null ? fieldsGist(value) : asText(value);
  const line = visibleText(text.replace(/\s+/g, " ").trim());
  const chars = Array.from(line);
  return chars.length <= maxChars ? line : `${chars.slice(0, maxChars - 1).join("")}…`;
}

function fieldsGist(value: object): string {
  if (Array.isArray(value)) return JSON.stringify(value);
  const { argv, path } = value as { argv?: unknown; path?: unknown };
  if (Array.isArray(argv)) return argv.join(" ");
  const entries = Object.entries(value).filter(([name]) => name !== "path");
  const first = typeof path === "string" ? [path] : [];
  const fields = entries.map(
    ([name, field]) => `${name}: ${typeof field === "string" ? field : JSON.stringify(field)}`,
  );
  return [...first, ...fields].join(", ");
}

/** A result in one line: what a command printed, or the value. */
export function resultGist(result: unknown, maxChars = 160): string {
  if (typeof result === "object" && result !== null && "exit_code" in result) {
    const { exit_code, stdout, stderr } = result as {
      exit_code: unknown;
      stdout?: unknown;
      stderr?: unknown;
    };
    const printed = [stdout, stderr].filter((one) => typeof one === "string" && one.trim()).join(" ");
    return gistOf(`exit code ${exit_code}${printed ? `: ${printed}` : ""}`, maxChars);
  }
  return gistOf(result, maxChars);
}
