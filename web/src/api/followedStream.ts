// Follows one stream of server-sent events for as long as the page wants it: connects, notices when nobody is there any
// more, waits longer after each failure, and gives its connection back while the page is hidden.
//
//   connecting ──▶ open ──▶ waiting ──▶ connecting …          asleep: hidden for long, closed on purpose
//                                                             ended: the reader said that it is over
//
// What is read, and from where it goes on after a break, is the reader's business.
import { backoffMs } from "./backoff";
import { request } from "./client";
import { asProblem, isSignedOut, type Problem } from "./problem";
import { type SseMessage, sseMessages } from "./sse";

/** The server sends a comment every 15 s; three missed ones mean that nobody is there. */
const SILENCE_MS = 45_000;
/** A hidden page gives its connection back: browsers allow six per server, shared by all tabs. */
const HIDDEN_MS = 60_000;

type Phase = "connecting" | "open" | "waiting" | "asleep" | "ended";

/** Whoever reads a stream. Each call may be followed by any other. */
export interface StreamReader {
  /** Where the next connection begins. */
  url(): string;
  onConnecting(): void;
  onOpened(): void;
  /** `isCurrent` tells, also later, whether the connection that brought the message is still the one. */
  onMessage(message: SseMessage, isCurrent: () => boolean): void;
  /** The connection ended. Answers whether another one is wanted. */
  onBroke(problem: Problem | undefined): "retry" | "end";
  onAsleep(): void;
  onSignedOut(problem: Problem): void;
}

export class FollowedStream {
  private phase: Phase = "connecting";
  private connection: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  /** How often a connection failed since the last good one. */
  private attempt = 0;
  private isStarted = false;

  constructor(
    private readonly reader: StreamReader,
    private readonly random: () => number,
  ) {}

  start(): () => void {
    this.isStarted = true;
    window.addEventListener("online", this.tryNow);
    document.addEventListener("visibilitychange", this.onVisibility);
    void this.connect();
    return () => this.stop();
  }

  /** Connects at once instead of waiting for the next attempt. */
  readonly tryNow = (): void => {
    if (this.phase === "waiting" || this.phase === "asleep") void this.connect();
  };

  /** The connection is good: the next break is the first again. */
  succeeded(): void {
    this.attempt = 0;
  }

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
      clearTimeout(this.timer);
      if (this.phase !== "ended") {
        this.phase = "asleep";
        this.reader.onAsleep();
      }
      this.connection?.abort();
    }, HIDDEN_MS);
  };

  private async connect(): Promise<void> {
    if (!this.isStarted) return;
    clearTimeout(this.timer);
    this.connection?.abort();
    const connection = new AbortController();
    this.connection = connection;
    this.phase = "connecting";
    this.reader.onConnecting();
    let problem: Problem | undefined;
    try {
      await this.read(connection);
    } catch (thrown) {
      problem = connection.signal.aborted ? undefined : asProblem(thrown);
    }
    // Another connection took over, or the page was hidden: that one decides what comes next.
    if (this.connection !== connection || !this.isStarted || this.isAsleep()) return;
    const delay = backoffMs(this.attempt, this.random());
    this.attempt += 1;
    this.phase = "waiting";
    if (this.reader.onBroke(problem) === "end") this.phase = "ended";
    else if (problem && isSignedOut(problem)) this.reader.onSignedOut(problem);
    else this.timer = setTimeout(() => void this.connect(), delay);
  }

  private isAsleep(): boolean {
    return this.phase === "asleep";
  }

  private async read(connection: AbortController): Promise<void> {
    const response = await request(this.reader.url(), {
      headers: { accept: "text/event-stream" },
      signal: connection.signal,
      cache: "no-store",
    });
    this.phase = "open";
    this.reader.onOpened();
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const stillThere = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => connection.abort(), SILENCE_MS);
    };
    const isCurrent = () => this.connection === connection;
    stillThere();
    try {
      for await (const message of sseMessages(response, stillThere))
        this.reader.onMessage(message, isCurrent);
    } finally {
      clearTimeout(watchdog);
    }
  }
}
