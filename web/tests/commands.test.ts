import { describe, expect, it } from "vitest";
import { commandOf } from "../src/features/commands/CommandForm";
import { restore } from "../src/features/commands/runs";
import { append, emptyText, KEPT_CHARS, plainText } from "../src/features/commands/terminalText";
import { splitWords } from "../src/features/commands/words";

function shown(...pieces: string[]): string {
  return plainText(pieces.reduce((text, piece) => append(text, piece, false), emptyText));
}

// S41
describe("a typed command", () => {
  it("is split into words as it is quoted, and nothing is expanded", () => {
    const split = splitWords(`ls -la 'my folder' "a \\"b\\"" c\\ d $HOME *.md ''`);
    expect(split).toEqual({
      ok: true,
      words: ["ls", "-la", "my folder", 'a "b"', "c d", "$HOME", "*.md", ""],
    });
  });

  it("is not sent while a quote is open", () => {
    expect(splitWords("echo 'half")).toEqual({ ok: false, why: "A single quote is not closed." });
    expect(commandOf("words", 'echo "half', "").ok).toBe(false);
    expect(commandOf("shell", "   ", "").ok).toBe(false);
  });

  it("is sent to the shell as it stands, in the folder named", () => {
    expect(commandOf("shell", "echo 'half", " src ")).toEqual({
      ok: true,
      body: { command: "echo 'half", cwd: "src" },
    });
  });
});

// S41
describe("what a program prints", () => {
  it("is shown without titles, links, cursor moves and clipboard writes", () => {
    const text =
      "a\x1b]0;title\x07b\x1b]8;;https://evil/\x1b\\c\x1b[2J\x1b[10;5Hd\x1b]52;c;aGk=\x07e\x1bPq\x1b\\f\x9b31mg";
    expect(shown(text)).toBe("abcdefg");
  });

  it("is the same however its sequences are cut", () => {
    const text = "one \x1b[31mred\x1b[0m \x1b]0;a title\x07two\r\nthree";
    for (let at = 0; at <= text.length; at += 1) {
      expect(shown(text.slice(0, at), text.slice(at)), `cut at ${at}`).toBe("one red two\nthree");
    }
  });

  it("keeps colours as class names from a fixed set", () => {
    const { spans } = append(emptyText, "\x1b[1;31mred\x1b[39m bold\x1b[0m\x1b[38;5;31mplain", false);
    expect(spans).toEqual([
      { text: "red", style: "out-colour-1 out-bold" },
      { text: " bold", style: "out-bold" },
      { text: "plain", style: "" },
    ]);
  });

  it("writes over a line that a progress bar starts again", () => {
    expect(shown("start\n10%\r50%", "\r", "100%\ndone")).toBe("start\n100%\ndone");
  });

  it("loses control characters and characters that turn text around", () => {
    expect(shown("a\x00b\x08c\u202Ed")).toBe("abcd");
  });

  it("is bounded, keeps the end, and counts what was left out", () => {
    let text = emptyText;
    for (let count = 0; count < 50; count += 1) text = append(text, "x".repeat(10_000), false);
    text = append(text, "the end", false);
    expect(plainText(text)).toHaveLength(KEPT_CHARS);
    expect(plainText(text).endsWith("the end")).toBe(true);
    expect(text.droppedChars).toBe(500_007 - KEPT_CHARS);
  });
});

// S46
describe("commands found again after a reload", () => {
  it("say that their end was not seen when they were under way", () => {
    const [run] = restore(JSON.stringify([{ id: "1", request: {}, startedAt: 1, output: "so far" }]));
    expect(run?.end).toMatchObject({ how: "unseen" });
    expect(run && plainText(run.output)).toBe("so far");
  });

  it("are none when what was kept cannot be read", () => {
    expect(restore("{broken")).toEqual([]);
  });
});
