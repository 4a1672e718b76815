import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, live, operator, type Visit, visitor } from "./browser";
import { shot } from "./shots";
import { Warren } from "./warren";
import type { SignInLink, Workspace } from "./wire";

let warren: Warren;
let browser: Browser;
let den: Workspace;
let echo: Workspace;
beforeAll(async () => {
  warren = await Warren.start();
  browser = await launch();
  den = await warren.create("den");
  await warren.api("PUT", "/agents/parrot", { name: "parrot", model: "scripted/echo" });
  echo = await warren.create("echo", { agent: "parrot", provider: { kind: "memory" } });
  await warren.api("POST", "/users", { name: "vera", display_name: "Vera Viewer", role: "viewer" });
});
afterAll(async () => {
  await browser?.close();
  await warren?.stop();
});

async function viewer(path: string): Promise<Visit> {
  const { path: link } = await warren.api<SignInLink>("POST", "/users/vera/sign-in-links");
  const visit = await visitor(browser, warren);
  await visit.page.goto(warren.url + link);
  await live(visit.page);
  await visit.page.goto(warren.url + path);
  await live(visit.page);
  return visit;
}

const dialog = (page: Page) => page.getByRole("dialog");

// S41
describe("what an org has", () => {
  it("is made and changed on the page: templates, secrets and tokens", async () => {
    const { page, faults } = await operator(browser, warren, "/settings");
    await page.getByRole("button", { name: "New template" }).click();
    await dialog(page).getByLabel("Name").fill("small");
    await dialog(page)
      .getByLabel("What it describes, in YAML or JSON")
      .fill("# kept\nprovider: {kind: memory}\n");
    await dialog(page).getByRole("button", { name: "Store" }).click();
    await page.getByRole("button", { name: "Change the template small" }).click();
    expect(await dialog(page).locator("textarea").inputValue()).toContain("# kept");
    await dialog(page).locator("textarea").fill("description: Small\nprovider: {kind: memory}\n");
    await dialog(page).getByRole("button", { name: "Store" }).click();
    await page.getByText("Small", { exact: true }).waitFor();

    await page.getByRole("button", { name: "New secret" }).click();
    await dialog(page).getByLabel("Name").fill("GREETING");
    await dialog(page).getByLabel("Value").fill("hello");
    await dialog(page).getByRole("button", { name: "Store" }).click();
    await page.getByRole("button", { name: "Replace the value of GREETING" }).waitFor();
    expect(await page.content()).not.toContain("hello");

    await page.getByRole("button", { name: "New token" }).click();
    await dialog(page).getByLabel("Name").fill("laptop");
    await dialog(page).getByRole("button", { name: "Make the token" }).click();
    const secret = await dialog(page).getByLabel("Token, shown once").inputValue();
    await dialog(page).getByRole("button", { name: "Done" }).click();
    const answer = await fetch(`${warren.url}/api/v1/workspaces`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    expect(answer.status).toBe(200);
    await shot(page, "50-settings");
    await page.getByRole("button", { name: "Revoke the token laptop" }).click();
    await dialog(page).getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Revoked laptop").waitFor();
    const after = await fetch(`${warren.url}/api/v1/workspaces`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    expect(after.status).toBe(401);
    expect(faults).toEqual([]);
  });

  it("a workspace of a template, and one with a program and a secret, are made by the dialog", async () => {
    const { page } = await operator(browser, warren, "/");
    await page.getByRole("button", { name: "New workspace" }).click();
    await dialog(page).getByLabel("Name", { exact: true }).fill("by-template");
    await dialog(page).getByLabel("Template").selectOption("small");
    await dialog(page).getByRole("button", { name: "Create workspace" }).click();
    await page.getByRole("heading", { name: "by-template" }).waitFor();

    await page.getByRole("button", { name: "New workspace" }).click();
    await dialog(page).getByLabel("Name", { exact: true }).fill("with-program");
    await dialog(page)
      .getByRole("radio", { name: /^sandbox/ })
      .check();
    await dialog(page)
      .getByRole("radio", { name: /A program in the box/ })
      .check();
    await dialog(page).getByLabel("Program and its arguments").fill(`sh -c 'cat; echo " $WORD"'`);
    await dialog(page).getByText("More: parent").click();
    await dialog(page).getByLabel("Memory (MB)").fill("128");
    await dialog(page).getByRole("button", { name: "Add a secret" }).click();
    await dialog(page).getByLabel("Name of secret 1").fill("WORD");
    await dialog(page).getByLabel("Value of secret 1").fill("yes");
    await shot(page, "51-create");
    await dialog(page).getByRole("button", { name: "Create workspace" }).click();
    await page.getByRole("heading", { name: "with-program" }).waitFor();
    const made = (await warren.api<{ items: Workspace[] }>("GET", "/workspaces?limit=50")).items.find(
      ({ name }) => name === "with-program",
    );
    expect(made).toMatchObject({ runtime: "resident", provider: { limits: { memory_mb: 128 } } });
    const path = `/workspaces/${made?.id}/secrets`;
    const secrets = await warren.api<{ items: { name: string; workspace_id?: string }[] }>("GET", path);
    expect(secrets.items.map(({ name }) => name)).toContain("WORD");
  });
});

// X40
it("a schedule is made on the page, and what it was answered is read in the chat", async () => {
  const { page } = await operator(browser, warren, `/workspaces/${echo.id}/schedules`);
  await page.getByRole("button", { name: "New schedule" }).click();
  await dialog(page).getByLabel("Name").fill("pulse");
  await dialog(page).getByLabel("What is said to the agent").fill("Say how it goes.");
  await dialog(page)
    .getByText(/^Next: /)
    .waitFor();
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("every hour").waitFor();
  await page.getByRole("button", { name: "Change pulse" }).click();
  await dialog(page).getByLabel("Every", { exact: true }).fill("2");
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("every 2 hours").waitFor();
  await page.getByRole("button", { name: "Run now: pulse" }).click();
  await page.getByRole("button", { name: "What became of it" }).click();
  await page.getByRole("link", { name: "what was answered" }).first().click();
  const talk = page.getByRole("log", { name: "Messages" });
  await talk.getByText("Say how it goes.").first().waitFor();
  await page.getByText("This came from the schedule pulse").waitFor();
  await page.getByRole("navigation", { name: "From schedules and agents" }).getByRole("link").waitFor();
  await shot(page, "52-schedule-answer");
});

// F10
it("a program that runs elsewhere gets its join token from the page, and its name, role and agent can be changed", async () => {
  const away = await warren.api<Workspace>("POST", "/workspaces", {
    name: "away",
    runtime: "external",
    provider: { kind: "memory" },
  });
  const { page } = await operator(browser, warren, `/workspaces/${away.id}/chat`);
  await page.getByRole("button", { name: "Make a join token" }).click();
  await page
    .getByText(/wrn_join_\w+/)
    .first()
    .waitFor();
  await page.goto(`${warren.url}/workspaces/${den.id}/files`);
  await page.getByRole("button", { name: "Edit" }).click();
  await dialog(page).getByLabel("What it is there for").fill("keeps notes");
  await dialog(page).getByLabel("Agent").selectOption("parrot");
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("keeps notes").waitFor();
  const now = await warren.api<{ role: string; agent: { name: string } }>("GET", `/workspaces/${den.id}`);
  expect([now.role, now.agent.name]).toEqual(["keeps notes", "parrot"]);
});

// F30
it("a viewer reads the chat and writes nothing", async () => {
  const conversations = `/workspaces/${echo.id}/conversations`;
  const { id } = await warren.api<{ id: string }>("POST", conversations, { title: "Talk" });
  const message = { parts: [{ text: "good morning" }] };
  await warren.api("POST", `${conversations}/${id}/messages`, { message, wait_ms: 10_000 });
  const { page } = await viewer(`/workspaces/${echo.id}/chat?conversation=${id}`);
  await page.getByRole("log", { name: "Messages" }).getByText("good morning").first().waitFor();
  await page.getByText("writing here needs another role").waitFor();
  expect(await page.getByLabel("Message", { exact: true }).count()).toBe(0);
  await shot(page, "53-chat-viewer");
});

// F35
it("operators read who did what, by person and by kind; others are told why not", async () => {
  const { page } = await operator(browser, warren, "/audit");
  await page.getByRole("cell", { name: "workspace den" }).first().waitFor();
  await page.getByLabel("What it was done to").selectOption("user");
  await page.getByRole("cell", { name: "user Vera Viewer" }).first().waitFor();
  expect(await page.getByRole("cell", { name: "workspace den" }).count()).toBe(0);
  await page.getByRole("button", { name: "user: joined" }).first().click();
  await page.getByRole("button", { name: "Only user: joined" }).waitFor();
  await shot(page, "54-audit");
  const other = await viewer("/audit");
  await other.page.getByText("The audit log is for operators").waitFor();
  expect(await other.page.getByRole("link", { name: "Audit log" }).count()).toBe(0);
});

// S20
it("the API is described to whoever comes, signed in or not", async () => {
  const { page, faults } = await visitor(browser, warren);
  await page.goto(`${warren.url}/docs/api`);
  await page.getByLabel("Search operations").fill("POST schedules");
  await page.getByText("/workspaces/{id}/schedules", { exact: true }).click();
  await page.getByText("What is said to the agent.").waitFor();
  await page.getByText("curl -X POST").waitFor();
  await shot(page, "55-api");
  expect(faults).toEqual([]);
});

// S42
it("a terminal has one frame, around it", async () => {
  const { page } = await operator(browser, warren, `/workspaces/${den.id}/terminal`);
  await page.getByRole("button", { name: "New terminal" }).click();
  const inner = page.locator(".terminal-screen .xterm");
  await inner.waitFor();
  const drawn = await inner.evaluate((element) => {
    const { borderTopWidth, boxShadow, outlineStyle } = getComputedStyle(element);
    return [borderTopWidth, boxShadow, outlineStyle];
  });
  expect(drawn).toEqual(["0px", "none", "none"]);
});

// S45
it("a phone shows the page, and the menu when it is asked for", async () => {
  const viewport = { width: 390, height: 844 };
  const { page } = await operator(browser, warren, "/", { viewport, hasTouch: true });
  const top = async () => (await page.getByRole("heading", { level: 1 }).boundingBox())?.y ?? 999;
  expect(await top()).toBeLessThan(120);
  expect(await page.getByRole("link", { name: "Map" }).isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu" }).click();
  await shot(page, "56-phone-menu");
  await page.getByRole("link", { name: "People" }).click();
  await page.getByRole("heading", { name: "People of default" }).waitFor();
  expect(await page.getByRole("link", { name: "Map" }).isVisible()).toBe(false);
  const paths = ["/", "/approvals", "/events", "/people", "/settings", "/audit", "/docs/api"];
  const tabs = ["chat", "files", "run", "schedules", "activity", "health"];
  for (const path of [...paths, ...tabs.map((tab) => `/workspaces/${echo.id}/${tab}`)]) {
    await page.goto(warren.url + path);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.waitForTimeout(200);
    const wide = await page.evaluate(() => {
      const main = document.querySelector("main");
      return [
        document.documentElement.scrollWidth - window.innerWidth,
        main ? main.scrollWidth - main.clientWidth : 0,
      ];
    });
    expect(wide, path).toEqual([0, 0]);
  }
});
