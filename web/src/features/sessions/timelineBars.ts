// Where each step lies on the line from the session's first to its last moment, as data. Time in which nothing was done,
// such as a night before an approval, is cut to a short gap: otherwise it would be all that one sees.
import type { SessionStep } from "../../api/types";

export interface BarPart {
  key: string;
  kind: "model" | "tool" | "wait";
  /** Of 1000. */
  from: number;
  width: number;
}

export interface Bar {
  parts: BarPart[];
}

interface Span {
  key: string;
  kind: BarPart["kind"];
  from: number;
  to: number;
}

const WIDTH = 1_000;
const LEAST = 4;
/** A wait takes at most this part of what was worked. */
const LONGEST_WAIT = 0.15;

export function barsOf(steps: readonly SessionStep[]): Bar[] {
  const spans = steps.map(spansOf);
  const place = squeezed(spans.flat());
  return spans.map((own) => ({
    parts: own.map(({ key, kind, from, to }) => {
      const start = Math.min(place(from), WIDTH - LEAST);
      return { key, kind, from: start, width: Math.max(LEAST, Math.min(place(to), WIDTH) - start) };
    }),
  }));
}

function spansOf(step: SessionStep): Span[] {
  const started = Date.parse(step.started_at);
  const answered = step.answered_at ? Date.parse(step.answered_at) : started;
  const spans: Span[] = [{ key: "model", kind: "model", from: started, to: answered }];
  let last = answered;
  for (const call of [...step.calls].sort((a, b) =>
    (a.started_at ?? "~").localeCompare(b.started_at ?? "~"),
  )) {
    if (!call.started_at) continue;
    const from = Date.parse(call.started_at);
    const to = call.ended_at ? Date.parse(call.ended_at) : from;
    if (from > last) spans.push({ key: `wait-${call.id}`, kind: "wait", from: last, to: from });
    spans.push({ key: call.id, kind: "tool", from, to });
    last = Math.max(last, to);
  }
  return spans;
}

/** From moments to places: work keeps its proportions, and gaps are cut. */
function squeezed(spans: readonly Span[]): (at: number) => number {
  const work = spans.filter(({ kind }) => kind !== "wait").sort((a, b) => a.from - b.from);
  const total = Math.max(
    1,
    work.reduce((sum, { from, to }) => sum + (to - from), 0),
  );
  const knots: [at: number, place: number][] = [];
  let place = 0;
  let last: number | undefined;
  for (const { from, to } of work) {
    if (last === undefined) knots.push([from, 0]);
    else if (from > last) {
      place += Math.min(from - last, total * LONGEST_WAIT);
      knots.push([from, place]);
    }
    const end = Math.max(to, last ?? to);
    if (last === undefined || to > last) {
      place += to - Math.max(from, last ?? from);
      knots.push([end, place]);
    }
    last = end;
  }
  const whole = Math.max(1, place);
  return (at) => {
    let before: [number, number] | undefined;
    for (const knot of knots) {
      if (knot[0] >= at) {
        if (!before || knot[0] === before[0]) return (knot[1] / whole) * WIDTH;
        const part = (at - before[0]) / (knot[0] - before[0]);
        return ((before[1] + part * (knot[1] - before[1])) / whole) * WIDTH;
      }
      before = knot;
    }
    return WIDTH;
  };
}
