import { describe, expect, it } from "vitest";
import { SseParser } from "../src/api/sse";

const stream = 'id: 1\ndata: {"a":1}\n\n: keep-alive\n\nevent: x\ndata: one\ndata: two\r\n\r\ndata:three\r\r';
const messages = [
  { id: "1", event: "message", data: '{"a":1}' },
  { id: "1", event: "x", data: "one\ntwo" },
  { id: "1", event: "message", data: "three" },
];

// S44
describe("the stream parser", () => {
  it("reads the same messages however the text is cut", () => {
    // The last CR may be half of a CRLF, so something must follow it.
    const text = `${stream}\n`;
    for (let size = 1; size <= text.length; size += 1) {
      const parser = new SseParser();
      const seen = [];
      for (let at = 0; at < text.length; at += size) seen.push(...parser.feed(text.slice(at, at + size)));
      expect(seen, `in pieces of ${size}`).toEqual(messages);
    }
  });

  it("leaves out a message that was not ended", () => {
    expect(new SseParser().feed("data: half\n")).toEqual([]);
  });

  it("ignores comments, unknown fields and a leading byte order mark", () => {
    expect(new SseParser().feed("\uFEFF: hello\nretry: 10\ncolour: red\ndata\n\n")).toEqual([
      { id: undefined, event: "message", data: "" },
    ]);
  });
});
