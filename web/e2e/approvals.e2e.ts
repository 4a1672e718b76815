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

// X51, S42
it("questions of all workspaces come into one inbox by themselves, and go when anybody decides", async () => {
  const [one, other] = [await Agent.join(warren, "one"), await Agent.join(warren, "other")];
  const { page, faults } = await operator(browser, warren, "/approvals");
  await page.getByText("Nothing waits for a decision").waitFor();
  const deploy = await one.ask("deploy", "All <i>tests</i> pass.", { version: "1.2" });
  const wipe = await other.ask("wipe", "The disk is full.");
  const inbox = page.getByRole("list", { name: "Waiting for a decision" });
  await inbox.getByText("The disk is full.").waitFor();
  await inbox.getByText("All <i>tests</i> pass.").waitFor();
  await page.getByRole("navigation", { name: "Pages" }).getByText("2 waiting").waitFor();

  await inbox.getByLabel("Note to the agent about wipe").fill("never");
  await inbox.getByRole("button", { name: "Deny wipe" }).click();
  await inbox.getByText("The disk is full.").waitFor({ state: "detached" });
  expect(await warren.api("GET", `/approvals/${wipe.id}`)).toMatchObject({ state: "denied", note: "never" });
  // Somebody else decides elsewhere.
  await warren.api("POST", `/approvals/${deploy.id}/approve`, {});
  await page.getByText("Nothing waits for a decision").waitFor();
  expect(faults).toEqual([]);
});
