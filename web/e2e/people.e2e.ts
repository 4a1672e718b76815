import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, live, operator, type Visit, visitor } from "./browser";
import { shot } from "./shots";
import { Warren } from "./warren";
import type { SignInLink, Workspace } from "./wire";

let warren: Warren;
let browser: Browser;
let den: Workspace;
beforeAll(async () => {
  warren = await Warren.start();
  browser = await launch();
  den = await warren.create("den");
  await warren.write(den, "notes.txt", "text");
  for (const role of ["viewer", "member", "operator"]) {
    await warren.api("POST", "/users", { name: `a-${role}`, display_name: `Some ${role}`, role });
  }
});
afterAll(async () => {
  await browser?.close();
  await warren?.stop();
});

/** Somebody with this role, signed in by a link that was made for them. */
async function person(role: string, path: string): Promise<Visit> {
  const { path: link } = await warren.api<SignInLink>("POST", `/users/a-${role}/sign-in-links`);
  const visit = await visitor(browser, warren);
  await visit.page.goto(warren.url + link);
  await live(visit.page);
  await visit.page.goto(warren.url + path);
  await live(visit.page);
  return visit;
}

// S40, X51
describe("what the page offers", () => {
  it("to a viewer is to look: nothing that changes things, and words why", async () => {
    const { page, faults } = await person("viewer", "/people");
    await page.getByText("Viewer in default").waitFor();
    await page.getByText("Some operator").first().waitFor();
    expect(await page.getByRole("button", { name: "Invite" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "New workspace" }).count()).toBe(0);
    await shot(page, "40-people-viewer");
    await page.goto(`${warren.url}/workspaces/${den.id}/files?path=notes.txt`);
    const text = page.getByLabel("Text of notes.txt");
    await text.waitFor();
    expect(await text.getAttribute("readonly")).not.toBeNull();
    for (const name of ["New file", "Rename", "Pause", "Edit", "Delete workspace", "Save"]) {
      expect(await page.getByRole("button", { name, exact: true }).count(), name).toBe(0);
    }
    await page.goto(`${warren.url}/workspaces/${den.id}/run`);
    await page.getByText("You are a viewer in default").waitFor();
    expect(await page.getByLabel("Command", { exact: true }).count()).toBe(0);
    await page.goto(`${warren.url}/workspaces/${den.id}/terminal`);
    await page.getByText("opening a terminal needs another role").waitFor();
    expect(faults).toEqual([]);
  });

  it("to a member is to work, and to see people", async () => {
    const { page } = await person("member", `/workspaces/${den.id}/run`);
    await page.getByLabel("Command", { exact: true }).fill("echo from a member");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("exit code 0").waitFor();
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    await page.getByRole("link", { name: "People" }).click();
    await page.getByText("Some viewer").waitFor();
    expect(await page.getByRole("button", { name: "Invite" }).count()).toBe(0);
    // Their own name is theirs to change.
    expect(await page.locator(".person button").count()).toBe(1);
    await page.getByRole("button", { name: "Change Some member" }).click();
    expect(await page.getByRole("dialog").getByLabel("Short name").count()).toBe(0);
    await page.getByLabel("Name to be shown").fill("Some other member");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".person", { hasText: "Some other member" }).waitFor();
    await page.getByRole("button", { name: "Change Some other member" }).click();
    await page.getByLabel("Name to be shown").fill("Some member");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".person", { hasText: "Some member" }).first().waitFor();
  });

  it("to an operator is to run the org: roles, taking out, links; and orgs only to admins", async () => {
    await warren.api("POST", "/users", { name: "guest", display_name: "Guest Person", role: "viewer" });
    const { page } = await person("operator", "/people");
    await page.getByRole("button", { name: "Change Guest Person" }).click();
    await page.getByRole("radio", { name: /^Member/ }).check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Guest Person is member now").waitFor();
    await page.getByRole("button", { name: "Sign-in link for Guest Person" }).click();
    await page.getByRole("button", { name: "Make the link" }).click();
    await page.getByLabel("Signs in as Guest Person").waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Take Guest Person out of default" }).click();
    await page.getByRole("button", { name: "Take out", exact: true }).click();
    await page.getByText("Guest Person is no longer in default").waitFor();
    await page.locator(".person[data-past]").getByText("Guest Person").waitFor();
    expect(await page.getByRole("heading", { name: "Orgs" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Sign-in link for Operator", exact: true }).count()).toBe(
      0,
    );
    // Somebody who is in an org that the operator does not run: the server refuses, and its words are shown.
    await warren.api("POST", "/orgs", { name: "elsewhere" });
    await warren.api("POST", "/users?org=elsewhere", { name: "a-member", role: "viewer" });
    await page.getByRole("button", { name: "Sign-in link for Some member" }).click();
    await page.getByRole("button", { name: "Make the link" }).click();
    await page.getByRole("dialog").getByText("You may not do that.").waitFor();
    await shot(page, "41-people-refused");
  });
});

