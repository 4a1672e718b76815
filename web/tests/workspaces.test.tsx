// @vitest-environment jsdom
import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Workspace } from "../src/api/types";
import { layout, NODE_HEIGHT, NODE_WIDTH } from "../src/features/map/layout";
import { limitRows } from "../src/features/workspaces/HealthTab";
import { chosenTab, homeTab } from "../src/features/workspaces/home";
import { asTree, needingAttention } from "../src/features/workspaces/order";
import { outside } from "../src/features/workspaces/ParentSelect";
import { FakeWarren } from "./fakeWarren";
import { openPage } from "./page";

function row(id: string, parent: string | null = null, status: Workspace["status"] = "online"): Workspace {
  return { id, name: id, parent_id: parent, status } as Workspace;
}

// S40
describe("workspaces in order", () => {
  it("stand beneath their parents, and as roots when the parent is not there", () => {
    const tree = asTree([row("b", "a"), row("c", "gone"), row("a"), row("a10"), row("a9")]);
    expect(tree.map(({ workspace, depth }) => `${depth}${workspace.id}`)).toEqual([
      "0a",
      "1b",
      "0a9",
      "0a10",
      "0c",
    ]);
  });

  it("do not hang the page when they form a circle", () => {
    expect(asTree([row("a", "b"), row("b", "a")])).toEqual([]);
    expect(layout([row("a", "b"), row("b", "a")]).size).toBe(0);
  });

  it("cannot be put beneath themselves or what hangs on them", () => {
    const tree = asTree([row("a"), row("b", "a"), row("c", "b"), row("d")]);
    expect(outside(tree, "a").map(({ workspace }) => workspace.id)).toEqual(["d"]);
    expect(outside(tree, undefined)).toHaveLength(4);
  });

  it("are listed for attention worst first", () => {
    const rows = [row("a", null, "offline"), row("b"), row("c", null, "failed"), row("d", null, "degraded")];
    expect(needingAttention(rows).map(({ id }) => id)).toEqual(["c", "d", "a"]);
  });

  it("never overlap on the map, not even a thousand of them", () => {
    const rows = Array.from({ length: 1_000 }, (_, index) =>
      row(String(index), index % 7 === 0 ? null : String(index - (index % 7))),
    );
    const places = [...layout(rows).values()];
    expect(places).toHaveLength(1_000);
    const cells = new Set(places.map(({ x, y }) => `${x},${y}`));
    expect(cells.size).toBe(1_000);
    const near = (a: { x: number; y: number }, b: { x: number; y: number }) =>
      Math.abs(a.x - b.x) < NODE_WIDTH && Math.abs(a.y - b.y) < NODE_HEIGHT;
    for (const [index, a] of places.entries()) {
      expect(places.slice(index + 1).some((b) => near(a, b))).toBe(false);
    }
  });

  it("show their limits in words with units", () => {
    expect(limitRows({ max_file_mb: 10, max_timeout_ms: 5, pass_env: ["A"] })).toEqual([
      ["Max file", "10 MB"],
      ["Max timeout", "5 ms"],
      ["Pass env", '["A"]'],
    ]);
  });
});

