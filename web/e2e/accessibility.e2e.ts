import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Agent } from "./agent";
import { launch, operator, visitor } from "./browser";
import { shot } from "./shots";
import { Warren } from "./warren";
import type { Workspace } from "./wire";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let warren: Warren;
let browser: Browser;
let workspace: Workspace;
let talk: string;
let schedules: string;
let sessions: string;
beforeAll(async () => {
  warren = await Warren.start();
  browser = await launch();
  workspace = await warren.create("den");
  await warren.create("nest", { parent_id: workspace.id });
  await warren.write(workspace, "notes/a.txt", "text");
  // Something of everything: a conversation with all kinds of parts, work that waits, a question and a schedule.
  const agent = await Agent.join(warren, "talker", { parent_id: workspace.id });
  const conversations = `/workspaces/${agent.workspace.id}/conversations`;
  const { id } = await warren.api<{ id: string }>("POST", conversations, { title: "Talk" });
  talk = `/workspaces/${agent.workspace.id}/chat?conversation=${id}`;
  const say = (parts: unknown[]) =>
    warren.api("POST", `${conversations}/${id}/messages`, { message: { parts } });
  await say([
    { text: "**Look** at `this`: https://example.org/\n```\ncode\n```" },
    { raw: "YQ==", filename: "a.txt" },
  ]);
  await agent.progress(await agent.claim(), "reading");
  await say([{ text: "and this" }, { data: { key: "value" } }]);
  await agent.ask("deploy", "All tests pass.", { version: "1.2" });
  await warren.api("PUT", "/agents/tour", {
    name: "tour",
    model: "scripted/tour",
    policies: [{ tool: "workspace_rm", decision: "ask" }],
  });
  const box = await warren.create("box", { provider: { kind: "sandbox" }, parent_id: workspace.id });
  const begun = { workspace_id: box.id, agent: "tour", name: "guided" };
  await warren.api("POST", "/sessions", begun);
  await warren.api("POST", "/sessions/guided/messages", { text: "Show me **around**." });
  sessions = `/workspaces/${box.id}/sessions`;
  const schedule = { name: "pulse", prompt: "Go on.", every_seconds: 3_600 };
  schedules = `/workspaces/${agent.workspace.id}/schedules`;
  await warren.api("POST", schedules, schedule);
});
afterAll(async () => {
  await browser?.close();
  await warren?.stop();
});

/** What WCAG 2.2 A and AA find wrong on the page as it is, in words. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const results = await page.evaluate(
    () =>
      (window as unknown as { axe: { run(options: unknown): Promise<AxeResults> } }).axe.run({
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      }) as Promise<AxeResults>,
  );
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)}`),
  );
}

// S45
describe.each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  it("every page meets WCAG AA as far as a machine can tell", async () => {
    const { page } = await operator(browser, warren, "/", { colorScheme, reducedMotion: "reduce" });
    const base = `/workspaces/${workspace.id}`;
    const pages = [
      "/",
      "/map",
      "/approvals",
      "/events",
      "/people",
      "/settings",
      "/audit",
      talk,
      `${base}/chat`,
      schedules,
      `${base}/files?path=notes/a.txt`,
      sessions,
      `${base}/sessions`,
      `${sessions}?session=guided`,
      `${sessions}?session=guided&view=timeline`,
      `${base}/run`,
      `${base}/terminal`,
      `${base}/activity`,
      `${base}/health`,
    ];
    for (const path of pages) {
      await page.goto(warren.url + path);
      await page.locator('.live[data-phase="live"]').waitFor();
      await page.locator(".state-loading").first().waitFor({ state: "detached" });
      expect(await faultsOf(page), path).toEqual([]);
      if (path === "/approvals") await shot(page, `32-approvals-${colorScheme}`);
    }
    await page.goto(`${warren.url}${sessions}?session=guided`);
    await page.getByText("May the agent call workspace_rm?").waitFor();
    await page.getByRole("button", { name: "Edit the arguments of workspace_rm" }).click();
    for (const line of await page.locator(".call-line").all()) await line.click();
    expect(await faultsOf(page), "a session that waits").toEqual([]);
    await shot(page, `30-session-${colorScheme}`);
    await page.goto(`${warren.url}${sessions}?session=guided&view=timeline`);
    await page.getByRole("button", { name: "Context of step 3" }).click();
    await page.getByRole("dialog").getByText("Tool definitions").waitFor();
    for (const line of await page.locator("dialog summary").all()) await line.click();
    expect(await faultsOf(page), "the context of a step").toEqual([]);
    await page.getByRole("button", { name: "Close" }).click();
    await shot(page, `31-timeline-${colorScheme}`);
    await page.goto(warren.url + sessions);
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByLabel("Agent", { exact: true }).selectOption({ label: "A new agent…" });
    expect(await faultsOf(page), "the dialog for a session").toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Use a real model" }).click();
    await page.getByLabel("Key of Anthropic").waitFor();
    expect(await faultsOf(page), "the dialog for a model").toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name").fill("x");
    expect(await faultsOf(page), "the create dialog").toEqual([]);
  });

  it("the sign-in page meets WCAG AA as far as a machine can tell", async () => {
    const { page } = await visitor(browser, warren, { colorScheme, reducedMotion: "reduce" });
    await page.goto(`${warren.url}/#sign-in=wrong`);
    await page.getByRole("heading", { name: "This link no longer works" }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });
});

// S45
it("the first visit loads less than 300 kB compressed, and nothing from elsewhere", async () => {
  const { page, strangers } = await visitor(browser, warren);
  const loaded: string[] = [];
  page.on("response", (response) => loaded.push(response.url()));
  await page.goto(await warren.link());
  await page.locator('.live[data-phase="live"]').waitFor();
  const files = [...new Set(loaded)].filter((url) => !url.includes("/api/"));
  const sizes = await Promise.all(
    files.map(async (url) => gzipSync(await (await fetch(url)).arrayBuffer()).length),
  );
  expect(files.some((url) => url.endsWith(".js"))).toBe(true);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000);
  expect(strangers).toEqual([]);
});
