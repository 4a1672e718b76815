import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, operator } from "./browser";
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

// S42, S46
describe("the event page", () => {
  it("shows what happened before it was opened and what happens while it is, newest first", async () => {
    const before = await warren.create("early");
    const { page } = await operator(browser, warren, "/events");
    await page.getByText("was created on local").first().waitFor();
    await warren.write(before, "a.txt", "x");
    await page.getByText("wrote a.txt (1 B)").waitFor();
    await page.getByText(/^Warren .* started$/).waitFor();
    const seqs = await page
      .locator("[data-seq]")
      .evaluateAll((lines) => lines.map((one) => one.getAttribute("data-seq")));
    expect(seqs).toEqual([...seqs].sort((a, b) => Number(b) - Number(a)));
    expect(new Set(seqs).size).toBe(seqs.length);
  });

  it("shows by kind, and holds still when asked", async () => {
    const workspace = await warren.create("held");
    const { page } = await operator(browser, warren, "/events");
    await page.getByRole("radio", { name: "Server" }).check();
    await page.getByText("was created on local").first().waitFor({ state: "detached" });
    await page.getByRole("radio", { name: "All" }).check();
    await page.getByRole("button", { name: "Hold" }).click();
    await warren.write(workspace, "later.txt", "x");
    await page.getByRole("button", { name: "Go on (1 new)" }).click();
    await page.getByText("wrote later.txt (1 B)").waitFor();
  });

  it("of one workspace shows only its own", async () => {
    const mine = await warren.create("mine");
    const other = await warren.create("other");
    await warren.write(other, "theirs.txt", "x");
    await warren.write(mine, "mine.txt", "x");
    const { page } = await operator(browser, warren, `/workspaces/${mine.id}/activity`);
    await page.getByText("Wrote mine.txt (1 B)").waitFor();
    expect(await page.getByText("theirs.txt").count()).toBe(0);
  });
});
