// The one connection that keeps the page live: reads the event stream, resumes from the last sequence after a
// break, and says what is stale meanwhile. The decisions are in feedState; this carries them out.
import { FollowedStream, type StreamReader } from "../../api/followedStream";
import type { Problem } from "../../api/problem";
import type { SseMessage } from "../../api/sse";
import type { EventFrame, WarrenEvent } from "../../api/types";
import * as feedState from "./feedState";

export interface FeedListener {
  /** An event that was not seen before. */
  onEvent(event: WarrenEvent): void;
  /** The log was read to its end; resolve when everything shown was asked for again. */
  onCaughtUp(): Promise<void>;
  onSignedOut(problem: Problem): void;
}

export class Feed implements StreamReader {
  private state = feedState.initialFeed;
  private readonly subscribers = new Set<() => void>();
  private readonly stream: FollowedStream;

  constructor(
    private readonly listener: FeedListener,
    private readonly path = "/api/v1/events",
    random: () => number = Math.random,
  ) {
    this.stream = new FollowedStream(this, random);
  }

  readonly subscribe = (onChange: () => void): (() => void) => {
    this.subscribers.add(onChange);
    return () => this.subscribers.delete(onChange);
  };

  readonly snapshot = (): feedState.FeedState => this.state;

  start(): () => void {
    return this.stream.start();
  }

  readonly tryNow = (): void => this.stream.tryNow();

  url(): string {
    const { lastSeq } = this.state;
    return lastSeq === undefined ? this.path : `${this.path}?after=${lastSeq}`;
  }

  onConnecting(): void {
    this.set(feedState.retrying(this.state));
  }

  onOpened(): void {
    this.set(feedState.opened(this.state));
  }

  onMessage(message: SseMessage, isCurrent: () => boolean): void {
    const frame = JSON.parse(message.data) as EventFrame;
    const before = this.state.lastSeq;
    this.set(feedState.received(this.state, frame));
    if (frame.type === "event" && this.state.lastSeq !== before) this.listener.onEvent(frame.event);
    if (frame.type === "caught_up") {
      void this.listener.onCaughtUp().then(() => {
        if (!isCurrent()) return;
        this.set(feedState.fresh(this.state));
        if (this.state.phase === "live") this.stream.succeeded();
      });
    }
  }

  onBroke(problem: Problem | undefined): "retry" {
    this.set(feedState.broke(this.state, problem, Date.now()));
    return "retry";
  }

  onAsleep(): void {
    this.set(feedState.asleep(this.state));
  }

  onSignedOut(problem: Problem): void {
    this.listener.onSignedOut(problem);
  }

  private set(next: feedState.FeedState): void {
    if (next === this.state) return;
    this.state = next;
    for (const notify of this.subscribers) notify();
  }
}
