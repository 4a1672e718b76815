// The state of the live feed as data: what the page knows of the event log, and whether what it shows is fresh.
//
//   connecting ──opened──▶ catching_up ──fresh──▶ live
//        ▲                      │                  │
//        │                      └──────broke───────┤
//        └──────retry────── waiting ◀────broke─────┘        asleep: hidden for long, closed on purpose
//
// Only `live` may be shown as fresh. Before the first `live` there is nothing to be stale, so nothing is said.
import type { Problem } from "../../api/problem";
import type { EventFrame, WarrenEvent } from "../../api/types";

export type Phase = "connecting" | "catching_up" | "live" | "waiting" | "asleep";

export interface FeedState {
  phase: Phase;
  /** Whether the page was live before, so that what it shows may be out of date. */
  wasLive: boolean;
  /** The last sequence number seen; the next connection goes on from here. */
  lastSeq: number | undefined;
  /** Newest last, each once. */
  events: readonly WarrenEvent[];
  /** Since when what is shown may be out of date (epoch milliseconds). */
  staleSince: number | undefined;
  problem: Problem | undefined;
}

/** Kept for the feed page; older ones are read from the server when asked for. */
export const KEPT_EVENTS = 1_000;

export const initialFeed: FeedState = {
  phase: "connecting",
  wasLive: false,
  lastSeq: undefined,
  events: [],
  staleSince: undefined,
  problem: undefined,
};

export function isStale(state: FeedState): boolean {
  return state.wasLive && state.phase !== "live" && state.phase !== "asleep";
}

export function opened(state: FeedState): FeedState {
  return { ...state, phase: "catching_up", problem: undefined };
}

/** All queries were asked again after the feed caught up. */
export function fresh(state: FeedState): FeedState {
  if (state.phase !== "catching_up") return state;
  return { ...state, phase: "live", wasLive: true, staleSince: undefined };
}

export function broke(state: FeedState, problem: Problem | undefined, now: number): FeedState {
  return {
    ...state,
    phase: "waiting",
    staleSince: state.staleSince ?? now,
    problem,
  };
}

export function retrying(state: FeedState): FeedState {
  return { ...state, phase: "connecting" };
}

export function asleep(state: FeedState): FeedState {
  return { ...state, phase: "asleep" };
}

/** Takes one frame in. An event that was seen before changes nothing. */
export function received(state: FeedState, frame: EventFrame): FeedState {
  switch (frame.type) {
    case "event": {
      const { event } = frame;
      if (state.lastSeq !== undefined && event.seq <= state.lastSeq) return state;
      const events = [...state.events, event].slice(-KEPT_EVENTS);
      return { ...state, lastSeq: event.seq, events };
    }
    case "caught_up": {
      // A log that ends before what we saw is another log (the data folder was replaced): begin anew.
      if (state.lastSeq !== undefined && frame.seq < state.lastSeq) {
        return { ...state, lastSeq: frame.seq, events: [] };
      }
      return { ...state, lastSeq: frame.seq };
    }
    case "truncated":
      // What was kept before is not joined to what follows: there is a gap between them.
      return { ...state, lastSeq: frame.oldest - 1, events: [] };
    case "live":
    case "lagged":
    case "closing":
      // Nothing was left out; the next connection goes on from the last sequence seen.
      return state;
  }
}

/** Events of the feed and of pages read from the server as one list: newest first, each once. */
export function mergeNewestFirst(...lists: readonly (readonly WarrenEvent[])[]): WarrenEvent[] {
  const bySeq = new Map<number, WarrenEvent>();
  for (const list of lists) for (const event of list) bySeq.set(event.seq, event);
  return [...bySeq.values()].sort((a, b) => b.seq - a.seq);
}
