// Follows one session: reads its stream, resumes behind the last entry after a break, and says when what is shown is not
// fresh. The decisions are in `transcript`; this carries them out.
import { FollowedStream, type StreamReader } from "../../api/followedStream";
import type { Problem } from "../../api/problem";
import type { SseMessage } from "../../api/sse";
import { isNumbered } from "./entries";
import { emptyTranscript, type Transcript, withEntry } from "./transcript";

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

export class SessionStream implements StreamReader {
  private state: StreamState = { transcript: emptyTranscript, phase: "connecting", problem: undefined };
  /** What those who look were told of. */
  private shown = this.state;
  private telling: ReturnType<typeof setTimeout> | undefined;
  private readonly subscribers = new Set<() => void>();
  private readonly stream: FollowedStream;

  constructor(
    private readonly session: string,
    private readonly listener: StreamListener,
    random: () => number = Math.random,
  ) {
    this.stream = new FollowedStream(this, random);
  }

  readonly subscribe = (onChange: () => void): (() => void) => {
    this.subscribers.add(onChange);
    return () => this.subscribers.delete(onChange);
  };

  readonly snapshot = (): StreamState => this.shown;

  start(): () => void {
    return this.stream.start();
  }

  readonly tryNow = (): void => this.stream.tryNow();

  url(): string {
    const path = `/api/v1/sessions/${encodeURIComponent(this.session)}/stream`;
    return `${path}?after=${this.state.transcript.sequence}`;
  }

  onConnecting(): void {
    this.set({ ...this.state, phase: "connecting" });
  }

  onOpened(): void {
    this.stream.succeeded();
    this.set({ ...this.state, phase: "live", problem: undefined });
    // What happened while nobody listened may not stand in the stream: a rewind leaves no entry.
    this.listener.onChanged();
  }

  onMessage(message: SseMessage): void {
    if (message.event === "closing") return;
    const entry: unknown = JSON.parse(message.data);
    if (!isNumbered(entry)) return;
    const transcript = withEntry(this.state.transcript, entry);
    if (transcript === this.state.transcript) return;
    this.set({ ...this.state, transcript });
    if (!PIECES.has(entry.type)) this.listener.onChanged();
  }

  onBroke(problem: Problem | undefined): "retry" | "end" {
    const isGone = problem?.code === "session_not_found";
    this.set({ ...this.state, phase: isGone ? "gone" : "waiting", problem });
    return isGone ? "end" : "retry";
  }

  onAsleep(): void {
    this.set({ ...this.state, phase: "asleep" });
  }

  onSignedOut(problem: Problem): void {
    this.listener.onSignedOut(problem);
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
