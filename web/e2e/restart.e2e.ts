import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, live, operator } from "./browser";
import { Warren } from "./warren";

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

/** The sequence numbers on the page, as they stand. */
const shown = (page: Page) =>
  page.locator("[data-seq]").evaluateAll((lines) => lines.map((one) => Number(one.getAttribute("data-seq"))));

// S44, S46
describe("a server that is killed and started again", () => {
  it("is told by a banner that goes by itself; state is right, typed text is kept, no event is missed or doubled", async () => {
    const workspace = await warren.create("survivor");
    await warren.write(workspace, "a.txt", "saved");
    const editor = await operator(browser, warren, `/workspaces/${workspace.id}/files?path=a.txt`);
    const feed = await operator(browser, warren, "/events");
    await editor.page.getByLabel("Text of a.txt").fill("typed, not saved");
    await feed.page.locator("[data-seq]").first().waitFor();

    await warren.kill();
    for (const { page } of [editor, feed]) {
      await page.getByText("Connection lost. Reconnecting…").waitFor();
      await page.locator(".shell[data-stale]").waitFor();
    }
    // Typing goes on while nobody answers.
    await editor.page.getByLabel("Text of a.txt").press("End");
    await editor.page.keyboard.type("!");

    await warren.startAgain();
    await warren.api("PATCH", `/workspaces/${workspace.id}`, { desired: "paused" });
    for (const { page } of [editor, feed]) {
      await live(page);
      await page.locator(".banner").waitFor({ state: "detached" });
      await page.getByRole("list", { name: "Workspaces" }).getByText("Paused").waitFor();
    }
    expect(await editor.page.getByLabel("Text of a.txt").inputValue()).toBe("typed, not saved!");

    const log = (await warren.events()).map(({ seq }) => seq).sort((a, b) => b - a);
    await expect.poll(() => shown(feed.page), { timeout: 20_000 }).toEqual(log);
  });

  it("is waited for by an open form, which then goes through", async () => {
    const { page } = await operator(browser, warren);
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name").fill("patient");
    await warren.kill();
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.getByRole("dialog").getByText("server_unreachable").waitFor();
    await warren.startAgain();
    await live(page);
    expect(await page.getByLabel("Name").inputValue()).toBe("patient");
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.getByRole("heading", { name: "patient" }).waitFor();
  });

  it("in the middle of a command leaves what was printed and says that the end was not seen", async () => {
    const workspace = await warren.create("cut-off");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/run`);
    await page.getByLabel("Command", { exact: true }).fill("echo so far; sleep 60");
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("so far").waitFor();
    await warren.kill();
    await page.getByText("end not seen").waitFor();
    await warren.startAgain();
    await live(page);
    expect(await page.getByRole("log").textContent()).toBe("so far\n");
  });
});
