import { describe, expect, it } from "vitest";
import type { WarrenEvent, Workspace } from "../src/api/types";
import { withRow } from "../src/features/events/refresher";
import { madeStale, nothingStale } from "../src/features/events/staleness";

function event(kind: string, workspaceId: string | null): WarrenEvent {
  const principal = { kind: "user" as const, id: "operator" };
  const event = { seq: 1, at: "2026-01-01T00:00:00Z", kind, workspace_id: workspaceId, principal, data: {} };
  return event as unknown as WarrenEvent;
}

function row(id: string, version: number, status: Workspace["status"] = "online"): Workspace {
  return { id, version, status, name: id } as Workspace;
}

// S40
describe("what an event makes stale", () => {
  it("is the workspace's row for a change of its name or parent, and nothing of other workspaces", () => {
    const stale = madeStale(nothingStale, event("workspace.spec.changed", "a"));
    expect([...stale.workspaces]).toEqual(["a"]);
    expect([...stale.files]).toEqual([]);
  });

  it("is row and files for a change of status, since files are readable only in some", () => {
    const stale = madeStale(nothingStale, event("workspace.status.changed", "a"));
    expect([...stale.workspaces, ...stale.files]).toEqual(["a", "a"]);
  });

  it("is the workspace's files for a written file and for a finished command", () => {
    for (const kind of ["workspace.file.changed", "workspace.command.finished"]) {
      const stale = madeStale(nothingStale, event(kind, "a"));
      expect([...stale.files]).toEqual(["a"]);
      expect([...stale.workspaces]).toEqual([]);
    }
  });

  it("is the workspace's processes when one starts or ends", () => {
    for (const kind of ["workspace.process.started", "workspace.command.finished"]) {
      expect([...madeStale(nothingStale, event(kind, "a")).processes]).toEqual(["a"]);
    }
  });

  it("is the conversations when something is said or asked for, and progress alone while work goes on", () => {
    for (const kind of ["chat.message.posted", "exchange.task.changed", "chat.conversation.removed"]) {
      const stale = madeStale(nothingStale, event(kind, "a"));
      expect([[...stale.chats], [...stale.workspaces]], kind).toEqual([["a"], []]);
    }
    const working = madeStale(nothingStale, event("exchange.task.progressed", "a"));
    expect([[...working.progress], [...working.chats]]).toEqual([["a"], []]);
    expect(madeStale(nothingStale, event("exchange.approval.requested", "a")).approvals).toBe(true);
    expect([...madeStale(nothingStale, event("agent.tool_rule.revoked", "a")).toolRules]).toEqual(["a"]);
  });

  it("is the row for a kind this page does not know", () => {
    expect([...madeStale(nothingStale, event("workspace.future.thing", "a")).workspaces]).toEqual(["a"]);
  });

  it("is nothing for events without a workspace", () => {
    expect(madeStale(nothingStale, event("server.process.started", null))).toBe(nothingStale);
  });
});

// S40
describe("a row put into the list", () => {
  it("replaces its older version, never a newer one", () => {
    expect(withRow([row("a", 2)], row("a", 3, "failed"))).toEqual([row("a", 3, "failed")]);
    expect(withRow([row("a", 3)], row("a", 2, "failed"))).toEqual([row("a", 3)]);
  });

  it("is added when new and taken out when removed", () => {
    expect(withRow([row("a", 1)], row("b", 1))).toEqual([row("a", 1), row("b", 1)]);
    expect(withRow([row("a", 1)], row("a", 2, "removed"))).toEqual([]);
  });
});
