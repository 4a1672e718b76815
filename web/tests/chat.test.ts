import { describe, expect, it } from "vitest";
import type { ChatMessage, MessagePart, QueuedMessage, Task } from "../src/api/types";
import { attach, MAX_FILES, partsOf, withParts } from "../src/features/chat/attachments";
import { speakerOf } from "../src/features/chat/authors";
import { gist, shownPart } from "../src/features/chat/parts";
import {
  emptyThread,
  upsert,
  withEarlier,
  withLater,
  withNewest,
  withPosted,
} from "../src/features/chat/thread";
import { askingMessages, workOf } from "../src/features/chat/work";

function message(id: string, fields: Partial<ChatMessage> = {}): ChatMessage {
  return {
    id,
    conversation_id: "c",
    author: { kind: "user", id: "operator" },
    role: "user",
    parts: [{ text: id }],
    created_at: "2026-01-01T00:00:00Z",
    ...fields,
  };
}

const ids = ({ messages }: { messages: readonly ChatMessage[] }) => messages.map(({ id }) => id);

// X30
describe("a thread", () => {
  it("has each message once and in the order of ids, whichever way it came", () => {
    const shuffled = [message("3"), message("1"), message("2"), message("1")];
    expect(upsert([], shuffled).map(({ id }) => id)).toEqual(["1", "2", "3"]);
    const known = upsert([], shuffled);
    expect(upsert(known, [message("2")])).toBe(known);
  });

  it("misses nothing that was said before one's own message and is read after it", () => {
    const opened = withNewest(emptyThread, [message("1")], false);
    // Somebody said 2, then the answer to one's own 3 comes first.
    const posted = withPosted(opened, message("3"));
    expect(posted.readTo).toBe("1");
    const read = withLater(posted, [message("2"), message("3")]);
    expect(ids(read)).toEqual(["1", "2", "3"]);
    expect(read.readTo).toBe("3");
  });

  it("leaves out what lies before a gap, and reads it as earlier ones", () => {
    const posted = withPosted(emptyThread, message("1"));
    const opened = withNewest(posted, [message("9"), message("8")], true);
    expect(ids(opened)).toEqual(["8", "9"]);
    const whole = withEarlier(opened, [message("7"), message("1")], false);
    expect(ids(whole)).toEqual(["1", "7", "8", "9"]);
    expect([whole.hasEarlier, whole.readTo]).toEqual([false, "9"]);
  });

  it("that is empty stays at its beginning", () => {
    expect(withNewest(emptyThread, [], false)).toEqual(emptyThread);
    expect(withLater(withNewest(emptyThread, [message("1")], false), []).readTo).toBe("1");
  });
});

// X30, X4
describe("an author", () => {
  const called = (kind: string, id: string) =>
    speakerOf({ kind, id }, "operator", (known) => (known === "w1" ? "operator" : undefined));

  it("is a person only by the kind that the server tells, whatever it is called", () => {
    expect(called("user", "operator")).toEqual({ name: "You", kind: "person", look: "me" });
    expect(called("user", "ada").look).toBe("person");
    // A workspace that is called like the person who looks.
    expect(called("workspace", "w1")).toEqual({ name: "operator", kind: "agent", look: "agent" });
    for (const kind of ["workspace", "schedule", "channel", "system", "robot"]) {
      expect(["me", "person"]).not.toContain(called(kind, "operator").look);
      expect(called(kind, "operator").kind).not.toBe("person");
    }
  });
});

function task(id: string, state: Task["state"]): Task {
  return { id, state } as Task;
}

function waits(id: string, task_id: string, position?: number): QueuedMessage {
  return { id, task_id, position } as QueuedMessage;
}

