import { describe, expect, it } from "vitest";
import { editState, keptMine, parseDraft, typed } from "../src/features/files/editing";
import { ancestorsOf, folderOf, join, nameOf } from "../src/features/files/paths";
import { contentOf, fileUrl, SHOWN_BYTES } from "../src/features/files/wire";

// S41
describe("editing a file", () => {
  it("is clean until something is typed, and again when it is typed back", () => {
    const draft = typed(undefined, "saved", "saved!");
    expect(editState(draft, "saved")).toBe("dirty");
    expect(typed(draft, "saved", "saved")).toBeUndefined();
  });

  it("is a conflict when the file changed underneath, until one of the two is chosen", () => {
    const draft = typed(undefined, "old", "mine");
    expect(draft && editState(draft, "theirs")).toBe("conflict");
    expect(draft && editState(keptMine(draft, "theirs"), "theirs")).toBe("dirty");
  });

  it("is no conflict when somebody else wrote the very same text", () => {
    expect(editState({ text: "same", base: "old" }, "same")).toBe("clean");
  });

  it("finds its draft again, and nothing in what is not a draft", () => {
    expect(parseDraft(JSON.stringify({ text: "a", base: "b" }))).toEqual({ text: "a", base: "b" });
    for (const broken of [undefined, "", "null", "[]", '{"text":1,"base":"b"}', "{"]) {
      expect(parseDraft(broken)).toBeUndefined();
    }
  });
});

// S41
describe("a file's bytes", () => {
  it("are shown as text only when they are UTF-8 without NUL and not too many", () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    expect(contentOf(bytes("grüß \uFEFF"))).toEqual({ kind: "text", text: "grüß \uFEFF" });
    expect(contentOf(bytes("a\0b")).kind).toBe("binary");
    expect(contentOf(new Uint8Array([0xff, 0xfe, 0x41])).kind).toBe("binary");
    expect(contentOf(new Uint8Array(SHOWN_BYTES + 1).fill(65)).kind).toBe("large");
  });

  it("keep a byte order mark, so that saving changes nothing else", () => {
    expect(contentOf(new Uint8Array([0xef, 0xbb, 0xbf, 0x41]))).toEqual({ kind: "text", text: "\uFEFFA" });
  });
});

// S41
describe("paths", () => {
  it("have names, folders and ancestors", () => {
    expect([nameOf("a/b/c.txt"), folderOf("a/b/c.txt"), folderOf("c.txt")]).toEqual(["c.txt", "a/b", ""]);
    expect(ancestorsOf("a/b/c.txt")).toEqual(["a", "a/b"]);
    expect([join("", "x"), join("a", "x")]).toEqual(["x", "a/x"]);
  });

  it("travel as one query value, whatever is in them", () => {
    expect(fileUrl("w", "a&b=c#d/ü %.txt")).toBe(
      "/api/v1/workspaces/w/files?path=a%26b%3Dc%23d%2F%C3%BC+%25.txt",
    );
  });
});