// S41
describe("the dialogs", () => {
  it("create a workspace with the provider that was chosen and open it", async () => {
    const warren = new FakeWarren();
    const { user } = openPage(warren);
    await user.click(await screen.findByRole("button", { name: "New workspace" }));
    const dialog = await screen.findByRole("dialog", { name: "New workspace" });
    expect(await within(dialog).findByText("Gone when Warren stops.")).toBeTruthy();
    await user.type(within(dialog).getByLabelText("Name"), "den");
    await user.click(within(dialog).getByRole("radio", { name: /memory/ }));
    await user.click(within(dialog).getByRole("button", { name: "Create workspace" }));
    expect(await screen.findByRole("heading", { name: "den" })).toBeTruthy();
    expect(warren.workspaces[0]?.provider).toEqual({ kind: "memory" });
    expect(window.location.pathname).toBe(`/workspaces/${warren.workspaces[0]?.id}/files`);
  });

  it("show the server's refusal with its code and request, and keep what was typed", async () => {
    const warren = new FakeWarren();
    const { user } = openPage(warren);
    await user.click(await screen.findByRole("button", { name: "New workspace" }));
    const name = await screen.findByLabelText<HTMLInputElement>("Name");
    await user.type(name, "d\u0007n");
    await user.click(screen.getByRole("button", { name: "Create workspace" }));
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("name: control characters");
    expect(alert.textContent).toContain("invalid_request");
    expect(alert.textContent).toContain("req-7");
    expect(name.value).toBe("d\u0007n");
  });

  it("keep a half-typed name when they are closed and opened again", async () => {
    const { user } = openPage(new FakeWarren());
    await user.click(await screen.findByRole("button", { name: "New workspace" }));
    await user.type(await screen.findByLabelText("Name"), "half");
    await user.click(screen.getByRole("button", { name: "Cancel" }));
    await user.click(screen.getByRole("button", { name: "New workspace" }));
    expect((await screen.findByLabelText<HTMLInputElement>("Name")).value).toBe("half");
  });

  it("delete only when the name is typed", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    const { user } = openPage(warren, `/workspaces/${den.id}/health`);
    await user.click(await screen.findByRole("button", { name: "Delete workspace" }));
    const confirm = screen.getByRole<HTMLButtonElement>("button", { name: "Delete for good" });
    const field = screen.getByLabelText("Type the workspace’s name to confirm");
    await user.type(field, "de{Enter}");
    expect(confirm.disabled).toBe(true);
    expect(warren.workspaces).toHaveLength(1);
    await user.type(field, "n{Enter}");
    await waitFor(() => expect(warren.workspaces).toHaveLength(0));
    await waitFor(() => expect(window.location.pathname).toBe("/"));
  });

  it("send only what was changed when a workspace is edited", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    const nest = warren.add({ name: "nest" });
    const { user } = openPage(warren, `/workspaces/${den.id}/files`);
    await user.click(await screen.findByRole("button", { name: "Edit" }));
    await user.selectOptions(screen.getByLabelText("Parent"), nest.id);
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(warren.workspaces[0]).toMatchObject({ name: "den", parent_id: nest.id }));
  });
});

// X30, S41
describe("where a workspace opens", () => {
  it("is the chat where somebody is there to be talked to, and the files elsewhere", () => {
    const agent = { ...row("a"), runtime: "hosted", agent: { name: "scribe" } } as unknown as Workspace;
    expect(homeTab({ runtime: "hosted" })).toBe("files");
    expect(homeTab(agent)).toBe("chat");
    for (const runtime of ["resident", "external"] as const) expect(homeTab({ runtime })).toBe("chat");
  });

  it("is the tab that somebody chose in the one before, unless it was there by itself", () => {
    expect(chosenTab("files", { runtime: "hosted" })).toBeUndefined();
    expect(chosenTab("chat", { runtime: "resident" })).toBeUndefined();
    expect(chosenTab("files", { runtime: "resident" })).toBe("files");
    expect(chosenTab("activity", { runtime: "hosted" })).toBe("activity");
  });

  it("holds for the list, and for an address that names no tab", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    const scribe = warren.add({ name: "scribe", runtime: "resident" });
    const { user } = openPage(warren, `/workspaces/${den.id}`);
    await waitFor(() => expect(window.location.pathname).toBe(`/workspaces/${den.id}/files`));
    await user.click(await screen.findByRole("link", { name: /scribe/ }));
    expect(window.location.pathname).toBe(`/workspaces/${scribe.id}/chat`);
    await user.click(await screen.findByRole("link", { name: "Activity" }));
    await user.click(await screen.findByRole("link", { name: /den/ }));
    expect(window.location.pathname).toBe(`/workspaces/${den.id}/activity`);
  });
});

// S41
describe("a workspace's page", () => {
  it("says that a workspace is gone instead of showing the last of it", async () => {
    openPage(new FakeWarren(), "/workspaces/0190a000-0000-7000-8000-00000000dead/files");
    expect((await screen.findByRole("alert")).textContent).toContain("workspace_not_found");
  });

  it("shows what the registry knows", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    openPage(warren, `/workspaces/${den.id}/health`);
    const registry = await screen.findByRole("region", { name: "Registry" });
    expect(registry.textContent).toContain("open");
    expect(screen.getByRole("region", { name: "Limits" }).textContent).toContain("10 MB");
  });
});
