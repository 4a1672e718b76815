// Follows one session: reads its stream, resumes behind the last entry after a break, and says when what is shown is not
// fresh. The decisions are in `transcript`; this carries them out.
import { request } from "../../api/client";
import { asProblem, isSignedOut, type Problem } from "../../api/problem";
import { sseMessages } from "../../api/sse";
import { backoffMs } from "../events/backoff";
import { isNumbered } from "./entries";
import { emptyTranscript, type Transcript, withEntry } from "./transcript";

/** The server sends a comment every 15 s; three missed ones mean that nobody is there. */
const SILENCE_MS = 45_000;
/** A hidden page gives its connection back: browsers allow six per server, shared by all tabs. */
const HIDDEN_MS = 60_000;
const TELL_MS = 16;

export interface StreamState {
  transcript: Transcript;
  phase: "connecting" | "live" | "waiting" | "asleep" | "gone";
  problem: Problem | undefined;
}

export interface StreamListener {
  /** Something happened that the session's row or steps tell more about. */
  onChanged(): void;
  onSignedOut(problem: Problem): void;
}

/** What does not change the row or the steps. */
const PIECES = new Set(["text_delta", "reasoning_delta", "call_delta", "call_output"]);

export class SessionStream {
  private state: StreamState = { transcript: emptyTranscript, phase: "connecting", problem: undefined };
  /** What those who look were told of. */
  private shown = this.state;
  private telling: ReturnType<typeof setTimeout> | undefined;
  private readonly subscribers = new Set<() => void>();
  private connection: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private isStarted = false;

  constructor(
    private readonly session: string,
    private readonly listener: StreamListener,
    private readonly random: () => number = Math.random,
  ) {}

  readonly subscribe = (onChange: () => void): (() => void) => {
    this.subscribers.add(onChange);
    return () => this.subscribers.delete(onChange);
  };

  readonly snapshot = (): StreamState => this.shown;

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
      clearTimeout(this.timer);
      if (this.state.phase !== "gone") this.set({ ...this.state, phase: "asleep" });
      this.connection?.abort();
    }, HIDDEN_MS);
  };

  private async connect(): Promise<void> {
    if (!this.isStarted) return;
    clearTimeout(this.timer);
    this.connection?.abort();
    const connection = new AbortController();
    this.connection = connection;
    this.set({ ...this.state, phase: "connecting" });
    let problem: Problem | undefined;
    try {
      await this.read(connection);
    } catch (thrown) {
      problem = connection.signal.aborted ? undefined : asProblem(thrown);
    }
    // Another connection took over, or the page was hidden: that one decides what comes next.
    if (this.connection !== connection || !this.isStarted || this.state.phase === "asleep") return;
    if (problem?.code === "session_not_found") {
      this.set({ ...this.state, phase: "gone", problem });
      return;
    }
    const delay = backoffMs(this.attempt, this.random());
    this.attempt += 1;
    this.set({ ...this.state, phase: "waiting", problem });
    if (problem && isSignedOut(problem)) this.listener.onSignedOut(problem);
    else this.timer = setTimeout(() => void this.connect(), delay);
  }

  private async read(connection: AbortController): Promise<void> {
    const path = `/api/v1/sessions/${encodeURIComponent(this.session)}/stream`;
    const response = await request(`${path}?after=${this.state.transcript.sequence}`, {
      headers: { accept: "text/event-stream" },
      signal: connection.signal,
      cache: "no-store",
    });
    this.attempt = 0;
    this.set({ ...this.state, phase: "live", problem: undefined });
    // What happened while nobody listened may not stand in the stream: a rewind leaves no entry.
    this.listener.onChanged();
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const stillThere = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => connection.abort(), SILENCE_MS);
    };
    stillThere();
    try {
      for await (const message of sseMessages(response, stillThere)) {
        if (message.event !== "closing") this.take(JSON.parse(message.data));
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  private take(entry: unknown): void {
    if (!isNumbered(entry)) return;
    const transcript = withEntry(this.state.transcript, entry);
    if (transcript === this.state.transcript) return;
    this.set({ ...this.state, transcript });
    if (!PIECES.has(entry.type)) this.listener.onChanged();
  }

  /** A long history comes in many pieces: those who look are told a few times of it, not for each. */
  private set(next: StreamState): void {
    this.state = next;
    this.telling ??= setTimeout(() => {
      this.telling = undefined;
      this.shown = this.state;
      for (const notify of this.subscribers) notify();
    }, TELL_MS);
  }
}
