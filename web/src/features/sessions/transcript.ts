// What a session's stream tells, as something to look at: a pure function from entries to a view. The same entry twice
// changes nothing, so that a stream that is resumed anywhere shows no gap and no repeat (A60, A63).
import type { MessagePart, SessionEntry, SessionStatus, TokenUsage } from "../../api/types";
import type { CallDecision, KnownEntry } from "./entries";

export interface Question {
  id: string;
  reason: string;
  expiresAt: string;
}

export interface ShownCall {
  id: string;
  tool: string;
  /** As the model writes them, piece by piece; what was proposed takes their place. */
  draft: string;
  proposed: unknown;
  /** What it is carried out with. */
  effective: unknown;
  /** Why it cannot be carried out as it was written. */
  problem: string | undefined;
  question: Question | undefined;
  decision: CallDecision | undefined;
  /** The caller, or the user, gives it its result. */
  isOffered: boolean;
  /** What it has printed so far. */
  output: string;
  outcome: { kind: string; result: unknown; wholeBytes?: number } | undefined;
  startedAt: string | undefined;
  endedAt: string | undefined;
}

export type ShownBlock =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "call"; id: string };

export interface ShownStep {
  kind: "step";
  number: number;
  attempt: number;
  model: string | undefined;
  /** By their place in the answer; places may be missing. */
  blocks: ReadonlyMap<number, ShownBlock>;
  calls: readonly ShownCall[];
  /** Why what was said before does not count. */
  resetBecause: string | undefined;
  stopReason: string | undefined;
  usage: TokenUsage | undefined;
  costMicros: number;
  startedAt: string;
  answeredAt: string | undefined;
  endedAt: string | undefined;
  /** The sequence of the latest entry about it. */
  sequence: number;
}

export interface ShownMessage {
  kind: "message";
  id: string;
  step: number;
  parts: readonly MessagePart[];
  at: string;
}

export interface ShownNote {
  kind: "note";
  sequence: number;
  at: string;
  tone: "warn" | "bad" | "quiet";
  text: string;
}

export type ShownItem = ShownMessage | ShownStep | ShownNote;

export interface Transcript {
  /** Resume behind it. */
  sequence: number;
  run: number;
  status: SessionStatus | undefined;
  /** What it waits for, in words. */
  waitsFor: string | undefined;
  items: readonly ShownItem[];
}

export const emptyTranscript: Transcript = {
  sequence: 0,
  run: 0,
  status: undefined,
  waitsFor: undefined,
  items: [],
};

export function withEntry(before: Transcript, entry: SessionEntry): Transcript {
  if (entry.sequence <= before.sequence) return before;
  return { ...told(before, entry as unknown as KnownEntry), sequence: entry.sequence };
}

export function withEntries(before: Transcript, entries: readonly SessionEntry[]): Transcript {
  return entries.reduce(withEntry, before);
}

function told(before: Transcript, entry: KnownEntry): Transcript {
  switch (entry.type) {
    case "run_started":
      return { ...before, run: entry.run, status: "running", waitsFor: undefined };
    case "message_delivered": {
      const { message_id: id, step, parts, at } = entry;
      return { ...before, items: [...before.items, { kind: "message", id, step, parts, at }] };
    }
    case "suspended":
      return { ...before, status: "suspended", waitsFor: entry.reason };
    case "resumed":
      return { ...before, status: "running", waitsFor: undefined };
    case "interrupted":
      return noted({ ...before, status: "interrupted", waitsFor: undefined }, entry, "warn", "Stopped.");
    case "run_ended":
      return runEnded(before, entry);
    case "step_started":
      return changeStep(before, entry.step, entry, (step) => ({
        ...step,
        attempt: entry.attempt,
        model: entry.model,
        startedAt: step.attempt === 0 ? entry.at : step.startedAt,
      }));
    case "step_reset":
      return changeStep(before, entry.step, entry, (step) => ({
        ...step,
        blocks: new Map(),
        calls: [],
        resetBecause: entry.reason,
      }));
    case "text_delta":
    case "reasoning_delta":
      return changeStep(before, entry.step, entry, (step) => withText(step, entry));
    case "step_answered":
      return changeStep(before, entry.step, entry, (step) => ({
        ...step,
        stopReason: entry.stop_reason,
        usage: entry.usage,
        costMicros: entry.cost_micros,
        answeredAt: entry.at,
      }));
    case "step_ended":
      return changeStep(before, entry.step, entry, (step) => ({ ...step, endedAt: entry.at }));
    case "call_delta":
    case "call_proposed":
    case "approval_requested":
    case "call_decided":
    case "call_offered":
    case "call_started":
    case "call_output":
    case "call_ended":
      return changeStep(before, entry.step, entry, (step) => withCall(step, entry));
    default:
      return before;
  }
}

type EntryOf<K extends KnownEntry["type"]> = Extract<KnownEntry, { type: K }>;

