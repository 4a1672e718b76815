// @vitest-environment jsdom
import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Workspace } from "../src/api/types";
import { layout, linePath, NODE_HEIGHT, NODE_WIDTH } from "../src/features/map/layout";
import { chosenTab, homeTab } from "../src/features/workspaces/home";
import { limitRows } from "../src/features/workspaces/limits";
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

  it("are joined on the map by lines that run behind nobody else", () => {
    // Three levels, uneven, with few leaves here and many there.
    const rows = [row("lead")];
    for (let team = 0; team < 5; team += 1) {
      rows.push(row(`t${team}`, "lead"));
      for (let leaf = 0; leaf < team * 4; leaf += 1) rows.push(row(`t${team}-${leaf}`, `t${team}`));
    }
    for (let leaf = 0; leaf < 7; leaf += 1) rows.push(row(`lead-${leaf}`, "lead"));
    const places = layout(rows);
    const crossed: string[] = [];
    for (const { id, parent_id } of rows) {
      const to = places.get(id);
      const from = parent_id && places.get(parent_id);
      if (!from || !to) continue;
      const start = { x: from.x + NODE_WIDTH / 2, y: from.y + NODE_HEIGHT };
      const end =
        to.entry === "side" ? { x: to.x, y: to.y + NODE_HEIGHT / 2 } : { x: to.x + NODE_WIDTH / 2, y: to.y };
      for (const [other, at] of places) {
        if (other !== id && other !== parent_id && runsThrough(linePath(start, end, to.entry), at)) {
          crossed.push(`${parent_id} to ${id} behind ${other}`);
        }
      }
    }
    expect(crossed).toEqual([]);
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

  it("show their limits in words with units, and never as data", () => {
    const limits = {
      max_file_mb: 10,
      max_timeout_ms: 600_000,
      pass_env: [],
      box: { by: "bubblewrap", seccomp: true, limits: { memory: { mb: 512, enforced_by: "cgroup v1" } } },
      of_tomorrow_bytes: 1_073_741_824,
    };
    expect(limitRows(limits)).toEqual([
      { word: "Largest file", value: "10 MB" },
      { word: "Longest command", value: "10 min 0 s" },
      { word: "Variables of the host", value: "none" },
      { word: "Box by", value: "bubblewrap" },
      { word: "System calls filtered", value: "yes" },
      { word: "Memory", value: "512 MB", note: "cgroup v1" },
      { word: "Of tomorrow", value: "1.1 GB" },
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
    const registry = await screen.findByRole("region", { name: "Its place" });
    expect(registry.textContent).toContain("open");
    const limits = screen.getByRole("region", { name: "What holds for it" }).textContent;
    expect(limits).toContain("10 MB");
    expect(limits).not.toContain("{");
  });
});

/** Whether a path of straight lines crosses the inside of a node. */
function runsThrough(path: string, { x, y }: { x: number; y: number }): boolean {
  let at = { x: 0, y: 0 };
  for (const [, kind, a, b] of path.matchAll(/([MHV]) (-?[\d.]+)(?: (-?[\d.]+))?/g)) {
    const to =
      kind === "M"
        ? { x: Number(a), y: Number(b) }
        : kind === "H"
          ? { ...at, x: Number(a) }
          : { ...at, y: Number(a) };
    const isInside =
      Math.min(at.x, to.x) < x + NODE_WIDTH &&
      Math.max(at.x, to.x) > x &&
      Math.min(at.y, to.y) < y + NODE_HEIGHT &&
      Math.max(at.y, to.y) > y;
    if (kind !== "M" && isInside) return true;
    at = to;
  }
  return false;
}
