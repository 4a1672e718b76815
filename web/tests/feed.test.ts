// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Feed } from "../src/features/events/feed";
import { FakeWarren } from "./fakeWarren";

let warren: FakeWarren;
let stop: (() => void) | undefined;
beforeEach(() => {
  vi.useFakeTimers();
  warren = new FakeWarren();
  vi.stubGlobal("fetch", warren.fetch);
});
afterEach(() => {
  stop?.();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function startFeed() {
  const seen: number[] = [];
  const onSignedOut = vi.fn();
  const onCaughtUp = vi.fn(async () => undefined);
  const feed = new Feed(
    { onEvent: (event) => seen.push(event.seq), onCaughtUp, onSignedOut },
    "/api/v1/events",
    () => 1,
  );
  stop = feed.start();
  return { feed, seen, onSignedOut, onCaughtUp };
}

function hide(isHidden: boolean): void {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(isHidden ? "hidden" : "visible");
  document.dispatchEvent(new Event("visibilitychange"));
}

const streamed = () => warren.calls.filter((call) => call.startsWith("GET /api/v1/events"));

// S44
describe("the live feed", () => {
  it("goes on from the last sequence after each break, with waits that grow, and everything is asked again once", async () => {
    const { feed, seen, onCaughtUp } = startFeed();
    await vi.advanceTimersByTimeAsync(0);
    warren.emit("identity.token.revoked");
    await vi.advanceTimersByTimeAsync(0);
    expect(feed.snapshot().phase).toBe("live");
    warren.die();
    await vi.advanceTimersByTimeAsync(0);
    expect(feed.snapshot().phase).toBe("waiting");
    await vi.advanceTimersByTimeAsync(250 + 500 + 1_000);
    expect(streamed()).toHaveLength(4);
    warren.emit("identity.token.revoked");
    warren.isDown = false;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(streamed().at(-1)).toBe("GET /api/v1/events?after=1");
    expect(seen).toEqual([1, 2]);
    expect(feed.snapshot().phase).toBe("live");
    expect(onCaughtUp).toHaveBeenCalledTimes(2);
  });

  it("takes a connection on which nothing comes for long as broken", async () => {
    const { feed } = startFeed();
    await vi.advanceTimersByTimeAsync(0);
    await vi.advanceTimersByTimeAsync(44_000);
    expect(feed.snapshot().phase).toBe("live");
    await vi.advanceTimersByTimeAsync(2_000);
    expect(streamed()).toHaveLength(2);
  });

  it("gives its connection back while the page is hidden for long, and resumes when it is looked at", async () => {
    const { feed, seen } = startFeed();
    await vi.advanceTimersByTimeAsync(0);
    // Something keeps the connection alive, so that only hiding can end it.
    const chatter = setInterval(() => warren.emit("identity.token.revoked"), 20_000);
    hide(true);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(feed.snapshot().phase).toBe("asleep");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(streamed()).toHaveLength(1);
    clearInterval(chatter);
    hide(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(feed.snapshot().phase).toBe("live");
    expect(seen).toEqual(warren.log.map(({ seq }) => seq));
  });

  it("asks no more once the session has ended, until told to", async () => {
    const { feed, onSignedOut } = startFeed();
    await vi.advanceTimersByTimeAsync(0);
    warren.isSignedIn = false;
    warren.die();
    warren.isDown = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(onSignedOut).toHaveBeenCalledTimes(1);
    expect(streamed()).toHaveLength(2);
    warren.isSignedIn = true;
    feed.tryNow();
    await vi.advanceTimersByTimeAsync(0);
    expect(feed.snapshot().phase).toBe("live");
  });
});