// S40
describe("an invitation", () => {
  it("is made, opened, accepted with a name, and works once", async () => {
    const { page } = await operator(browser, warren, "/people");
    await page.getByRole("button", { name: "Invite" }).click();
    await shot(page, "42-invite");
    await page.getByRole("button", { name: "Make the link" }).click();
    const link = await page.getByLabel("Link into default, as member").inputValue();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Take back the invitation as member" }).waitFor();

    const guest = await visitor(browser, warren);
    await guest.page.goto(link);
    await guest.page.getByRole("heading", { name: "Join default" }).waitFor();
    expect(guest.page.url()).toBe(`${warren.url}/`);
    await shot(guest.page, "43-invitation");
    // Looks like somebody who is here.
    await guest.page.getByLabel("Name to be shown").fill("Some mernber");
    await guest.page.getByLabel("Short name").fill("mern");
    await guest.page.getByRole("button", { name: "Join" }).click();
    await guest.page.getByRole("alert").getByText("looks like it").waitFor();
    await guest.page.getByLabel("Name to be shown").fill("Ada Lovelace");
    await guest.page.getByLabel("Short name").fill("ada");
    await guest.page.getByRole("button", { name: "Join" }).click();
    await live(guest.page);
    await guest.page.getByText("Member in default").waitFor();
    expect(await guest.page.locator(".who-name").textContent()).toBe("Ada Lovelace");

    const late = await visitor(browser, warren);
    await late.page.goto(link);
    await late.page.getByRole("heading", { name: "This invitation was used already" }).waitFor();
    await page.getByText("Ada Lovelace").first().waitFor();
  });

  it("that was taken back says so", async () => {
    const made = await warren.api<{ path: string; invitation: { id: string } }>("POST", "/invitations", {
      role: "viewer",
    });
    await warren.api("DELETE", `/invitations/${made.invitation.id}`);
    const { page } = await visitor(browser, warren);
    await page.goto(warren.url + made.path);
    await page.getByRole("heading", { name: "This invitation was taken back" }).waitFor();
    await page.getByRole("button", { name: "Sign in instead" }).click();
    await page.getByRole("heading", { name: "Sign in to Warren" }).waitFor();
  });
});

// S40
it("somebody in two orgs switches between them, and sees what is there", async () => {
  await warren.api("POST", "/orgs", { name: "second", quotas: { max_tier: "basic", max_workspaces: 3 } });
  await warren.api("POST", "/users", { name: "twice", display_name: "Twice Here", role: "member" });
  await warren.api("POST", "/users?org=second", { name: "twice", role: "viewer" });
  const { path } = await warren.api<SignInLink>("POST", "/users/twice/sign-in-links");
  const { page } = await visitor(browser, warren);
  await page.goto(warren.url + path);
  await live(page);
  const org = page.getByLabel("Org in which you work");
  const here = await org.locator("option:checked").textContent();
  const [first, other] = here === "default" ? ["default", "second"] : ["second", "default"];
  if (first === "default") await page.getByRole("link", { name: "den" }).first().waitFor();
  await org.selectOption({ label: other });
  await live(page);
  await org.locator("option:checked", { hasText: other }).waitFor({ state: "attached" });
  if (other === "second") {
    await page.getByText("There is no workspace yet").waitFor();
    expect(await page.getByRole("button", { name: "New workspace" }).count()).toBe(0);
    expect(await page.getByText("den", { exact: true }).count()).toBe(0);
  }
  await org.selectOption({ label: "default" });
  await page.getByRole("button", { name: "New workspace" }).waitFor();
  await page.getByRole("link", { name: "den" }).first().waitFor();
});

// S40
it("an admin sees orgs with usage and quotas, and makes, changes and removes one", async () => {
  const { page } = await operator(browser, warren, "/people");
  await page.getByRole("button", { name: "New org" }).click();
  await page.getByLabel("Name", { exact: true }).fill("third");
  await page.getByRole("button", { name: "Make the org" }).click();
  await page.getByRole("button", { name: "Quotas of third" }).click();
  await page.getByRole("dialog").getByLabel("Workspaces").fill("2");
  await page.getByRole("button", { name: "Save" }).click();
  const third = page.locator(".org", { hasText: "third" });
  await third.getByText("0 of 2").waitFor();
  await page.getByRole("button", { name: "Remove the org third" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await third.waitFor({ state: "detached" });
});

// S45
it.each(["light", "dark"] as const)(
  "the page of people in %s colours, wide and on a phone",
  async (colorScheme) => {
    for (const width of [1280, 390]) {
      const viewport = { width, height: 860 };
      const { page } = await operator(browser, warren, "/people", { colorScheme, viewport });
      await page.getByRole("list", { name: "Orgs of this Warren" }).waitFor();
      const overflow = await page.evaluate(() => {
        const main = document.querySelector("main");
        return main ? main.scrollWidth - main.clientWidth : -1;
      });
      expect(overflow, `${width}`).toBe(0);
      await shot(page, `44-people-${colorScheme}-${width}`);
    }
  },
);
