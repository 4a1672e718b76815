// @vitest-environment jsdom
import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { FakeWarren } from "./fakeWarren";
import { openPage } from "./page";

/** A workspace's line in the side bar, as text. */
function line(name: string): string {
  const list = screen.getByRole("list", { name: "Workspaces" });
  return within(list).getByRole("link", { name: new RegExp(`^${name}`) }).textContent ?? "";
}

// S40
describe("the live list", () => {
  it("shows each workspace with its status and reason, and follows events", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den", status: "provisioning", reason: "The place is being made." });
    openPage(warren);
    await waitFor(() => expect(line("den")).toContain("Provisioning · The place is being made."));
    await waitFor(() => expect(warren.openStreams).toBe(1));
    Object.assign(den, { status: "online", reason: null, version: 2 });
    warren.emit("workspace.status.changed", den.id, { to: "online" });
    await waitFor(() => expect(line("den")).toContain("Online"));
  });

  it("reads only the changed workspace again, not the whole list", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.add({ name: "nest" });
    openPage(warren, "/events");
    await screen.findByText("Live");
    warren.calls.length = 0;
    Object.assign(den, { status: "failed", version: 2 });
    warren.emit("workspace.status.changed", den.id, { to: "failed" });
    await waitFor(() => expect(line("den")).toContain("Failed"));
    expect(warren.calls).toEqual([`GET /api/v1/workspaces/${den.id}?include_removed=true`]);
  });

  it("is found by words of name, status and reason", async () => {
    const warren = new FakeWarren();
    warren.add({ name: "den", status: "failed", reason: "disk full" });
    warren.add({ name: "nest" });
    const { user } = openPage(warren);
    const search = await screen.findByRole("searchbox", { name: "Search workspaces" });
    await waitFor(() => line("nest"));
    await user.keyboard("{Control>}k{/Control}");
    expect(document.activeElement).toBe(search);
    await user.keyboard("failed disk");
    const list = screen.getByRole("list", { name: "Workspaces" });
    expect(within(list).getAllByRole("link")).toHaveLength(1);
    await user.clear(search);
    await user.type(search, "zebra");
    expect(screen.getByText("Nothing matches “zebra”")).toBeTruthy();
  });

  it("says what to do first when there is nothing", async () => {
    openPage(new FakeWarren());
    expect(await screen.findByRole("button", { name: "Create your first workspace" })).toBeTruthy();
  });
});

// S44
describe("a server that goes away", () => {
  it("is told at once, and forgotten when it is back with everything asked again", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    const { user } = openPage(warren, `/workspaces/${den.id}/run`);
    await screen.findByText("Live");
    await user.type(screen.getByLabelText("Command"), "make all");

    warren.die();
    expect(await screen.findByText(/Connection lost. Reconnecting…/)).toBeTruthy();
    expect(document.querySelector(".shell")?.hasAttribute("data-stale")).toBe(true);

    Object.assign(den, { status: "degraded", version: 2 });
    warren.emit("workspace.status.changed", den.id, { to: "degraded" });
    warren.isDown = false;
    await user.click(await screen.findByRole("button", { name: "Try now" }));
    await waitFor(() => expect(screen.queryByText(/Reconnecting…|catching up…/)).toBeNull());
    expect(document.querySelector(".shell")?.hasAttribute("data-stale")).toBe(false);
    expect(line("den")).toContain("Degraded");
    expect(screen.getByLabelText<HTMLTextAreaElement>("Command").value).toBe("make all");
  });

  it("is asked for the events after the last one seen, and none is shown twice", async () => {
    const warren = new FakeWarren();
    warren.emit("server.process.started", null, { version: "0.1.0" });
    openPage(warren, "/events");
    await screen.findByText("Live");
    warren.emit("identity.token.revoked");
    await screen.findByText("A token was revoked");
    warren.die();
    await screen.findByText(/Connection lost/);
    warren.emit("server.process.started", null, { version: "0.1.1" });
    warren.isDown = false;
    await screen.findByText("Warren 0.1.1 started");
    expect(warren.calls).toContain("GET /api/v1/events?after=2");
    const lines = document.querySelectorAll("[data-seq]");
    expect([...lines].map((line) => line.getAttribute("data-seq"))).toEqual(["3", "2", "1"]);
  });

  it("that cannot reach its database says what is wrong and what to do, and recovers by itself", async () => {
    const warren = new FakeWarren();
    warren.add({ name: "den" });
    openPage(warren, "/events");
    await screen.findByText("Live");
    warren.refusal = {
      code: "platform_unavailable",
      status: 503,
      title: "Warren cannot reach its database.",
      remedy: "Check the database; Warren recovers by itself when it is back.",
    };
    warren.die();
    warren.isDown = false;
    expect(await screen.findByText("Warren cannot reach its database.")).toBeTruthy();
    expect(screen.getByText(/Check the database/)).toBeTruthy();
    expect(screen.getByText("Warren is waiting for its database.")).toBeTruthy();
    warren.refusal = undefined;
    await waitFor(() => expect(screen.queryByText("Warren cannot reach its database.")).toBeNull());
  });
});
