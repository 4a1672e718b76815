// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { SessionStream, type StreamListener } from "../src/features/sessions/stream";

type Stream = ReadableStreamDefaultController<Uint8Array>;

/** A server with one session: its entries, its open streams, and switches. */
class FakeSession {
  readonly asked: string[] = [];
  refusal: { status: number; code: string } | undefined;
  private readonly streams = new Set<Stream>();
  private readonly entries: string[] = [];

  readonly fetch = async (call: Request): Promise<Response> => {
    const url = new URL(call.url);
    this.asked.push(url.pathname + url.search);
    if (this.refusal) {
      const { status, code } = this.refusal;
      return new Response(JSON.stringify({ code, status, title: code, remedy: "" }), { status });
    }
    const after = Number(url.searchParams.get("after"));
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        for (const entry of this.entries.slice(after)) stream.enqueue(encoded(entry));
        this.streams.add(stream);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  tell(fields: Record<string, unknown>): void {
    const sequence = this.entries.length + 1;
    const entry = JSON.stringify({ sequence, at: "2026-01-01T00:00:00Z", ...fields });
    this.entries.push(entry);
    for (const stream of this.streams) stream.enqueue(encoded(entry));
  }

  say(text: string): void {
    this.tell({ type: "text_delta", step: 1, block: 0, text });
  }

  /** As a server that is killed, or that stops and says so. */
  breakOff(last?: string): void {
    for (const stream of this.streams) {
      if (last) stream.enqueue(encoded(last, "closing"));
      if (last) stream.close();
      else stream.error(new TypeError("network error"));
    }
    this.streams.clear();
  }
}

function encoded(data: string, event = "entry"): Uint8Array {
  return new TextEncoder().encode(`event: ${event}\ndata: ${data}\n\n`);
}

function followed(server: FakeSession, listener: Partial<StreamListener> = {}) {
  vi.stubGlobal("fetch", server.fetch);
  const all = { onChanged: () => undefined, onSignedOut: () => undefined, ...listener };
  const stream = new SessionStream("first:1", all, () => 0);
  stops.push(stream.start());
  const text = () =>
    stream
      .snapshot()
      .transcript.items.flatMap((item) =>
        item.kind === "step"
          ? [...item.blocks.values()].map((block) => (block.kind === "call" ? "" : block.text))
          : [],
      );
  return { stream, text };
}

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
  vi.unstubAllGlobals();
});

// A60, S46
describe("a session that is followed", () => {
  it("resumes behind the last entry after a break, and shows no piece twice", async () => {
    const server = new FakeSession();
    server.say("one ");
    const { stream, text } = followed(server);
    await vi.waitFor(() => expect(text()).toEqual(["one "]));
    expect(stream.snapshot().phase).toBe("live");
    server.say("two ");
    await vi.waitFor(() => expect(text()).toEqual(["one two "]));
    server.breakOff();
    await vi.waitFor(() => expect(stream.snapshot().phase).not.toBe("live"));
    server.say("three");
    await vi.waitFor(() => expect(text()).toEqual(["one two three"]));
    expect(server.asked).toEqual([
      "/api/v1/sessions/first%3A1/stream?after=0",
      "/api/v1/sessions/first%3A1/stream?after=2",
    ]);
  });

  it("goes on after a server that stopped and said so", async () => {
    const server = new FakeSession();
    const { stream, text } = followed(server);
    await vi.waitFor(() => expect(stream.snapshot().phase).toBe("live"));
    server.breakOff('{"type":"closing","code":"shutting_down"}');
    server.say("back");
    await vi.waitFor(() => expect(text()).toEqual(["back"]));
  });

  it("has what is around it read again for what changes it, and not for each piece of text", async () => {
    const server = new FakeSession();
    const onChanged = vi.fn();
    const { text } = followed(server, { onChanged });
    await vi.waitFor(() => expect(onChanged).toHaveBeenCalledTimes(1));
    for (let piece = 0; piece < 20; piece += 1) server.say("x");
    await vi.waitFor(() => expect(text()).toEqual(["x".repeat(20)]));
    expect(onChanged).toHaveBeenCalledTimes(1);
    server.tell({ type: "suspended", by: "approval", reason: "a person decides" });
    await vi.waitFor(() => expect(onChanged).toHaveBeenCalledTimes(2));
  });

  it("that is gone is not asked for again, and one that was signed out says so", async () => {
    const server = new FakeSession();
    server.refusal = { status: 404, code: "session_not_found" };
    const { stream } = followed(server);
    await vi.waitFor(() => expect(stream.snapshot().phase).toBe("gone"));
    const out = new FakeSession();
    out.refusal = { status: 401, code: "token_expired" };
    const onSignedOut = vi.fn();
    followed(out, { onSignedOut });
    await vi.waitFor(() => expect(onSignedOut).toHaveBeenCalledTimes(1));
    expect([server.asked.length, out.asked.length]).toEqual([1, 1]);
  });
});
