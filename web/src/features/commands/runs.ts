// The commands started from this page: their output as it comes, and how they ended. They outlive a tab change;
// a reload keeps what had come, and says of those that were under way that their end was not seen.
import { request } from "../../api/client";
import { asProblem, Problem } from "../../api/problem";
import { sseMessages } from "../../api/sse";
import type { ExecFrame, ExecRequest, ExecResult } from "../../api/types";
import { readDraft, writeDraft } from "../../components/draft";
import { append, emptyText, plainText, type TerminalText } from "./terminalText";

export type RunEnd =
  | { how: "finished"; result: ExecResult }
  | { how: "failed"; problem: Problem }
  | { how: "stopped" }
  /** The connection broke or the page was reloaded: the command may or may not have finished. */
  | { how: "unseen"; why: string };

export interface Run {
  id: string;
  request: ExecRequest;
  startedAt: number;
  output: TerminalText;
  /** Absent while it runs. */
  end: RunEnd | undefined;
}

const KEPT_RUNS = 20;
const STORED_CHARS = 20_000;
const PAINT_MS = 50;
const STORE_MS = 1_000;

export class RunLog {
  private runs: readonly Run[];
  private readonly subscribers = new Set<() => void>();
  private readonly stops = new Map<string, AbortController>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private storedAt = 0;

  constructor(private readonly workspaceId: string) {
    this.runs = restore(readDraft(this.storageKey));
    this.store();
  }

  readonly subscribe = (onChange: () => void): (() => void) => {
    this.subscribers.add(onChange);
    return () => this.subscribers.delete(onChange);
  };

  /** Newest first. */
  readonly snapshot = (): readonly Run[] => this.runs;

  async start(body: ExecRequest): Promise<void> {
    const run: Run = {
      id: crypto.randomUUID(),
      request: body,
      startedAt: Date.now(),
      output: emptyText,
      end: undefined,
    };
    const stop = new AbortController();
    this.stops.set(run.id, stop);
    this.runs = [run, ...this.runs].slice(0, KEPT_RUNS);
    this.store();
    this.notify();
    const end = await this.follow(run.id, body, stop.signal);
    this.stops.delete(run.id);
    this.change(run.id, (now) => ({ ...now, end: now.end ?? end }));
    this.store();
    this.notify();
  }

  stop(id: string): void {
    this.stops.get(id)?.abort();
  }

  forget(): void {
    this.runs = this.runs.filter((run) => !run.end);
    this.store();
    this.notify();
  }

  private async follow(id: string, body: ExecRequest, signal: AbortSignal): Promise<RunEnd> {
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    try {
      const response = await request(`/api/v1/workspaces/${encodeURIComponent(this.workspaceId)}/exec`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream" },
        body: JSON.stringify(body),
        signal,
      });
      for await (const message of sseMessages(response)) {
        const frame = JSON.parse(message.data) as ExecFrame;
        if (frame.type === "finished") return { how: "finished", result: frame.result };
        if (frame.type === "failed") return { how: "failed", problem: new Problem(frame.problem) };
        const text = decoders[frame.type].decode(bytesOf(frame.base64), { stream: true });
        this.change(id, (run) => ({ ...run, output: append(run.output, text, frame.type === "stderr") }));
        this.notifySoon();
      }
    } catch (thrown) {
      if (signal.aborted) return { how: "stopped" };
      if (thrown instanceof Problem) return { how: "failed", problem: asProblem(thrown) };
    }
    return { how: "unseen", why: "The connection to the server broke before the command ended." };
  }

  private change(id: string, how: (run: Run) => Run): void {
    this.runs = this.runs.map((run) => (run.id === id ? how(run) : run));
  }

  /** Output may come in thousands of pieces a second; the page is painted twenty times. */
  private notifySoon(): void {
    this.timer ??= setTimeout(() => {
      if (Date.now() - this.storedAt > STORE_MS) this.store();
      this.notify();
    }, PAINT_MS);
  }

  private notify(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const notify of this.subscribers) notify();
  }

  private get storageKey(): string {
    return `runs.${this.workspaceId}`;
  }

  private store(): void {
    this.storedAt = Date.now();
    const stored = this.runs.map((run) => ({ ...run, output: plainText(run.output).slice(-STORED_CHARS) }));
    writeDraft(this.storageKey, JSON.stringify(stored));
  }
}

export function restore(stored: string | undefined): Run[] {
  if (!stored) return [];
  try {
    const runs = JSON.parse(stored) as (Omit<Run, "output"> & { output: string })[];
    return runs.map((run) => ({
      ...run,
      output: append(emptyText, run.output, false),
      end: restoredEnd(run.end),
    }));
  } catch {
    return [];
  }
}

function restoredEnd(end: RunEnd | undefined): RunEnd {
  if (!end) return { how: "unseen", why: "The page was reloaded before the command ended." };
  // A stored problem lost its class; its fields are all there.
  if (end.how !== "failed") return end;
  return { how: "failed", problem: new Problem({ ...end.problem, request_id: end.problem.requestId }) };
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}
