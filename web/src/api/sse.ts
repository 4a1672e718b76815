// Server-sent events over fetch. EventSource hides the status of a refused stream and cannot POST, and both are
// needed here: a 401 must lead to the sign-in page, and commands stream their output as the answer to a POST.

export interface SseMessage {
  id: string | undefined;
  event: string;
  data: string;
}

/** An incremental parser: feed it text in any pieces, take whole messages out. */
export class SseParser {
  private buffer = "";
  private data: string[] = [];
  private event = "";
  private id: string | undefined;
  private atStart = true;

  feed(text: string): SseMessage[] {
    if (this.atStart && text !== "") {
      this.atStart = false;
      text = text.replace(/^\uFEFF/, "");
    }
    this.buffer += text;
    const messages: SseMessage[] = [];
    let line = this.takeLine();
    while (line !== undefined) {
      const message = this.readLine(line);
      if (message) messages.push(message);
      line = this.takeLine();
    }
    return messages;
  }

  /** A line ends at LF, CRLF or CR. A CR at the end of the buffer may be half of a CRLF, so it waits. */
  private takeLine(): string | undefined {
    const end = this.buffer.search(/[\r\n]/);
    if (end < 0) return undefined;
    const isReturn = this.buffer[end] === "\r";
    if (isReturn && end === this.buffer.length - 1) return undefined;
    const width = isReturn && this.buffer[end + 1] === "\n" ? 2 : 1;
    const line = this.buffer.slice(0, end);
    this.buffer = this.buffer.slice(end + width);
    return line;
  }

  private readLine(line: string): SseMessage | undefined {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    return undefined;
  }

  private dispatch(): SseMessage | undefined {
    const { data, event, id } = this;
    this.data = [];
    this.event = "";
    if (data.length === 0) return undefined;
    return { id, event: event || "message", data: data.join("\n") };
  }
}

/**
 * Yields the messages of a streamed answer. Ends when the server ends it; throws when the connection breaks or
 * the caller's signal aborts it. `onBytes` is told of every arrival, keep-alive comments included.
 */
export async function* sseMessages(response: Response, onBytes?: () => void): AsyncGenerator<SseMessage> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new SseParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes?.();
      yield* parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