// X30, X10
describe("the work that a message asked for", () => {
  it("tells how many are before it, as the server counts them", () => {
    const queue = [waits("1", "a", 1), waits("2", "b", 2), waits("3", "urgent", 0), waits("4", "far")];
    const noteOf = (id: string) => workOf(task(id, "submitted"), queue, "online").note;
    const notes = ["urgent", "a", "b", "far"].map(noteOf);
    expect(notes).toEqual(["next in line", "1 before it", "2 before it", undefined]);
  });

  it("tells of a workspace that takes nothing now rather than of a place in its queue", () => {
    const note = (status: "paused" | "awaiting_agent" | "hibernated") =>
      workOf(task("a", "submitted"), [waits("1", "a")], status).note;
    expect(note("paused")).toBe("the workspace is paused");
    expect(note("awaiting_agent")).toBe("the workspace is awaiting agent");
    expect(note("hibernated")).toBe("the workspace is being woken");
  });

  it("can be stopped exactly while it is not over", () => {
    const open = (["submitted", "working", "input_required", "auth_required"] as const).map(isOpen);
    const over = (["completed", "failed", "rejected", "cancelled"] as const).map(isOpen);
    expect([...open, ...over]).toEqual([true, true, true, true, false, false, false, false]);
    function isOpen(state: Task["state"]) {
      return workOf(task("a", state), [], "online").isOpen;
    }
  });

  it("is told at the last message that asked, never at an answer", () => {
    const asking = askingMessages([
      message("1", { task_id: "t" }),
      message("2", { task_id: "t", role: "agent" }),
      message("3", { task_id: "t" }),
      message("4", { task_id: "t", role: "agent" }),
      message("5", { role: "agent", task_id: "notice" }),
    ]);
    expect([...asking]).toEqual([["t", "3"]]);
  });
});

// X30: what an author wrote stays text
describe("a part", () => {
  it("is a link only to the web, and a file only of the workspace", () => {
    expect(shownPart({ url: "https://example.org/a" }).kind).toBe("link");
    expect(shownPart({ url: "workspace:out/a b.pdf" })).toMatchObject({
      path: "out/a b.pdf",
      name: "a b.pdf",
    });
    const hostile = [
      "javascript:alert(1)",
      "JAVASCRIPT:alert(1)",
      " javascript:alert(1)",
      "data:text/html,x",
      "blob:https://example.org/x",
      "file:///etc/passwd",
      "vbscript:x",
      "//example.org",
      "/api/v1/sign-in",
      "https://you@example.org/",
    ];
    for (const url of hostile) expect(shownPart({ url }), url).toEqual({ kind: "text", text: url });
  });

  it("says what was left out, and shows other data as it is", () => {
    const note = { left_out: { parts: 2, bytes: 60, see: "task" } };
    expect(shownPart({ data: note })).toEqual({ kind: "left_out", parts: 2, bytes: 60 });
    expect(shownPart({ data: { left_out: "mine" } })).toMatchObject({ kind: "data" });
    expect(shownPart({ data: null } as MessagePart)).toEqual({ kind: "data", text: "null" });
  });

  it("of a message becomes a short line without control characters", () => {
    expect(gist([{ text: "a\n\tb\u0007" }, { filename: "c.txt", raw: "" }], 20)).toBe("a b c.txt");
    expect(gist([{ text: "ü".repeat(60) }], 45)).toBe(`${"ü".repeat(44)}…`);
    expect(new TextEncoder().encode(gist([{ text: "🦊".repeat(300) }], 45)).length).toBeLessThanOrEqual(200);
  });
});

// S41
describe("files that go with a message", () => {
  it("become parts behind its words once they are uploaded, and are uploaded once", async () => {
    const files = ["a.txt", "b.txt"].map((name) => new File(["x"], name, { type: "text/plain" }));
    const [first] = files as [File, File];
    const { attached } = await attach([], [first]);
    expect(partsOf(" hi ", attached)).toEqual([{ text: "hi" }]);
    const part = { url: "workspace:uploads/1/a.txt", filename: "a.txt", media_type: "text/plain" };
    const uploaded = withParts(attached, [part]);
    expect(partsOf(" hi ", uploaded)).toEqual([{ text: "hi" }, part]);
    const { attached: more } = await attach(uploaded, files.slice(1));
    const other = { url: "workspace:uploads/2/b.txt", filename: "b.txt" };
    expect(partsOf("  ", withParts(more, [other]))).toEqual([part, other]);
  });

  it("are refused when they are too many or no files", async () => {
    const one = new File(["x"], "a.txt");
    const { attached, refusal } = await attach([], Array(MAX_FILES + 1).fill(one));
    expect([attached.length, refusal]).toEqual([MAX_FILES, "A message takes 20 files at most."]);
    const folder = { name: "src", slice: () => ({ arrayBuffer: () => Promise.reject(new Error("no")) }) };
    expect((await attach([], [folder as unknown as File])).refusal).toContain("src could not be read");
  });
});
