import { describe, expect, it } from "vitest";
import type { Session, SessionCall, SessionEntry, SessionStep } from "../src/api/types";
import { conversationOf, earlierMessages, shownStep, statusOf } from "../src/features/sessions/conversation";
import {
  blocksInOrder,
  emptyTranscript,
  isAsking,
  type ShownStep,
  type Transcript,
  withEntries,
  withEntry,
} from "../src/features/sessions/transcript";

type Told = { type: string } & Record<string, unknown>;

/** Entries in order, numbered from 1. */
function numbered(told: readonly Told[]): SessionEntry[] {
  return told.map((entry, index) => ({ at: "2026-01-01T00:00:00Z", ...entry, sequence: index + 1 }));
}

const usage = {
  input_tokens: 10,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 5,
  reasoning_tokens: 0,
};

/** A run as a server tells it: a message, two steps, a call that asks, and the end. */
const RUN: Told[] = [
  { type: "run_started", run: 1 },
  { type: "message_delivered", message_id: "m1", step: 1, parts: [{ text: "Go" }], client_id: null },
  { type: "step_started", step: 1, attempt: 1, model: "scripted/tour" },
  { type: "reasoning_delta", step: 1, block: 0, text: "Let me " },
  { type: "reasoning_delta", step: 1, block: 0, text: "think." },
  { type: "text_delta", step: 1, block: 1, text: "I " },
  { type: "text_delta", step: 1, block: 1, text: "remove it." },
  { type: "call_delta", step: 1, block: 2, call_id: "c1", tool: "workspace_rm", arguments: '{"path"' },
  { type: "call_delta", step: 1, block: 2, call_id: "c1", tool: "workspace_rm", arguments: ':"a"}' },
  { type: "step_answered", step: 1, stop_reason: "tool_use", usage, cost_micros: 7 },
  {
    type: "call_proposed",
    step: 1,
    call_id: "c1",
    tool: "workspace_rm",
    arguments: { path: "a" },
    problem: null,
  },
  {
    type: "approval_requested",
    step: 1,
    call_id: "c1",
    approval_id: "a1",
    tool: "workspace_rm",
    arguments: { path: "a" },
    reason: "it deletes",
    expires_at: "2026-01-02T00:00:00Z",
  },
  { type: "suspended", by: "approval", reason: "a person has to decide" },
  {
    type: "call_decided",
    step: 1,
    call_id: "c1",
    decision: { decision: "approved", by: "user:x", arguments: { path: "b" } },
  },
  { type: "resumed" },
  { type: "call_started", step: 1, call_id: "c1" },
  { type: "call_output", step: 1, call_id: "c1", text: "half" },
  { type: "call_ended", step: 1, call_id: "c1", outcome: "done", result: { path: "/b" } },
  { type: "step_ended", step: 1 },
  { type: "step_started", step: 2, attempt: 1, model: "scripted/tour" },
  { type: "text_delta", step: 2, block: 0, text: "Done." },
  { type: "step_answered", step: 2, stop_reason: "end_turn", usage, cost_micros: 0 },
  { type: "step_ended", step: 2 },
  { type: "run_ended", run: 1, status: "completed", finish: "end_turn", message: null },
];

const steps = ({ items }: Transcript) => items.filter((item): item is ShownStep => item.kind === "step");
const told = (entries: readonly Told[]) => withEntries(emptyTranscript, numbered(entries));

