// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { Session, Task, Workspace } from "../src/api/types";
import { ownDrafts, readDraft, writeDraft } from "../src/components/draft";
import { byTag, curlOf, type Document, found, operationsOf, typeOf } from "../src/features/apiDocs/document";
import { actionOf, factsOf, targetOf } from "../src/features/audit/words";
import { cameByItself, messagesOf, titleOf } from "../src/features/chat/otherWork";
import { saidOnce, workOf } from "../src/features/chat/work";
import { userChange } from "../src/features/people/words";
import { formOf, timesFrom } from "../src/features/schedules/words";
import { isKept, scopesFor } from "../src/features/settings/words";
import { atWork } from "../src/features/workspaces/atWork";

const task = (fields: Partial<Task> = {}) =>
  ({
    id: "t1",
    workspace_id: "w1",
    context_id: "c1",
    author: { kind: "schedule", id: "s1" },
    state: "completed",
    status_message: null,
    history: [{ id: "m1", role: "user", parts: [{ text: "Say how it goes." }] }],
    artifacts: [{ id: "a1", parts: [{ text: "Well." }] }],
    created_at: "2026-11-18T10:00:00Z",
    updated_at: "2026-11-18T10:00:05Z",
    ...fields,
  }) as unknown as Task;

// X40, X20
describe("work that came by itself", () => {
  it("is what no person asked for in a conversation", () => {
    expect(cameByItself(task(), new Set())).toBe(true);
    expect(cameByItself(task(), new Set(["c1"]))).toBe(false);
    expect(cameByItself(task({ author: { kind: "user", id: "u" } as never }), new Set())).toBe(false);
  });

  it("is read like a conversation: what was asked, and what was answered", () => {
    expect(titleOf(task())).toBe("Say how it goes.");
    const said = messagesOf(task()).map(({ author, parts }) => [author.kind, parts[0]?.text]);
    expect(said).toEqual([
      ["schedule", "Say how it goes."],
      ["workspace", "Well."],
    ]);
    const failed = task({
      state: "failed",
      artifacts: [],
      status_message: { id: "m2", role: "agent", parts: [{ text: "invalid api key" }] } as never,
    });
    expect(messagesOf(failed).at(-1)?.parts[0]?.text).toBe("invalid api key");
  });
});

// X30
it("what came to nothing can be said again, and its reason stands once", () => {
  const failed = task({ state: "failed", status_message: { parts: [{ text: "why" }] } as never });
  const work = workOf(failed, [], "online");
  expect(work).toMatchObject({ note: "why", canBeSaidAgain: true });
  expect(saidOnce(work, new Set(["t1"])).note).toBeUndefined();
  expect(saidOnce(work, new Set())).toBe(work);
  expect(workOf(task(), [], "online").canBeSaidAgain).toBeUndefined();
});

// S40
it("what one person typed is not there for the next in the same tab", () => {
  ownDrafts("ada");
  writeDraft("chat", "a half sentence");
  ownDrafts("grace");
  expect(readDraft("chat")).toBeUndefined();
  ownDrafts("ada");
  expect(readDraft("chat")).toBe("a half sentence");
  writeDraft("chat", undefined);
});

// F9
it("only what is different about a person is sent", () => {
  const user = { display_name: "Ada", name: "ada", role: "member", is_admin: false } as never;
  const same = { display_name: "Ada", name: "ada", role: "member" as const, is_admin: false };
  expect(userChange(user, same)).toEqual({});
  expect(userChange(user, { ...same, display_name: "Ada L.", is_admin: true })).toEqual({
    display_name: "Ada L.",
    is_admin: true,
  });
});

// F35
it("an entry of the audit log is words and names", () => {
  expect(actionOf("workspace.isolation_relaxed")).toBe("workspace: isolation relaxed");
  const target = { kind: "workspace", id: "01a1eebe-60ea-7cfc-9a2a-16ba93993c19" };
  const nobody = () => undefined;
  expect(targetOf({ target, details: { name: "den" } as never }, nobody)).toBe("workspace den");
  expect(targetOf({ target, details: {} as never }, () => "nest")).toBe("workspace nest");
  expect(targetOf({ target, details: {} as never }, nobody)).toBe("workspace 993c19");
  expect(factsOf({ details: { by: "ada", name: "x", tier: "basic", template: null } as never })).toEqual([
    ["tier", "basic"],
  ]);
});

