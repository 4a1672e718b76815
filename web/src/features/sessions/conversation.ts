// The stream and the steps as the server keeps them, put together. The stream tells what happens now; the stored steps
// tell what is settled: which steps a rewind took away, which a branch brought along, and the exact record of each.
import type { Session, SessionCall, SessionStatus, SessionStep } from "../../api/types";
import type { ShownBlock, ShownCall, ShownItem, ShownMessage, ShownStep, Transcript } from "./transcript";

/** What was read of a session at one moment: first the row, then the steps, which are thus at least as new. */
export interface Snapshot {
  session: Session;
  steps: readonly SessionStep[];
}

export function conversationOf(
  { items }: Transcript,
  { session, steps }: Snapshot,
  earlier: ReadonlyMap<string, ShownMessage>,
): ShownItem[] {
  const stored = new Map(steps.map((step) => [step.number, step]));
  const streamed = new Map(
    items.flatMap((item) => (item.kind === "step" ? [[item.number, item.sequence]] : [])),
  );
  const isTakenBack = (number: number) => {
    const last = streamed.get(number);
    return last !== undefined && last <= session.latest_sequence && !stored.has(number);
  };
  const before = steps
    .filter(({ number }) => !streamed.has(number))
    .flatMap((step) => [...step.messages.flatMap((id) => earlier.get(id) ?? []), shownStep(step)]);
  const now = items.flatMap((item): ShownItem[] => {
    if (item.kind === "note") return [item];
    if (item.kind === "message") return isTakenBack(item.step) ? [] : [item];
    if (isTakenBack(item.number)) return [];
    const known = stored.get(item.number);
    return [known?.phase === "closed" ? shownStep(known) : item];
  });
  return [...before, ...now];
}

/** The ids of messages that stand before what the stream tells, with the session that has them. */
export function earlierMessages({ items }: Transcript, { steps }: Snapshot): [session: string, id: string][] {
  const streamed = new Set(items.flatMap((item) => (item.kind === "step" ? [item.number] : [])));
  return steps
    .filter(({ number }) => !streamed.has(number))
    .flatMap((step) => step.messages.map((id): [string, string] => [step.session_id, id]));
}

/** The newer of the two accounts decides. */
export function statusOf({ session }: Snapshot, transcript: Transcript): SessionStatus {
  const isRowNewer = session.latest_sequence >= transcript.sequence;
  return isRowNewer ? session.status : (transcript.status ?? session.status);
}

/** What a session that is suspended waits for, in words. */
export function waitsFor({ session }: Snapshot, transcript: Transcript): string | undefined {
  const isRowNewer = session.latest_sequence >= transcript.sequence;
  return isRowNewer ? session.suspension?.reason : transcript.waitsFor;
}

/** The same row is the same view, so that what did not change is not drawn again. */
const views = new WeakMap<SessionStep, ShownStep>();

export function shownStep(step: SessionStep): ShownStep {
  const known = views.get(step) ?? viewOf(step);
  views.set(step, known);
  return known;
}

function viewOf(step: SessionStep): ShownStep {
  const blocks = step.blocks.map(
    (block): ShownBlock =>
      block.type === "call" ? { kind: "call", id: block.call_id } : { kind: block.type, text: block.text },
  );
  return {
    kind: "step",
    number: step.number,
    attempt: step.attempt,
    model: step.model ?? undefined,
    blocks: new Map(blocks.entries()),
    calls: step.calls.map(shownCall),
    resetBecause: undefined,
    stopReason: step.stop_reason ?? undefined,
    usage: step.usage,
    costMicros: step.cost_micros,
    startedAt: step.started_at,
    answeredAt: step.answered_at ?? undefined,
    endedAt: step.ended_at ?? undefined,
    sequence: 0,
  };
}

function shownCall(call: SessionCall): ShownCall {
  const { outcome, decision } = call;
  return {
    id: call.id,
    tool: call.tool,
    draft: "",
    proposed: call.proposed,
    effective: call.arguments,
    problem: undefined,
    // Why it is asked stands with the question itself.
    question: call.approval_id ? { id: call.approval_id, reason: "", expiresAt: "" } : undefined,
    decision: decision
      ? {
          decision: decision.decision as "allowed" | "approved" | "denied",
          by: decision.by,
          note: decision.note,
        }
      : undefined,
    isOffered: call.waits_for === "client" || call.waits_for === "answer",
    output: "",
    outcome: outcome
      ? { kind: outcome.kind, result: outcome.result, wholeBytes: outcome.whole_bytes ?? undefined }
      : undefined,
    startedAt: call.started_at ?? undefined,
    endedAt: call.ended_at ?? undefined,
  };
}