function runEnded(before: Transcript, entry: EntryOf<"run_ended">): Transcript {
  const after = { ...before, waitsFor: undefined };
  if (entry.status === "failed") {
    return noted({ ...after, status: "failed" }, entry, "bad", entry.message ?? "The run failed.");
  }
  return { ...after, status: entry.status === "completed" ? "completed" : before.status };
}

function noted(before: Transcript, entry: KnownEntry, tone: ShownNote["tone"], text: string): Transcript {
  const note: ShownNote = { kind: "note", sequence: entry.sequence, at: entry.at, tone, text };
  return { ...before, items: [...before.items, note] };
}

/** Changes a step where it stands; one that was not heard of yet is begun at the end. */
function changeStep(
  before: Transcript,
  number: number,
  { at, sequence }: { at: string; sequence: number },
  change: (step: ShownStep) => ShownStep,
): Transcript {
  const index = before.items.findLastIndex((item) => item.kind === "step" && item.number === number);
  const known = before.items[index];
  const step = known?.kind === "step" ? known : newStep(number, at);
  const changed = { ...change(step), sequence };
  if (index < 0) return { ...before, items: [...before.items, changed] };
  return { ...before, items: before.items.with(index, changed) };
}

function newStep(number: number, at: string): ShownStep {
  return {
    kind: "step",
    number,
    attempt: 0,
    model: undefined,
    blocks: new Map(),
    calls: [],
    resetBecause: undefined,
    stopReason: undefined,
    usage: undefined,
    costMicros: 0,
    startedAt: at,
    answeredAt: undefined,
    endedAt: undefined,
    sequence: 0,
  };
}

function withText(step: ShownStep, entry: EntryOf<"text_delta" | "reasoning_delta">): ShownStep {
  const kind = entry.type === "text_delta" ? "text" : "reasoning";
  const known = step.blocks.get(entry.block);
  const text = (known?.kind === kind ? known.text : "") + entry.text;
  return { ...step, blocks: new Map(step.blocks).set(entry.block, { kind, text }) };
}

type CallEntry = EntryOf<
  | "call_delta"
  | "call_proposed"
  | "approval_requested"
  | "call_decided"
  | "call_offered"
  | "call_started"
  | "call_output"
  | "call_ended"
>;

function withCall(step: ShownStep, entry: CallEntry): ShownStep {
  const known = step.calls.find(({ id }) => id === entry.call_id);
  const call = changedCall(known ?? newCall(entry), entry);
  const calls = known ? step.calls.map((one) => (one === known ? call : one)) : [...step.calls, call];
  if (entry.type !== "call_delta" || step.blocks.has(entry.block)) return { ...step, calls };
  return { ...step, calls, blocks: new Map(step.blocks).set(entry.block, { kind: "call", id: call.id }) };
}

function changedCall(call: ShownCall, entry: CallEntry): ShownCall {
  switch (entry.type) {
    case "call_delta":
      return { ...call, tool: entry.tool, draft: call.draft + entry.arguments };
    case "call_proposed": {
      const { tool, arguments: proposed, problem } = entry;
      return { ...call, tool, draft: "", proposed, effective: proposed, problem: problem ?? undefined };
    }
    case "approval_requested": {
      const question = { id: entry.approval_id, reason: entry.reason, expiresAt: entry.expires_at };
      return { ...call, tool: entry.tool, question };
    }
    case "call_decided": {
      const edited = entry.decision.arguments;
      return { ...call, decision: entry.decision, effective: edited ?? call.effective };
    }
    case "call_offered":
      return { ...call, tool: entry.tool, isOffered: true };
    case "call_started":
      return { ...call, startedAt: entry.at };
    case "call_output":
      return { ...call, output: call.output + entry.text };
    case "call_ended":
      return { ...call, outcome: { kind: entry.outcome, result: entry.result }, endedAt: entry.at };
  }
}

function newCall(entry: CallEntry): ShownCall {
  return {
    id: entry.call_id,
    tool: "tool" in entry ? entry.tool : "",
    draft: "",
    proposed: undefined,
    effective: undefined,
    problem: undefined,
    question: undefined,
    decision: undefined,
    isOffered: false,
    output: "",
    outcome: undefined,
    startedAt: undefined,
    endedAt: undefined,
  };
}

/** The blocks of an answer in their order, and after them the calls that stand in none. */
export function blocksInOrder(step: ShownStep): ShownBlock[] {
  const places = [...step.blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
  const placed = new Set(places.flatMap((block) => (block.kind === "call" ? [block.id] : [])));
  const others = step.calls.filter(({ id }) => !placed.has(id));
  return [...places, ...others.map(({ id }) => ({ kind: "call" as const, id }))];
}

/** Whether a call waits for a person's decision. */
export function isAsking(call: ShownCall): boolean {
  return call.question !== undefined && !call.decision && !call.outcome;
}
