import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Agent } from "./agent";
import { launch, live, operator } from "./browser";
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

const chatOf = (workspace: Workspace) => `/workspaces/${workspace.id}/chat`;

async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** Id, author, kind and words of every message, as they stand. */
const shown = (page: Page) =>
  page.locator("[data-message]").evaluateAll((items) =>
    items.map((item) => ({
      id: item.getAttribute("data-message"),
      look: item.getAttribute("data-look"),
      head: item.querySelector(".message-author")?.textContent,
      kind: item.querySelector(".tag")?.textContent,
      text: item.querySelector(".message-body")?.textContent,
      work: item.querySelector(".message-work")?.textContent,
    })),
  );

// X30, S41, S46
describe("a conversation", () => {
  it("is what an agent's workspace opens on, from the list and from the map", async () => {
    const agent = await Agent.join(warren, "greeter");
    const { page } = await operator(browser, warren, "/");
    await page
      .getByRole("list", { name: "Workspaces", exact: true })
      .getByRole("link", { name: /greeter/ })
      .click();
    await page.getByLabel("Message", { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(chatOf(agent.workspace));
    await page.goto(`${warren.url}/map`);
    await page.locator(".map-node-link", { hasText: "greeter" }).click();
    await page.getByLabel("Message", { exact: true }).waitFor();
    await page.goto(`${warren.url}/workspaces/${agent.workspace.id}`);
    await page.getByLabel("Message", { exact: true }).waitFor();
    await page.goBack();
    await page.getByLabel("Message", { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(chatOf(agent.workspace));
  });

  it("shows what is sent and answered as it happens, and a reload shows exactly the same", async () => {
    const agent = await Agent.join(warren, "scribe");
    const { page, faults } = await operator(browser, warren, chatOf(agent.workspace));
    await send(page, "How many files are there?");
    await page.getByText("Queued").waitFor();
    const claimed = await agent.claim();
    await page.getByText("Working", { exact: true }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Message");
    await agent.answer(claimed, "There are **three**.");
    await page.getByText("There are three.").waitFor();
    await page.getByText("Answered", { exact: true }).waitFor();
    await send(page, "And folders?");
    await agent.answer(await agent.claim(), "None.");
    await expect.poll(async () => (await shown(page)).length, { timeout: 20_000 }).toBe(4);
    await expect.poll(() => page.getByText("Answered", { exact: true }).count(), { timeout: 20_000 }).toBe(2);

    const before = await shown(page);
    expect(before.map(({ head, kind, text }) => [head, kind, text])).toEqual([
      ["You", "person", "How many files are there?"],
      ["scribe", "agent", "There are three."],
      ["You", "person", "And folders?"],
      ["scribe", "agent", "None."],
    ]);
    await page.reload();
    await live(page);
    await page.getByText("None.").waitFor();
    await expect.poll(() => shown(page), { timeout: 20_000 }).toEqual(before);
    expect(faults).toEqual([]);
  });

  it("begun in one window is there in another without a reload, and is called by its first words", async () => {
    const agent = await Agent.join(warren, "shared");
    const mine = await operator(browser, warren, chatOf(agent.workspace));
    const theirs = await operator(browser, warren, chatOf(agent.workspace));
    await theirs.page.getByText("None yet.").waitFor();
    await send(mine.page, "Plan the release\nwith all its steps");
    await theirs.page.getByRole("link", { name: /Plan the release with all its steps/ }).click();
    await theirs.page.getByRole("log").getByText("with all its steps").waitFor();
    await agent.answer(await agent.claim(), "Done.");
    for (const { page } of [mine, theirs]) await page.getByRole("log").getByText("Done.").waitFor();
    expect(await shown(theirs.page)).toEqual(await shown(mine.page));
  });

  it("tells the place in the queue of a busy agent, and takes back what waits", async () => {
    const agent = await Agent.join(warren, "busy");
    const { page } = await operator(browser, warren, chatOf(agent.workspace));
    await send(page, "first");
    const first = await agent.claim();
    await page.getByText("Working", { exact: true }).waitFor();
    await send(page, "second");
    await page.getByText("Queued: next in line").waitFor();
    await send(page, "third");
    await page.getByText("Queued: 1 before it").waitFor();
    await page.reload();
    await live(page);
    await page.getByText("Queued: 1 before it").waitFor();

    const second = page.locator("[data-message]", { hasText: "second" });
    await second.getByRole("button", { name: "Take back" }).click();
    await second.getByText("Cancelled", { exact: true }).waitFor();
    await page.locator("[data-message]", { hasText: "third" }).getByText("Queued: next in line").waitFor();
    await agent.answer(first, "done with the first");
    expect((await agent.claim()).message.parts[0]?.text).toBe("third");
  });

  it("stops work under way, and says why work failed", async () => {
    const agent = await Agent.join(warren, "worker");
    const { page } = await operator(browser, warren, chatOf(agent.workspace));
    await send(page, "dig");
    await agent.claim();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Cancelled", { exact: true }).waitFor();
    await send(page, "fly");
    await agent.fail(await agent.claim(), "I have no wings.");
    await page.getByText("Failed", { exact: true }).waitFor();
    await page.getByRole("log").getByText("I have no wings.", { exact: true }).waitFor();
    // What came to nothing can be said once more, and is another message.
    await page.locator(".message", { hasText: "fly" }).getByRole("button", { name: "Send again" }).click();
    await agent.answer(await agent.claim(), "Up I go.");
    await page.getByText("Up I go.").waitFor();
    expect(await page.getByRole("log").getByText("fly", { exact: true }).count()).toBe(2);
  });

  it("takes an answer to what the agent asked", async () => {
    const agent = await Agent.join(warren, "asker");
    const { page } = await operator(browser, warren, chatOf(agent.workspace));
    await send(page, "paint it");
    await agent.answer(await agent.claim(), "Which colour?", { state: "input_required" });
    await page.getByText("Waits for your answer").waitFor();
    await send(page, "blue");
    const claimed = await agent.claim();
    expect(claimed.message.parts[0]?.text).toBe("blue");
    await agent.answer(claimed, "It is blue.");
    await page.getByText("It is blue.").waitFor();
    await page.getByText("Answered").waitFor();
    // One piece of work, whose state stands at the last that was asked of it.
    expect((await shown(page)).map(({ work }) => work)).toEqual([
      undefined,
      undefined,
      "Answered",
      undefined,
    ]);
  });

  it("keeps what is typed through a reload and a server that goes away, and sends it once", async () => {
    const agent = await Agent.join(warren, "patient");
    const { page } = await operator(browser, warren, chatOf(agent.workspace));
    await send(page, "hello");
    await page.getByRole("log").getByText("hello").waitFor();
    await page.getByLabel("Message", { exact: true }).fill("typed");
    await page.reload();
    await live(page);
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("typed");
    // The server takes the message, and its answer is lost on the way.
    await page.route("**/messages", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.keyboard.press("Tab");
    await page.getByLabel("Message", { exact: true }).press("Enter");
    await page.getByRole("alert").getByText("server_unreachable").waitFor();
    await page.unroute("**/messages");
    await page.getByRole("log").getByText("typed").waitFor();
    await page.getByLabel("Message", { exact: true }).press("Enter");
    const typed = () => page.getByLabel("Message", { exact: true }).inputValue();
    await expect.poll(typed, { timeout: 20_000 }).toBe("");
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.reload();
    await live(page);
    await page.getByRole("log").getByText("typed").waitFor();
    expect((await shown(page)).map(({ text }) => text)).toEqual(["hello", "typed"]);
  });

  // S44
  it("goes on after the server was killed, and misses nothing that was answered meanwhile", async () => {
    const agent = await Agent.join(warren, "survivor");
    const { page } = await operator(browser, warren, chatOf(agent.workspace));
    await send(page, "carry on");
    const claimed = await agent.claim();
    await page.getByText("Working", { exact: true }).waitFor();
    await page.getByLabel("Message", { exact: true }).fill("half a");
    await warren.kill();
    await page.getByText("Connection lost. Reconnecting…").waitFor();
    await warren.startAgain();
    await agent.answer(claimed, "I carried on.");
    await page.getByText("I carried on.").waitFor();
    await page.getByText("Answered", { exact: true }).waitFor();
    await live(page);
    expect((await shown(page)).map(({ text }) => text)).toEqual(["carry on", "I carried on."]);
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("half a");
  });

  it("is renamed, searched by words, and deleted", async () => {
    const agent = await Agent.join(warren, "archive");
    const { page } = await operator(browser, warren, chatOf(agent.workspace));
    await send(page, "the quarterly report");
    await agent.answer(await agent.claim(), "Its numbers are good.");
    await page.getByText("Its numbers are good.").waitFor();
    await page.getByRole("button", { name: "Rename this conversation" }).click();
    await page.getByLabel("Title").fill("Finances");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await page.getByRole("heading", { name: "Finances" }).waitFor();
    await page.getByRole("link", { name: "New conversation" }).click();
    await page.getByRole("heading", { name: "New conversation" }).waitFor();

    await page.getByLabel("Search messages").fill("numb");
    const found = page.getByRole("navigation", { name: "Found messages" });
    await found.getByText("1 found").waitFor();
    await found.getByRole("link", { name: /Finances.*Its numbers are good\./ }).click();
    await page.getByRole("log").getByText("the quarterly report").waitFor();
    await page.locator("[data-sought]", { hasText: "Its numbers are good." }).waitFor();
    await page.getByLabel("Search messages").fill("nowhere");
    await found.getByText("Nothing was found.").waitFor();
    await page.getByLabel("Search messages").press("Escape");

    await page.getByRole("button", { name: "Delete this conversation" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("None yet.").waitFor();
  });

  it("shows earlier messages when asked to, each once and in order", async () => {
    const agent = await Agent.join(warren, "long");
    const base = `/workspaces/${agent.workspace.id}/conversations`;
    const { id } = await warren.api<{ id: string }>("POST", base, { title: "long" });
    for (let count = 0; count < 60; count += 1) {
      await warren.api("POST", `${base}/${id}/messages`, { message: { parts: [{ text: `line ${count}` }] } });
    }
    const { page } = await operator(browser, warren, chatOf(agent.workspace));
    await page.getByText("line 59", { exact: true }).waitFor();
    expect(await page.getByText("line 0", { exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: "Show earlier messages" }).click();
    await page.getByText("line 0", { exact: true }).waitFor();
    const texts = (await shown(page)).map(({ text }) => text);
    expect(texts).toEqual(Array.from({ length: 60 }, (_, count) => `line ${count}`));
    // A search leads to a message that is not on the first page.
    await page.goto(`${warren.url}${chatOf(agent.workspace)}`);
    await page.getByText("line 59", { exact: true }).waitFor();
    await page.getByLabel("Search messages").fill("line 3");
    await page.getByRole("link", { name: /line 3 / }).click();
    await page.locator("[data-sought]", { hasText: "line 3" }).waitFor();
    expect(await page.locator("[data-sought] .message-body").textContent()).toBe("line 3");
  });
});

// X30: whoever speaks is shown as what it is
it("a message of another agent never looks like a person's", async () => {
  const agent = await Agent.join(warren, "many-voices");
  const other = await Agent.join(warren, "neighbour", { parent_id: agent.workspace.id });
  const { page } = await operator(browser, warren, chatOf(agent.workspace));
  await send(page, "mine");
  await page.getByRole("log").getByText("mine").waitFor();
  const conversation = new URL(page.url()).searchParams.get("conversation");
  await agent.answer(await agent.claim(), "hm");
  await other.tell(agent.workspace, "theirs", conversation ?? "");
  await page.getByRole("log").getByText("theirs").waitFor();
  const voices = (await shown(page)).map(({ look, head, kind, text }) => [look, head, kind, text]);
  expect(voices).toEqual([
    ["me", "You", "person", "mine"],
    ["agent", "many-voices", "agent", "hm"],
    ["agent", "neighbour", "agent", "theirs"],
  ]);
});

// X31, X32
describe("a file", () => {
  it("that an agent tells people about shows up by itself and downloads as it is", async () => {
    const agent = await Agent.join(warren, "reporter");
    await warren.write(agent.workspace, "out/report & more.csv", "a,b\n1,2\n");
    const { page } = await operator(browser, warren, chatOf(agent.workspace));
    await page.getByText("None yet.").waitFor();
    await agent.notify("The report is done", ["out/report & more.csv"]);
    await page.getByRole("link", { name: /Notices/ }).click();
    await page.getByText("The report is done").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download report & more.csv" }).click();
    const file = await download;
    expect(file.suggestedFilename()).toContain("report");
    expect(readFileSync(await file.path(), "utf8")).toBe("a,b\n1,2\n");
    const [message] = await shown(page);
    expect([message?.look, message?.head, message?.kind]).toEqual(["agent", "reporter", "agent"]);
  });

  it("goes with a message, reaches the agent, and can be saved again", async () => {
    const agent = await Agent.join(warren, "reader");
    const { page, faults } = await operator(browser, warren, chatOf(agent.workspace));
    await page.getByLabel("Files to attach").setInputFiles({
      name: "notes.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("écrit"),
    });
    await page.getByRole("list", { name: "Attached files" }).getByText("notes.txt").waitFor();
    await send(page, "read this");
    const { message } = await agent.claim();
    expect(message.parts[1]).toMatchObject({ filename: "notes.txt", media_type: "text/plain" });
    // It is a file of the workspace, as any other upload.
    expect(message.parts[1]?.url).toMatch(/^workspace:uploads\/.+\/notes\.txt$/);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download notes.txt" }).click();
    expect(readFileSync(await (await download).path(), "utf8")).toBe("écrit");
    expect(faults).toEqual([]);
  });
});

// X32
it("a file that cannot be taken is told of, sends nothing, and the next try does without it", async () => {
  const agent = await Agent.join(warren, "careful");
  const { page } = await operator(browser, warren, chatOf(agent.workspace));
  const box = page.getByLabel("Files to attach");
  await box.setInputFiles({ name: "not.png", mimeType: "image/png", buffer: Buffer.from("no picture") });
  await box.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("x") });
  await send(page, "look");
  const problem = page.getByRole("alert").filter({ hasText: "The message was not sent" });
  await problem.getByText(/file\[0\]/).waitFor();
  await page.getByText("None yet.").waitFor();
  await page.getByRole("button", { name: "Remove not.png" }).click();
  await page.getByRole("button", { name: "Send" }).click();
  const { message } = await agent.claim();
  expect(message.parts.map(({ text, filename }) => text ?? filename)).toEqual(["look", "notes.txt"]);
});

// X34
it("progress keeps its last 20 lines and folds what repeats", async () => {
  const agent = await Agent.join(warren, "runner");
  const { page } = await operator(browser, warren, chatOf(agent.workspace));
  await send(page, "go");
  const claimed = await agent.claim();
  for (let step = 1; step <= 25; step += 1) await agent.progress(claimed, `step ${step}`);
  for (let again = 0; again < 3; again += 1) await agent.progress(claimed, "waiting for the build");
  const lines = page.getByRole("list", { name: "Progress, newest first" }).getByRole("listitem");
  await lines.first().getByText("waiting for the build").waitFor();
  await lines.first().getByText("3 times").waitFor();
  expect(await lines.count()).toBe(20);
  const texts = await page.locator(".progress-text").allTextContents();
  const steps = Array.from({ length: 19 }, (_, count) => `step ${25 - count}`);
  expect(texts).toEqual(["waiting for the build", ...steps]);
});

// X30, sec: what an author wrote stays text
it("hostile words stay words: no markup, no links that run, no requests elsewhere", async () => {
  const agent = await Agent.join(warren, "mallory");
  const visit = await operator(browser, warren, chatOf(agent.workspace));
  const { page } = visit;
  const words = [
    "<img src=http://127.0.0.1:9/x onerror=window.hit=1>",
    "<script>window.hit=2</script>",
    "[click](javascript:window.hit=3) javascript:window.hit=4",
    "![x](http://127.0.0.1:9/y.png)",
    "data:text/html,<script>window.hit=5</script>",
  ].join("\n");
  await send(page, words);
  const parts = [
    { text: words },
    { url: "javascript:window.hit=6", filename: "<b>report</b>.pdf" },
    { url: "https://user:secret@127.0.0.1:9/z" },
    { data: { html: "<img src=x onerror=window.hit=7>" } },
  ];
  await agent.answer(await agent.claim(), "", { message: { parts } });
  await page.locator("summary", { hasText: "Data" }).click();
  const log = page.getByRole("log");
  await log.getByText("window.hit=7").waitFor();
  const [mine, theirs] = await shown(page);
  // An image is an address like any other: shown, never fetched. Lines are broken by elements, which have no text.
  const asShown = words.replace("![x](", "x (").replaceAll("\n", "");
  expect(mine?.text).toBe(asShown);
  expect(theirs?.text).toContain(asShown);
  expect(theirs?.text).toContain("<b>report</b>.pdf: javascript:window.hit=6");
  expect(await log.locator("img, script, iframe, object, b").count()).toBe(0);
  const links = await log
    .locator("a")
    .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
  expect(links.filter((href) => !href.startsWith("http:"))).toEqual([]);
  expect(await page.evaluate(() => (window as unknown as { hit?: number }).hit)).toBeUndefined();
  expect(visit.strangers).toEqual([]);
  expect(visit.faults).toEqual([]);
});

// X51, S41
it("a question of the agent is decided beside the chat, and the agent hears it", async () => {
  const agent = await Agent.join(warren, "deployer");
  const { page } = await operator(browser, warren, chatOf(agent.workspace));
  await send(page, `${"line\n".repeat(60)}release it`);
  await page.getByRole("log").getByText("release it").waitFor();
  const { id } = await agent.ask("deploy", "All tests pass.", { version: "1.2" });
  const questions = page.getByRole("list", { name: "Waiting for a decision" });
  await questions.getByText("All tests pass.").waitFor();
  // The question takes room from the messages, and the last of them stays in sight.
  const isAtEnd = () =>
    page.getByRole("log").evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2);
  await expect.poll(isAtEnd, { timeout: 20_000 }).toBe(true);
  await questions.getByLabel("Note to the agent about deploy").fill("after lunch");
  await questions.getByRole("button", { name: "Approve deploy" }).click();
  await questions.waitFor({ state: "detached" });
  const decided = await warren.api("GET", `/approvals/${id}`);
  expect(decided).toMatchObject({ state: "approved", note: "after lunch", decided_by: { kind: "user" } });
});
