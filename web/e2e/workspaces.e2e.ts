import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, operator } from "./browser";
import { Warren } from "./warren";
import type { Workspace } from "./wire";

let warren: Warren;
let browser: Browser;
beforeAll(async () => {
  warren = await Warren.start();
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  await warren?.stop();
});

/** A workspace's line in the side bar. */
const line = (page: Page, name: string) =>
  page.getByRole("list", { name: "Workspaces" }).getByRole("link", { name: new RegExp(`^${name}`) });

// S40, S41, S46
describe("workspaces", () => {
  it("are created in the page and seen to come online", async () => {
    const { page, faults, strangers } = await operator(browser, warren);
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name").fill("den");
    await page.getByRole("radio", { name: /^local/ }).check();
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.getByRole("heading", { name: "den" }).waitFor();
    await line(page, "den").getByText("Online").waitFor();
    expect(faults).toEqual([]);
    expect(strangers).toEqual([]);
  });

  it("can be created with the keyboard alone", async () => {
    const { page } = await operator(browser, warren);
    await page.keyboard.press("Control+k");
    await tabTo(page, "New workspace");
    await page.keyboard.press("Enter");
    await page.getByLabel("Name").waitFor();
    await page.keyboard.type("by-keyboard");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "by-keyboard" }).waitFor();
    await line(page, "by-keyboard").getByText("Online").waitFor();
  });

  it("made, changed and removed elsewhere appear, change and go without a reload", async () => {
    const { page } = await operator(browser, warren);
    const made = await warren.create("from-elsewhere");
    await line(page, "from-elsewhere").getByText("Online").waitFor();
    await warren.api("PATCH", `/workspaces/${made.id}`, { desired: "paused" });
    await line(page, "from-elsewhere").getByText("Paused").waitFor();
    await warren.api("DELETE", `/workspaces/${made.id}`);
    await line(page, "from-elsewhere").waitFor({ state: "detached" });
  });

  it("are paused, resumed, sent to sleep and woken from their page", async () => {
    const made = await warren.create("sleeper");
    const { page } = await operator(browser, warren, `/workspaces/${made.id}/health`);
    await page.getByRole("button", { name: "Pause" }).click();
    await line(page, "sleeper").getByText("Paused").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await line(page, "sleeper").getByText("Online").waitFor();
    await page.getByRole("button", { name: "Hibernate" }).click();
    await line(page, "sleeper").getByText("Hibernated").waitFor();
    await page.getByRole("button", { name: "Wake" }).click();
    await line(page, "sleeper").getByText("Online").waitFor();
  });

  it("show the server's words when the input is wrong, and keep what was typed", async () => {
    const { page } = await operator(browser, warren);
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name").fill(" spaced ");
    await page.getByRole("button", { name: "Create workspace" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("invalid_request").waitFor();
    await alert.getByText(/^name/).waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe(" spaced ");
  });

  it("are deleted once their name is typed, with what is below them", async () => {
    const made = await warren.create("doomed");
    await warren.create("doomed-child", { parent_id: made.id });
    const { page } = await operator(browser, warren, `/workspaces/${made.id}/health`);
    await page.getByRole("button", { name: "Delete workspace" }).click();
    await page.getByText(/with the workspace below it/).waitFor();
    const confirm = page.getByRole("button", { name: "Delete for good" });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel(/to confirm/).fill("doomed");
    await confirm.click();
    await line(page, "doomed$").waitFor({ state: "detached" });
    await line(page, "doomed-child").waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe("/");
    await page.goto(`${warren.url}/workspaces/${made.id}/files`);
    await page.getByRole("alert").getByText("workspace_not_found").waitFor();
  });

  it("stand on the map beneath their parents, with status and reason, and open from there", async () => {
    const parent = await warren.create("map-parent");
    const child = await warren.create("map-child", { parent_id: parent.id });
    const { page, faults } = await operator(browser, warren, "/map");
    const top = await page.locator(`.react-flow__node[data-id="${parent.id}"]`).boundingBox();
    const below = await page.locator(`.react-flow__node[data-id="${child.id}"]`).boundingBox();
    expect(top && below && below.y > top.y + top.height).toBe(true);
    await page
      .locator(`.react-flow__edge[data-id="${parent.id}-${child.id}"]`)
      .waitFor({ state: "attached" });
    await page.locator(`.react-flow__node[data-id="${child.id}"]`).getByText("Online").waitFor();
    await page.locator(`.react-flow__node[data-id="${child.id}"] a`).press("Enter");
    await page.getByRole("heading", { name: "map-child" }).waitFor();
    expect(faults).toEqual([]);
  });

  it("are put beneath another by dragging them onto it, once that is confirmed", async () => {
    const parent = await warren.create("drag-parent");
    const child = await warren.create("drag-child");
    const { page } = await operator(browser, warren, "/map");
    const centre = async (id: string) => {
      const box = await page.locator(`.react-flow__node[data-id="${id}"]`).boundingBox();
      if (!box) throw new Error("the node is not in sight");
      return [box.x + box.width / 2, box.y + box.height / 2] as const;
    };
    await page.mouse.move(...(await centre(child.id)));
    await page.mouse.down();
    await page.mouse.move(...(await centre(parent.id)), { steps: 12 });
    await page.mouse.up();
    const dialog = page.getByRole("dialog", { name: "Move workspace" });
    await dialog.getByText("drag-parent").waitFor();
    await dialog.getByRole("button", { name: "Move" }).click();
    await page
      .locator(`.react-flow__edge[data-id="${parent.id}-${child.id}"]`)
      .waitFor({ state: "attached" });
    const moved = await warren.api<Workspace>("GET", `/workspaces/${child.id}`);
    expect(moved.parent_id).toBe(parent.id);
  });

  it("are a thousand on the map and in the list, and only those in sight are drawn", async () => {
    const { page } = await operator(browser, warren);
    const [template] = (await warren.api<{ items: Workspace[] }>("GET", "/workspaces?limit=1")).items;
    const items = Array.from({ length: 1_000 }, (_, index) => ({
      ...template,
      id: `0190a000-0000-7000-8000-${String(index).padStart(12, "0")}`,
      name: `node-${index}`,
      parent_id: null,
    }));
    await page.route("**/api/v1/workspaces?*", (route) =>
      route.fulfill({ json: { items, next_cursor: null } }),
    );
    await page.goto(`${warren.url}/map`);
    await page.locator(".react-flow__node").first().waitFor();
    await page.getByLabel("Search workspaces").fill("node-999");
    await page.getByRole("list", { name: "Workspaces" }).getByRole("link").first().waitFor();
    expect(await page.getByRole("list", { name: "Workspaces" }).getByRole("link").count()).toBe(1);
    const drawn = () => page.locator(".react-flow__node").count();
    const zoomIn = page.getByRole("button", { name: /zoom in/i });
    await expect
      .poll(
        async () => {
          await zoomIn.click();
          return drawn();
        },
        { timeout: 30_000, interval: 300 },
      )
      .toBeLessThan(200);
    // Near enough to read, the nodes have their words again.
    await page.locator(".map-node-name").first().waitFor();
  });
});

/** Presses Tab until the thing with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let count = 0; count < 60; count += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => document.activeElement?.textContent?.trim());
    if (focused === name) return;
  }
  throw new Error(`${name} cannot be reached with Tab`);
}