// X40
it("a schedule's form becomes times, and back", () => {
  const form = formOf({ every_seconds: 7_200 } as never);
  expect(form).toMatchObject({ way: "every", count: "2", unit: "hours" });
  expect(timesFrom(form)).toEqual({ every_seconds: 7_200 });
  expect(timesFrom({ ...form, count: "0" })).toBeUndefined();
  expect(timesFrom({ ...form, way: "cron", cron: " 0 9 * * * ", zone: "" })).toEqual({
    cron: "0 9 * * *",
    time_zone: "UTC",
  });
});

// F30
it("a token is asked for with no more than whoever makes it may", () => {
  expect(scopesFor("read", ["workspaces:read"])).toEqual(["workspaces:read"]);
  expect(scopesFor("all", ["a", "b"])).toEqual(["a", "b"]);
  expect(isKept({ kind: "login" } as never)).toBe(false);
  expect(isKept({ kind: "user" } as never)).toBe(true);
});

// S41
it("the overview tells who works on what, and who waits first", () => {
  const sessions = [
    { id: "1", workspace_id: "w", name: "a", title: "", agent: "x", status: "running", updated_at: "2" },
    {
      id: "2",
      workspace_id: "w",
      name: "b",
      title: "Deploy",
      agent: "y",
      status: "suspended",
      updated_at: "1",
    },
  ].map((one) => ({ ...one, total_usage: { cost_micros: 1_500_000 }, suspension: { by: "approval" } }));
  const workspaces = [
    { id: "w", name: "den", vitals: null },
    { id: "v", name: "nest", role: null, vitals: { active_tasks: 2, current_task: null } },
  ];
  const rows = atWork(workspaces as unknown as Workspace[], sessions as unknown as Session[]);
  expect(rows.map(({ workspace, what, state }) => [workspace, what, state])).toEqual([
    ["den", "Deploy", "waits for an approval"],
    ["den", "a", "running"],
    ["nest", "2 tasks", "working"],
  ]);
  expect(rows[0]?.spent).toBe("1.50");
});

// S20
describe("the page about the API", () => {
  const document: Document = {
    paths: {
      "/api/v1/things/{id}": {
        get: { operationId: "show_thing", tags: ["things"], summary: "Show a thing.", parameters: [] },
        put: {
          operationId: "put_thing",
          tags: ["things"],
          security: [{}],
          requestBody: {
            content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
          },
        },
      },
    },
    components: {
      schemas: {
        Thing: {
          required: ["name"],
          properties: {
            name: { type: "string", description: "Its own." },
            many: { type: ["array", "null"], items: { type: "integer" } },
          },
        },
      },
    },
  };

  it("tells operations with what goes in, and a call to paste", () => {
    const [show, put] = operationsOf(document);
    expect(put?.body).toEqual([
      { name: "name", type: "string", isRequired: true, note: "Its own." },
      { name: "many", type: "integer[] | null", isRequired: false, note: "" },
    ]);
    expect(show && curlOf(show, "http://x")).toContain('Bearer $WARREN_TOKEN"');
    const call = put && curlOf(put, "http://x");
    expect(call).toContain('-d \'{"name":"…"}\'');
    expect(call).not.toContain("Bearer");
    expect(typeOf({ oneOf: [{ $ref: "#/a/B" }, { type: "null" }] })).toBe("B | null");
  });

  it("finds them by words, by subject", () => {
    const all = operationsOf(document);
    expect(found(all, "PUT thing").map(({ id }) => id)).toEqual(["put_thing"]);
    expect(byTag(all).map(([tag, of]) => [tag, of.length])).toEqual([["things", 2]]);
  });
});
