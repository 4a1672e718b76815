// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createApi } from "../src/api/client";
import { type Screen, type Target, TerminalConnection } from "../src/features/terminal/connection";

const STARTED = "2026-01-01T00:00:00Z";

/** A server's side of a WebSocket. */
class FakeSocket {
  static all: FakeSocket[] = [];
  static get last(): FakeSocket {
    const last = FakeSocket.all.at(-1);
    if (!last) throw new Error("nothing was opened");
    return last;
  }
  binaryType = "";
  onmessage: ((event: { data: unknown }) => void) | undefined;
  onclose: (() => void) | undefined;
  readonly sent: (Uint8Array | string)[] = [];
  isClosed = false;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  send(message: Uint8Array | string) {
    this.sent.push(message);
  }
  close() {
    this.isClosed = true;
  }
  tell(frame: object) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
  print(text: string) {
    this.onmessage?.({ data: new TextEncoder().encode(text).buffer });
  }
  attach(fields: { id?: number; offset?: number; replay_end?: number } = {}) {
    const { id = 1, offset = 0, replay_end = 0 } = fields;
    this.tell({ type: "attached", process: { id, started_at: STARTED, program: "sh" }, offset, replay_end });
  }
  get query(): URLSearchParams {
    return new URL(this.url).searchParams;
  }
  get typed(): string {
    return this.sent.map((one) => (typeof one === "string" ? "" : new TextDecoder().decode(one))).join("");
  }
}

/** Takes output in at once, or when told to. */
class FakeScreen implements Screen {
  text = "";
  isSlow = false;
  private readonly waiting: (() => void)[] = [];
  write(output: Uint8Array | string, done: () => void) {
    this.text += typeof output === "string" ? output : new TextDecoder().decode(output);
    if (this.isSlow) this.waiting.push(done);
    else done();
  }
  catchUp() {
    for (const done of this.waiting.splice(0)) done();
  }
}

let answers: (path: string) => Response;
let attached: Target[];

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.all = [];
  attached = [];
  answers = () => Response.json({ id: 1, started_at: STARTED, items: [] });
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", async (call: Request) => answers(new URL(call.url).pathname));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function open(target?: Target) {
  const screen = new FakeScreen();
  const connection = new TerminalConnection(createApi(), "w1", target, (one) => attached.push(one));
  connection.open(screen, { rows: 30, columns: 90 });
  await vi.advanceTimersByTimeAsync(1);
  return { connection, screen };
}

const problem = (status: number, code: string) =>
  Response.json({ code, status, title: "No.", remedy: "Do not." }, { status });

// S41
describe("a terminal's connection", () => {
  it("starts a shell of the right size, prints, types and resizes", async () => {
    const { connection, screen } = await open();
    expect(new URL(FakeSocket.last.url).protocol).toBe("ws:");
    expect(Object.fromEntries(FakeSocket.last.query)).toEqual({ rows: "30", columns: "90" });
    connection.type("too early");
    FakeSocket.last.attach();
    FakeSocket.last.print("$ ");
    connection.type("é\r");
    connection.resize({ rows: 40, columns: 100 });
    expect(screen.text).toBe("$ ");
    expect(FakeSocket.last.typed).toBe("é\r");
    expect(FakeSocket.last.sent.at(-1)).toBe('{"type":"resize","rows":40,"columns":100}');
    expect(attached).toEqual([{ process: 1, startedAt: STARTED }]);
  });

  it("sends a long paste in pieces that the server takes", async () => {
    const { connection } = await open();
    FakeSocket.last.attach();
    connection.type("x".repeat(100_000));
    expect(FakeSocket.last.sent.every((piece) => piece.length <= 65_536)).toBe(true);
    expect(FakeSocket.last.typed).toHaveLength(100_000);
  });

  // S44
  it("that breaks off is made again from the last byte seen", async () => {
    const { connection, screen } = await open();
    FakeSocket.last.attach();
    FakeSocket.last.print("12345");
    FakeSocket.last.onclose?.();
    expect(connection.snapshot().phase).toBe("waiting");
    connection.type("into the void");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(FakeSocket.all).toHaveLength(2);
    expect(FakeSocket.last.query.get("process")).toBe("1");
    expect(FakeSocket.last.query.get("offset")).toBe("5");
    FakeSocket.last.attach({ offset: 5, replay_end: 8 });
    FakeSocket.last.print("678");
    expect(screen.text).toBe("12345678");
    connection.type("ok");
    expect(FakeSocket.last.typed).toBe("ok");
  });

  // S44
  it("waits for a server that is away, and says when the process did not outlive it", async () => {
    const { connection } = await open();
    FakeSocket.last.attach();
    FakeSocket.last.tell({ type: "closing", code: "shutting_down", next_offset: 0 });
    FakeSocket.last.onclose?.();
    answers = () => {
      throw new TypeError("network error");
    };
    await vi.advanceTimersByTimeAsync(30_000);
    expect(connection.snapshot().phase).toBe("waiting");
    expect(FakeSocket.all).toHaveLength(1);
    answers = () => problem(404, "process_not_found");
    await vi.advanceTimersByTimeAsync(30_000);
    expect(connection.snapshot().phase).toBe("lost");
  });

  it("does not take another process with the same number for its own", async () => {
    const { connection } = await open({ process: 1, startedAt: "2025-12-31T00:00:00Z" });
    expect(connection.snapshot().phase).toBe("lost");
    expect(FakeSocket.all).toHaveLength(0);
  });

  // sec/T08: an answer to a question in old output would be typed into whatever reads now
  it("answers no question that was printed before it came", async () => {
    const { connection, screen } = await open({ process: 1, startedAt: STARTED });
    screen.isSlow = true;
    FakeSocket.last.attach({ offset: 0, replay_end: 4 });
    FakeSocket.last.print("\x1b[c.");
    connection.type("\x1b[?1;2c");
    expect(FakeSocket.last.typed).toBe("");
    screen.catchUp();
    connection.type("ls\r");
    expect(FakeSocket.last.typed).toBe("ls\r");
  });

  it("says how the process ended, and does not come back", async () => {
    const { connection } = await open();
    FakeSocket.last.attach();
    FakeSocket.last.tell({ type: "exited", exit_code: 3, signal: null, timed_out: false });
    FakeSocket.last.onclose?.();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(connection.snapshot()).toMatchObject({ phase: "exited", exitCode: 3 });
    expect(FakeSocket.all).toHaveLength(1);
  });

  it("says where output is missing", async () => {
    const { screen } = await open();
    FakeSocket.last.attach();
    FakeSocket.last.tell({ type: "skipped", offset: 1_000 });
    FakeSocket.last.print("end");
    expect(screen.text).toContain("no longer kept");
    FakeSocket.last.onclose?.();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(FakeSocket.last.query.get("offset")).toBe("1003");
  });

  it("shows why it was refused, in the server's words", async () => {
    answers = () => problem(409, "workspace_not_ready");
    const { connection } = await open();
    FakeSocket.last.onclose?.();
    await vi.advanceTimersByTimeAsync(1);
    expect(connection.snapshot()).toMatchObject({
      phase: "failed",
      problem: { code: "workspace_not_ready" },
    });
  });

  it("starts nothing when its view is gone at once", async () => {
    const connection = new TerminalConnection(createApi(), "w1", undefined, () => undefined);
    connection.open(new FakeScreen(), { rows: 1, columns: 1 });
    connection.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.all).toHaveLength(0);
  });
});
