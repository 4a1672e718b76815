// The one connection that keeps the page live: reads the event stream, resumes from the last sequence after a
// break, and says what is stale meanwhile. The decisions are in feedState; this carries them out.
import { request } from "../../api/client";
import { asProblem, isSignedOut, type Problem } from "../../api/problem";
import { sseMessages } from "../../api/sse";
import type { EventFrame, WarrenEvent } from "../../api/types";
import { backoffMs } from "./backoff";
import * as feedState from "./feedState";

/** The server sends a comment every 15 s; three missed ones mean that nobody is there. */
const SILENCE_MS = 45_000;
/** A hidden page gives its connection back: browsers allow six per server, shared by all tabs. */
const HIDDEN_MS = 60_000;

export interface FeedListener {
  /** An event that was not seen before. */
  onEvent(event: WarrenEvent): void;
  /** The log was read to its end; resolve when everything shown was asked for again. */
  onCaughtUp(): Promise<void>;
  onSignedOut(problem: Problem): void;
}

export class Feed {
  private state = feedState.initialFeed;
  private readonly subscribers = new Set<() => void>();
  private connection: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  private isStarted = false;

  constructor(
    private readonly listener: FeedListener,
    private readonly url = "/api/v1/events",
    private readonly random: () => number = Math.random,
  ) {}

  readonly subscribe = (onChange: () => void): (() => void) => {
    this.subscribers.add(onChange);
    return () => this.subscribers.delete(onChange);
  };

  readonly snapshot = (): feedState.FeedState => this.state;

  start(): () => void {
    this.isStarted = true;
    window.addEventListener("online", this.tryNow);
    document.addEventListener("visibilitychange", this.onVisibility);
    void this.connect();
    return () => this.stop();
  }

  /** Connects at once instead of waiting for the next attempt. */
  readonly tryNow = (): void => {
    if (this.state.phase === "waiting" || this.state.phase === "asleep") void this.connect();
  };

  private stop(): void {
    this.isStarted = false;
    window.removeEventListener("online", this.tryNow);
    document.removeEventListener("visibilitychange", this.onVisibility);
    clearTimeout(this.timer);
    clearTimeout(this.hiddenTimer);
    this.connection?.abort();
  }

  private readonly onVisibility = (): void => {
    clearTimeout(this.hiddenTimer);
    if (document.visibilityState === "visible") {
      this.tryNow();
      return;
    }
    this.hiddenTimer = setTimeout(() => {
      this.connection?.abort();
      clearTimeout(this.timer);
      this.set(feedState.asleep(this.state));
    }, HIDDEN_MS);
  };

  private async connect(): Promise<void> {
    if (!this.isStarted) return;
    clearTimeout(this.timer);
    this.connection?.abort();
    const connection = new AbortController();
    this.connection = connection;
    this.set(feedState.retrying(this.state));
    let problem: Problem | undefined;
    try {
      await this.read(connection);
    } catch (thrown) {
      problem = connection.signal.aborted ? undefined : asProblem(thrown);
    }
    // Another connection took over, or the page was hidden: that one decides what comes next.
    if (this.connection !== connection || !this.isStarted || this.state.phase === "asleep") return;
    if (problem && isSignedOut(problem)) {
      this.set(feedState.broke(this.state, problem, Date.now()));
      this.listener.onSignedOut(problem);
      return;
    }
    this.waitAndRetry(problem);
  }

  private waitAndRetry(problem: Problem | undefined): void {
    const delay = backoffMs(this.state.attempt, this.random());
    this.set(feedState.broke(this.state, problem, Date.now()));
    this.timer = setTimeout(() => void this.connect(), delay);
  }

  private async read(connection: AbortController): Promise<void> {
    const { lastSeq } = this.state;
    const url = lastSeq === undefined ? this.url : `${this.url}?after=${lastSeq}`;
    const response = await request(url, {
      headers: { accept: "text/event-stream" },
      signal: connection.signal,
      cache: "no-store",
    });
    this.set(feedState.opened(this.state));
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const stillThere = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => connection.abort(), SILENCE_MS);
    };
    stillThere();
    try {
      for await (const message of sseMessages(response, stillThere)) {
        this.take(JSON.parse(message.data) as EventFrame, connection);
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  private take(frame: EventFrame, connection: AbortController): void {
    const before = this.state.lastSeq;
    this.set(feedState.received(this.state, frame));
    if (frame.type === "event" && this.state.lastSeq !== before) this.listener.onEvent(frame.event);
    if (frame.type === "caught_up") {
      void this.listener.onCaughtUp().then(() => {
        if (this.connection === connection) this.set(feedState.fresh(this.state));
      });
    }
  }

  private set(next: feedState.FeedState): void {
    if (next === this.state) return;
    this.state = next;
    for (const notify of this.subscribers) notify();
  }
}
