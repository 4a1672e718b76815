import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, live, operator, visitor } from "./browser";
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

// F31, S46
describe("a sign-in link", () => {
  it("opens the page once, leaves no trace in the address bar, and is refused kindly the second time", async () => {
    const link = await warren.link();
    const first = await visitor(browser, warren);
    await first.page.goto(link);
    await live(first.page);
    expect(first.page.url()).toBe(`${warren.url}/`);

    const second = await visitor(browser, warren);
    await second.page.goto(link);
    await second.page.getByRole("heading", { name: "This link no longer works" }).waitFor();
    await second.page.getByText("warren token link").waitFor();
    expect(second.page.url()).toBe(`${warren.url}/`);
  });

  it("gives a cookie that scripts cannot read and that outlives a reload", async () => {
    const { page } = await operator(browser, warren);
    expect(await page.evaluate(() => document.cookie)).toBe("");
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: "warren_session", httpOnly: true, sameSite: "Strict" });
    await page.reload();
    await live(page);
  });

  it("is asked for when there is none, and a pasted one leads to the page that was wanted", async () => {
    const { page } = await visitor(browser, warren);
    await page.goto(`${warren.url}/events`);
    await page.getByRole("heading", { name: "Sign in to Warren" }).waitFor();
    await page.getByLabel("Or paste a sign-in link here").fill(await warren.link());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Events" }).waitFor();
  });

  it("brings somebody back to their place and their text after they were signed out", async () => {
    const workspace = await warren.create("kept");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/run`);
    await page.getByLabel("Command", { exact: true }).fill("echo half-typed");
    // Another tab of the same browser signs out.
    await page.evaluate(() =>
      fetch("/api/v1/sign-in", { method: "DELETE", headers: { "x-warren-csrf": "1" } }),
    );
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
    await page.getByLabel("Or paste a sign-in link here").fill(await warren.link());
    await page.getByRole("button", { name: "Sign in" }).click();
    await live(page);
    expect(await page.getByLabel("Command", { exact: true }).inputValue()).toBe("echo half-typed");
  });
});
