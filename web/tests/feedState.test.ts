import { describe, expect, it } from "vitest";
import { backoffMs } from "../src/api/backoff";
import type { WarrenEvent } from "../src/api/types";
import {
  broke,
  fresh,
  initialFeed,
  isStale,
  KEPT_EVENTS,
  mergeNewestFirst,
  opened,
  received,
  retrying,
} from "../src/features/events/feedState";

function event(seq: number): WarrenEvent {
  const principal = { kind: "system" as const, id: "warren" };
  return {
    seq,
    at: "2026-01-01T00:00:00Z",
    kind: "server.process.started",
    principal,
    data: { version: "1" },
  };
}

const live = fresh(received(opened(initialFeed), { type: "caught_up", seq: 10 }));

// S44
describe("the state of the live feed", () => {
  it("is stale from the break until everything was asked for again", () => {
    expect(isStale(live)).toBe(false);
    const lost = broke(live, undefined, 1_000);
    expect(isStale(lost)).toBe(true);
    expect(isStale(retrying(lost))).toBe(true);
    const catchingUp = received(opened(retrying(lost)), { type: "caught_up", seq: 10 });
    expect(isStale(catchingUp)).toBe(true);
    expect(isStale(fresh(catchingUp))).toBe(false);
  });

  it("is not called stale before anything was shown", () => {
    expect(isStale(initialFeed)).toBe(false);
    expect(isStale(broke(initialFeed, undefined, 0))).toBe(false);
  });

  it("remembers since when it is stale over many failed attempts", () => {
    const lost = broke(retrying(broke(live, undefined, 1_000)), undefined, 9_000);
    expect(lost.staleSince).toBe(1_000);
  });

  it("does not become fresh by an answer that came after the connection broke again", () => {
    expect(fresh(broke(live, undefined, 0)).phase).toBe("waiting");
  });

  it("takes an event that is sent twice only once", () => {
    const once = received(live, { type: "event", event: event(11) });
    expect(received(once, { type: "event", event: event(11) })).toBe(once);
    expect(received(once, { type: "event", event: event(9) })).toBe(once);
    expect(once.lastSeq).toBe(11);
  });

  it("goes on from the last sequence seen when it lagged or was closed", () => {
    const once = received(live, { type: "event", event: event(11) });
    expect(received(once, { type: "lagged", after: 11 }).lastSeq).toBe(11);
    expect(received(once, { type: "closing", code: "shutting_down", after: 11 }).lastSeq).toBe(11);
  });

  it("begins anew when the log is another one", () => {
    const other = received(received(live, { type: "event", event: event(11) }), {
      type: "caught_up",
      seq: 2,
    });
    expect(other).toMatchObject({ lastSeq: 2, events: [] });
  });

  it("keeps a bounded number of events, the newest", () => {
    let state = live;
    for (let seq = 11; seq <= 11 + KEPT_EVENTS; seq += 1)
      state = received(state, { type: "event", event: event(seq) });
    expect(state.events).toHaveLength(KEPT_EVENTS);
    expect(state.events[0]?.seq).toBe(12);
  });

  it("shows events of the feed and of pages once, newest first", () => {
    const merged = mergeNewestFirst([event(3), event(4)], [event(1), event(2), event(3)]);
    expect(merged.map(({ seq }) => seq)).toEqual([4, 3, 2, 1]);
  });

  it("waits longer after each failure, up to ten seconds, never all pages at once", () => {
    expect([0, 1, 2, 3].map((attempt) => backoffMs(attempt, 1))).toEqual([250, 500, 1_000, 2_000]);
    expect(backoffMs(50, 1)).toBe(10_000);
    expect(backoffMs(50, 0)).toBe(5_000);
  });
});
