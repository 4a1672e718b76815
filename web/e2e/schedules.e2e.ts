import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Agent } from "./agent";
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

// X40, S41
it("schedules are listed, paused, resumed and run now, and tell what became of them", async () => {
  const agent = await Agent.join(warren, "clockwork");
  const { page } = await operator(browser, warren, `/workspaces/${agent.workspace.id}/schedules`);
  await page.getByText("Nothing is said to this workspace at set times").waitFor();
  const wish = {
    name: "morning",
    prompt: "What is <b>new</b>?",
    cron: "0 9 * * 1-5",
    time_zone: "Europe/Zurich",
  };
  await warren.api("POST", `/workspaces/${agent.workspace.id}/schedules`, wish);
  await page.getByText("0 9 * * 1-5 (Europe/Zurich)").waitFor();
  await page.getByText("What is <b>new</b>?").waitFor();
  await page.getByText(/^Next at /).waitFor();
  await page.getByRole("button", { name: "Pause morning" }).click();
  await page.getByText("Paused", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Resume morning" }).click();
  await page.getByText(/^Next at /).waitFor();

  await page.getByRole("button", { name: "What became of it" }).click();
  await page.getByText("It has not fired yet.").waitFor();
  await page.getByRole("button", { name: "Run now: morning" }).click();
  const claimed = await agent.claim();
  expect([claimed.author.kind, claimed.message.parts[0]?.text]).toEqual(["schedule", "What is <b>new</b>?"]);
  await page.getByText("was sent, since somebody asked").waitFor();
});
