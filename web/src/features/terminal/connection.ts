// A terminal's connection to a process: made, kept, and made again from where it broke off. It knows nothing of how
// the terminal is drawn.

import { backoffMs } from "../../api/backoff";
import { answer, type Client } from "../../api/client";
import { asProblem, isPassing, Problem } from "../../api/problem";
import type { Process, TerminalFrame, TerminalRequest } from "../../api/types";

export type ConnectionState =
  | { phase: "connecting" }
  | { phase: "open"; process: Process }
  /** The connection broke off; the page tries again by itself. */
  | { phase: "waiting" }
  | { phase: "exited"; exitCode: number | undefined; signal: number | undefined; timedOut: boolean }
  /** The process is no longer there, or its number belongs to another one now. */
  | { phase: "lost" }
  | { phase: "failed"; problem: Problem };

/** Which process. Absent: a new shell. */
export interface Target {
  process: number;
  startedAt: string;
}

export interface Size {
  rows: number;
  columns: number;
}

/** Where output goes. `done` is called once it was taken in. */
export interface Screen {
  write(output: Uint8Array | string, done: () => void): void;
}

const MAX_INPUT_BYTES = 32_768;
/** A handshake fails without a reason; asked for one, a healthy server has none either. */
const UNEXPLAINED_FAILURES = 5;
const SKIPPED = "\r\n\x1b[7m earlier output is no longer kept \x1b[0m\r\n";

export class TerminalConnection {
  private state: ConnectionState = { phase: "connecting" };
  private readonly subscribers = new Set<() => void>();
  private socket: WebSocket | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private isClosed = false;
  private screen: Screen | undefined;
  private size: Size = { rows: 24, columns: 80 };
  /** The end of the output that came, and of the output that was drawn. */
  private offset = 0;
  private drawn = 0;
  /** Output before this was printed before we came. Questions in it were asked of others, and are not answered. */
  private replayEnd = 0;

  constructor(
    private readonly api: Client,
    private readonly workspaceId: string,
    private target: Target | undefined,
    private readonly onAttached: (target: Target) => void,
  ) {}

  readonly subscribe = (onChange: () => void): (() => void) => {
    this.subscribers.add(onChange);
    return () => this.subscribers.delete(onChange);
  };

  readonly snapshot = (): ConnectionState => this.state;

  open(screen: Screen, size: Size): void {
    this.screen = screen;
    this.size = size;
    this.isClosed = false;
    // A view that is taken away at once starts nothing.
    this.timer = setTimeout(() => void this.connect(), 0);
  }

  /** Lets go of the process, which goes on. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.socket?.close();
    this.socket = undefined;
  }

  type(text: string): void {
    if (this.state.phase !== "open" || this.drawn < this.replayEnd) return;
    const bytes = new TextEncoder().encode(text);
    for (let from = 0; from < bytes.length; from += MAX_INPUT_BYTES) {
      this.socket?.send(bytes.slice(from, from + MAX_INPUT_BYTES));
    }
  }

  resize(size: Size): void {
    this.size = size;
    if (this.state.phase !== "open") return;
    const request: TerminalRequest = { type: "resize", rows: size.rows, columns: size.columns };
    this.socket?.send(JSON.stringify(request));
  }

  private async connect(): Promise<void> {
    try {
      if (!(await this.isThere())) {
        this.change({ phase: "lost" });
        return;
      }
    } catch (thrown) {
      this.failed(thrown);
      return;
    }
    if (this.isClosed) return;
    const socket = new WebSocket(this.address());
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    let isAttached = false;
    let hasEnded = false;
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (this.socket !== socket) return;
      if (typeof data !== "string") {
        this.draw(new Uint8Array(data));
        return;
      }
      const frame = JSON.parse(data) as TerminalFrame;
      isAttached ||= frame.type === "attached";
      hasEnded ||= this.take(frame);
    };
    socket.onclose = () => {
      if (this.socket !== socket || hasEnded) return;
      this.socket = undefined;
      if (isAttached) this.tryAgain();
      else void this.explain();
    };
  }

  /** Whether the process to attach to is still the one that was meant. */
  private async isThere(): Promise<boolean> {
    const { target } = this;
    if (!target) return true;
    const path = { id: this.workspaceId, process: target.process };
    try {
      const process = await answer(
        this.api.GET("/api/v1/workspaces/{id}/processes/{process}", { params: { path } }),
      );
      return process.started_at === target.startedAt;
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.code === "process_not_found") return false;
      throw thrown;
    }
  }

  /** Browsers do not say why a handshake failed, so the same door is knocked at in a way that they do. */
  private async explain(): Promise<void> {
    try {
      await answer(
        this.api.GET("/api/v1/workspaces/{id}/processes", { params: { path: { id: this.workspaceId } } }),
      );
    } catch (thrown) {
      this.failed(thrown);
      return;
    }
    if (this.attempt < UNEXPLAINED_FAILURES) {
      this.tryAgain();
      return;
    }
    this.failed(
      new Problem({
        code: "unexpected_answer",
        status: 0,
        title: "The terminal could not be opened.",
        remedy: "If something stands between this page and Warren, it must let WebSockets through.",
      }),
    );
  }

  private failed(thrown: unknown): void {
    if (isPassing(thrown)) this.tryAgain();
    else this.change({ phase: "failed", problem: asProblem(thrown) });
  }

  private tryAgain(): void {
    if (this.isClosed) return;
    this.change({ phase: "waiting" });
    this.timer = setTimeout(() => void this.connect(), backoffMs(this.attempt, Math.random()));
    this.attempt += 1;
  }

  private address(): string {
    const query = new URLSearchParams({
      rows: String(this.size.rows),
      columns: String(this.size.columns),
    });
    if (this.target) {
      query.set("process", String(this.target.process));
      query.set("offset", String(this.offset));
    }
    const url = new URL(`/api/v1/workspaces/${encodeURIComponent(this.workspaceId)}/terminal`, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    url.search = query.toString();
    return url.href;
  }

  private draw(bytes: Uint8Array): void {
    this.offset += bytes.length;
    const end = this.offset;
    this.screen?.write(bytes, () => {
      this.drawn = end;
    });
  }

  /** Says whether this was the last word. */
  private take(frame: TerminalFrame): boolean {
    switch (frame.type) {
      case "attached":
        this.attempt = 0;
        this.offset = frame.offset;
        this.drawn = frame.offset;
        this.replayEnd = frame.replay_end;
        this.target = { process: frame.process.id, startedAt: frame.process.started_at };
        this.onAttached(this.target);
        this.change({ phase: "open", process: frame.process });
        return false;
      case "skipped":
        this.offset = frame.offset;
        this.screen?.write(SKIPPED, () => {
          this.drawn = frame.offset;
        });
        return false;
      case "input_refused":
        return false;
      case "exited": {
        const { exit_code, signal, timed_out } = frame;
        const exitCode = exit_code ?? undefined;
        this.change({ phase: "exited", exitCode, signal: signal ?? undefined, timedOut: timed_out });
        return true;
      }
      case "closing":
        return this.closing(frame.code);
    }
  }

  private closing(code: string): boolean {
    // The server comes back, or an ordinary request says better what is wrong.
    if (["shutting_down", "workspace_evicted", "token_expired"].includes(code)) return false;
    this.change({
      phase: "failed",
      problem: new Problem({
        code,
        status: 0,
        title: "Warren closed the terminal.",
        remedy: "Open a new one when the workspace can be used again.",
      }),
    });
    return true;
  }

  private change(state: ConnectionState): void {
    this.state = state;
    for (const notify of this.subscribers) notify();
  }
}
