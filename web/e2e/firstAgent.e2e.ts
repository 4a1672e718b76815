import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, operator } from "./browser";
import { shot } from "./shots";
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

// S2
describe("the first five minutes", () => {
  it("one button makes a box, an agent and a session; a person approves, and it finishes", async () => {
    const { page, faults, strangers } = await operator(browser, warren);
    await page.getByRole("heading", { name: "Places for agents to work" }).waitFor();
    await shot(page, "01-empty-warren");
    await page.getByRole("button", { name: "Start the guided agent" }).click();
    const log = page.getByRole("log", { name: "Conversation" });
    await log.getByText("First I write a file into this workspace.").waitFor();
    const question = page.getByRole("list", { name: "Waits for you" });
    await question.getByText("May the agent call workspace_rm?").waitFor();
    await page.locator('[data-session-status="suspended"]').waitFor();
    await shot(page, "02-waits-for-approval");
    await page.getByRole("button", { name: "Approve workspace_rm" }).click();
    await log.getByText("is gone, because you said yes").waitFor();
    await page.locator('[data-session-status="completed"]').waitFor();
    await page.getByRole("heading", { name: "Use a real model" }).waitFor();
    await shot(page, "03-completed");
    const { items } = await warren.api<{ items: { name: string; provider: { kind: string } }[] }>(
      "GET",
      "/workspaces",
    );
    expect(items.map(({ name, provider }) => [name, provider.kind])).toEqual([["guided-tour", "sandbox"]]);
    // Each thing stands there once, whatever the stream and the stored steps both told.
    expect(await log.getByText("First I write a file").count()).toBe(1);
    expect(await log.locator("[data-call]").count()).toBe(3);

    await page.getByLabel("Key of Anthropic").fill("sk-ant-not-a-real-one");
    await page.getByRole("button", { name: "Save the key" }).click();
    await page.getByText("A key of Anthropic is stored.").waitFor();
    expect(await page.getByLabel("Model", { exact: true }).inputValue()).toBe("claude-sonnet-4-5");
    await shot(page, "04-real-model");
    const secrets = await warren.api<{ items: { name: string }[] }>("GET", "/secrets");
    expect(secrets.items.map(({ name }) => name)).toEqual(["ANTHROPIC_API_KEY"]);
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("sk-ant");
    await page.getByRole("button", { name: "Start a session with it" }).click();
    await page.getByText("Nothing was said here yet.").waitFor();
    expect(faults).toEqual([]);
    expect(strangers).toEqual([]);
  });

  // S45
  it("can be gone through again later, with the keyboard alone", async () => {
    const { page } = await operator(browser, warren);
    await tabTo(page, "Start the guided agent");
    await page.keyboard.press("Enter");
    await page.getByText("May the agent call workspace_rm?").waitFor();
    await tabTo(page, "Deny workspace_rm");
    await page.keyboard.press("Enter");
    await page.getByRole("log", { name: "Conversation" }).getByText("stays where it is").waitFor();
    await page.locator('[data-session-status="completed"]').waitFor();
    const { items } = await warren.api<{ items: unknown[] }>("GET", "/workspaces");
    expect(items).toHaveLength(1);
  });
});

/** Presses Tab until what is called so has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      return element?.getAttribute("aria-label") ?? element?.textContent;
    });
    if (focused === name) return;
  }
  throw new Error(`${name} was not reached by Tab`);
}