/** A small generator with a seed, so that a failure can be run again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

// A60, S41
describe("what a stream tells", () => {
  it("is a message, the steps with their text and calls, and how it ended", () => {
    const transcript = told(RUN);
    expect(transcript.items.map(({ kind }) => kind)).toEqual(["message", "step", "step"]);
    expect([transcript.status, transcript.run, transcript.sequence]).toEqual(["completed", 1, RUN.length]);
    const [first, second] = steps(transcript) as [ShownStep, ShownStep];
    expect(blocksInOrder(first)).toEqual([
      { kind: "reasoning", text: "Let me think." },
      { kind: "text", text: "I remove it." },
      { kind: "call", id: "c1" },
    ]);
    expect(first.calls[0]).toMatchObject({
      tool: "workspace_rm",
      proposed: { path: "a" },
      effective: { path: "b" },
      output: "half",
      outcome: { kind: "done", result: { path: "/b" } },
    });
    expect(blocksInOrder(second)).toEqual([{ kind: "text", text: "Done." }]);
  });

  it("waits for a person from the question to the decision", () => {
    const at = (count: number) => told(RUN.slice(0, count));
    const asking = (count: number) => steps(at(count))[0]?.calls.map(isAsking);
    expect([asking(11), asking(12), asking(13), asking(14)]).toEqual([[false], [true], [true], [false]]);
    expect([at(13).status, at(13).waitsFor]).toEqual(["suspended", "a person has to decide"]);
    expect([at(15).status, at(15).waitsFor]).toEqual(["running", undefined]);
  });

  it("is the same however it is cut, resumed and repeated", () => {
    const entries = numbered(RUN);
    const whole = withEntries(emptyTranscript, entries);
    for (let seed = 1; seed <= 500; seed += 1) {
      const next = random(seed);
      let transcript = emptyTranscript;
      while (transcript.sequence < entries.length) {
        // A connection that begins somewhere at or before what is known, and breaks anywhere.
        const from = Math.floor(next() * (transcript.sequence + 1));
        const to = from + Math.ceil(next() * (entries.length - from));
        const before = transcript.sequence;
        transcript = withEntries(transcript, entries.slice(from, to));
        expect(transcript.sequence).toBeGreaterThanOrEqual(before);
      }
      expect(transcript, `seed ${seed}`).toEqual(whole);
    }
  });

  it("changes nothing for an entry that was seen, and shares what did not change", () => {
    const entries = numbered(RUN);
    const transcript = withEntries(emptyTranscript, entries);
    for (const entry of entries) expect(withEntry(transcript, entry)).toBe(transcript);
    const more = withEntry(transcript, { sequence: 99, at: "", type: "run_started", run: 2 });
    expect(more.items).toBe(transcript.items);
  });

  it("takes back what was said of a step that is asked again", () => {
    const transcript = told([
      ...RUN.slice(0, 9),
      { type: "step_reset", step: 1, reason: "the connection broke" },
      { type: "step_started", step: 1, attempt: 2, model: "scripted/tour" },
      { type: "text_delta", step: 1, block: 0, text: "Another answer." },
    ]);
    const [step] = steps(transcript) as [ShownStep];
    expect(steps(transcript)).toHaveLength(1);
    expect(blocksInOrder(step)).toEqual([{ kind: "text", text: "Another answer." }]);
    expect([step.attempt, step.calls, step.resetBecause]).toEqual([2, [], "the connection broke"]);
  });

  it("shows calls to those who come later, when the pieces are gone", () => {
    const late = numbered(RUN).filter(({ type }) => type !== "call_delta" && type !== "call_output");
    const [first] = steps(withEntries(emptyTranscript, late)) as [ShownStep];
    expect(blocksInOrder(first).at(-1)).toEqual({ kind: "call", id: "c1" });
    expect(first.calls[0]?.proposed).toEqual({ path: "a" });
  });

  it("passes over what it does not know, and goes on behind it", () => {
    const transcript = told([{ type: "from_the_future", step: 9 }, ...RUN]);
    expect(transcript.items).toHaveLength(3);
    expect(transcript.sequence).toBe(RUN.length + 1);
  });

  it("says that a run failed, and why", () => {
    const transcript = told([
      ...RUN.slice(0, 4),
      { type: "run_ended", run: 1, status: "failed", finish: null, message: "the model said no" },
    ]);
    expect(transcript.status).toBe("failed");
    expect(transcript.items.at(-1)).toMatchObject({ kind: "note", tone: "bad", text: "the model said no" });
  });
});

function stored(number: number, fields: Partial<SessionStep> = {}): SessionStep {
  return {
    number,
    session_id: "s",
    run: 1,
    phase: "closed",
    attempt: 1,
    model: "scripted/tour",
    messages: [],
    blocks: [{ type: "text", text: `stored ${number}` }],
    calls: [],
    stop_reason: "end_turn",
    usage,
    cost_micros: 0,
    started_at: "2026-01-01T00:00:00Z",
    answered_at: null,
    ended_at: null,
    ...fields,
  };
}

const row = (fields: Partial<Session>) => ({ id: "s", latest_sequence: RUN.length, ...fields }) as Session;

// A70, A73
describe("a conversation", () => {
  const transcript = told(RUN);
  const shown = (snapshot: { session: Session; steps: SessionStep[] }) =>
    conversationOf(transcript, snapshot, new Map()).map((item) =>
      item.kind === "step" ? item.number : item.kind,
    );

  it("has the stored record of a step that is closed, and the stream's of one that is not", () => {
    const snapshot = { session: row({}), steps: [stored(1), stored(2, { phase: "asking" })] };
    const items = conversationOf(transcript, snapshot, new Map());
    const texts = items.flatMap((item) =>
      item.kind === "step" ? blocksInOrder(item).map((block) => block.kind === "text" && block.text) : [],
    );
    expect(texts).toEqual(["stored 1", "Done."]);
  });

  it("leaves out what a rewind took away, and the messages that went with it", () => {
    expect(shown({ session: row({}), steps: [stored(1)] })).toEqual(["message", 1]);
    expect(shown({ session: row({}), steps: [] })).toEqual([]);
  });

  it("keeps what is newer than what was read of the steps", () => {
    expect(shown({ session: row({ latest_sequence: 19 }), steps: [stored(1)] })).toEqual(["message", 1, 2]);
  });

  it("begins with the steps and messages of the session that it was branched from", () => {
    const old = stored(1, { session_id: "other", messages: ["m0"] });
    const snapshot = { session: row({ latest_sequence: 0 }), steps: [old] };
    expect(earlierMessages(emptyTranscript, snapshot)).toEqual([["other", "m0"]]);
    const message = { kind: "message" as const, id: "m0", step: 1, parts: [{ text: "Go" }], at: "" };
    const items = conversationOf(emptyTranscript, snapshot, new Map([["m0", message]]));
    expect(items.map(({ kind }) => kind)).toEqual(["message", "step"]);
  });

  it("tells of a stored call that waits what it waits for", () => {
    const call = { id: "c", tool: "t", proposed: {}, arguments: {}, state: "waiting" };
    const waits = (fields: Partial<SessionCall>) => {
      const [shownCall] = shownStep(stored(1, { calls: [{ ...call, ...fields } as SessionCall] })).calls;
      return [shownCall && isAsking(shownCall), shownCall?.isOffered];
    };
    expect(waits({ waits_for: "approval", approval_id: "a" })).toEqual([true, false]);
    expect(waits({ waits_for: "answer" })).toEqual([false, true]);
    expect(waits({ waits_for: "turn" })).toEqual([false, false]);
  });

  it("has the status of whichever account is newer", () => {
    const newer = { session: row({ status: "idle" }), steps: [] };
    const older = { session: row({ status: "running", latest_sequence: 3 }), steps: [] };
    expect([statusOf(newer, transcript), statusOf(older, transcript)]).toEqual(["idle", "completed"]);
  });
});
