import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, live, operator } from "./browser";
import { shot } from "./shots";
import { Warren } from "./warren";
import type { Session, Workspace } from "./wire";

/** Asks the user, and says what they said. */
const ASKING = `
turns:
  - when: { result_of: ask_user }
    text: "You said: {last_result}"
  - text: "I have a question."
    calls:
      - tool: ask_user
        arguments: { question: "Which colour?", choices: [red, blue] }
`;

/** Says forty lines, for some ten seconds. */
const SLOW = `
turns:
  - text: "${Array.from({ length: 40 }, (_, index) => `line ${index + 1} of 40.`).join("\\n")}"
    chunk_characters: 12
    delay_ms: 200
  - when: { user_contains: enough }
    text: "As you like."
`;

let warren: Warren;
let browser: Browser;
beforeAll(async () => {
  warren = await Warren.start({ asking: ASKING, slow: SLOW });
  browser = await launch();
  await warren.api("PUT", "/agents/tour", {
    name: "tour",
    model: "scripted/tour",
    policies: [{ tool: "workspace_rm", decision: "ask", reason: "it deletes" }],
  });
  for (const name of ["asking", "slow"]) {
    await warren.api("PUT", `/agents/${name}`, { name, model: `scripted/${name}` });
  }
});
afterAll(async () => {
  await browser?.close();
  await warren?.stop();
});

const open = (workspace: Workspace, agent: string) =>
  warren.api<Session>("POST", "/sessions", { workspace_id: workspace.id, agent });
const say = (session: Session, text: string) =>
  warren.api("POST", `/sessions/${session.id}/messages`, { text });

async function begin(workspace: Workspace, agent = "tour"): Promise<Session> {
  const session = await open(workspace, agent);
  await say(session, "Show me around.");
  return session;
}

/** In a box, as a newcomer's first agent is. */
const boxed = (name: string) => warren.create(name, { provider: { kind: "sandbox" } });

const addressOf = ({ workspace_id, name }: Session, view = "") =>
  `/workspaces/${workspace_id}/sessions?session=${name}${view && `&view=${view}`}`;

const asks = (page: Page) => page.getByText("May the agent call workspace_rm?").waitFor();
const status = (page: Page, word: string) => page.locator(`[data-session-status="${word}"]`).waitFor();
const log = (page: Page) => page.getByRole("log", { name: "Conversation" });
const stepsOf = (page: Page) =>
  page
    .locator("[data-step]")
    .evaluateAll((items) => items.map((one) => Number(one.getAttribute("data-step"))));

// S41, A60
describe("a session on the page", () => {
  it("is begun from its tab with an agent that is made there, and is found by its status", async () => {
    const workspace = await boxed("begun-here");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/sessions`);
    await page.getByText("No session yet").waitFor();
    await shot(page, "10-no-session");
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByLabel("Agent", { exact: true }).selectOption({ label: "A new agent…" });
    await page.getByLabel("Name of the agent").fill("echo-helper");
    await page.getByLabel("Model", { exact: true }).fill("scripted/echo");
    const markdown =
      "# Title\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```js\nlet x = 1;\n```\n\n- one\n- <img src=x onerror=alert(1)>";
    await page.getByLabel("First message (optional)").fill(markdown);
    await shot(page, "11-new-session");
    await page.getByRole("button", { name: "Begin" }).click();
    await status(page, "completed");
    const answer = log(page).locator('[data-look="agent"]');
    await answer.getByRole("heading", { name: "Title" }).waitFor();
    await answer.getByRole("cell", { name: "2" }).waitFor();
    await answer.getByText("<img src=x onerror=alert(1)>").waitFor();
    expect(await answer.locator("img").count()).toBe(0);
    await shot(page, "12-markdown");
    await page.getByRole("link", { name: "All sessions" }).click();
    const rows = page.getByRole("list", { name: "Sessions, the newest first" });
    await rows.getByText("echo-helper").waitFor();
    await page.getByLabel("Show").selectOption("failed");
    await page.getByText("No session is failed").waitFor();
    await page.getByLabel("Show").selectOption("completed");
    await rows.getByText("echo-helper").waitFor();
    await shot(page, "13-sessions");
  });

  it("goes on after a reload in the middle of its stream, with nothing missing and nothing twice", async () => {
    const workspace = await boxed("reloaded");
    const session = await open(workspace, "slow");
    const { page } = await operator(browser, warren, addressOf(session));
    await say(session, "Count.");
    await log(page).getByText("line 3 of 40.").waitFor();
    await page.reload();
    await log(page).getByText("line 3 of 40.").waitFor();
    // Still under way: the reload did not end it, and neither did it wait for the end.
    expect(await page.locator('[data-session-status="running"]').count()).toBe(1);
    await shot(page, "14-streaming");
    await status(page, "completed");
    const text = (await log(page).locator('[data-look="agent"] .markdown').textContent()) ?? "";
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index + 1} of 40.`);
    expect(text.match(/line \d+ of 40\./g)).toEqual(lines);
    await page.reload();
    await status(page, "completed");
    await log(page).getByText("line 40 of 40.").waitFor();
    expect(await stepsOf(page)).toEqual([1]);
  });

  it("asks its user, who presses one of the choices", async () => {
    const workspace = await boxed("asked");
    const session = await begin(workspace, "asking");
    const { page } = await operator(browser, warren, addressOf(session));
    const question = page.getByRole("list", { name: "Waits for you" });
    await question.getByText("Which colour?").waitFor();
    await shot(page, "23-question");
    await question.getByRole("button", { name: "blue" }).click();
    await log(page).getByText("You said: blue").waitFor();
    await status(page, "completed");
  });

  it("waits for its approval through a kill of the server; what was typed stays, and it is approved after", async () => {
    const workspace = await boxed("survives");
    const session = await begin(workspace);
    const { page } = await operator(browser, warren, addressOf(session));
    await asks(page);
    await page.getByLabel("Message", { exact: true }).fill("typed, not sent");
    await page.getByLabel("Note to the agent about workspace_rm").fill("go ahead");
    await warren.kill();
    await page.locator('[data-stream="waiting"], [data-stream="connecting"]').first().waitFor();
    await page.locator(".session[data-stale]").waitFor();
    await shot(page, "24-server-away");
    await warren.startAgain();
    await live(page);
    await page.locator('[data-stream="live"]').waitFor();
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("typed, not sent");
    expect(await page.getByLabel("Note to the agent about workspace_rm").inputValue()).toBe("go ahead");
    await page.getByRole("button", { name: "Approve workspace_rm" }).click();
    await status(page, "completed");
    await log(page).getByText("is gone, because you said yes").waitFor();
    expect(await stepsOf(page)).toEqual([1, 2, 3, 4]);
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("typed, not sent");
  });
});

// A30
describe("a call that waits for a person", () => {
  it("is denied with a reason, which the agent is told", async () => {
    const workspace = await boxed("denied");
    const session = await begin(workspace);
    const { page } = await operator(browser, warren, addressOf(session));
    await asks(page);
    await page.getByLabel("Note to the agent about workspace_rm").fill("keep it");
    await page.getByRole("button", { name: "Deny workspace_rm" }).click();
    await log(page).getByText("stays where it is").waitFor();
    const call = log(page).locator('[data-call="call_3_0"]');
    await call.getByRole("button").click();
    await call.getByText("Denied: keep it").waitFor();
    expect(await warren.read(workspace, "hello.txt")).toBe("Hello from your first agent.\n");
  });

  it("is carried out with the arguments that a person put in their place, and both are shown", async () => {
    const workspace = await boxed("edited");
    await warren.write(workspace, "other.txt", "to be removed");
    const session = await begin(workspace);
    const { page } = await operator(browser, warren, addressOf(session));
    await asks(page);
    await page.getByRole("button", { name: "Edit the arguments of workspace_rm" }).click();
    await page.getByLabel("Arguments, as JSON").fill("{ no");
    await page.getByRole("button", { name: "Approve workspace_rm" }).click();
    await page.getByText("These arguments are not a JSON object.").waitFor();
    await page.getByLabel("Arguments, as JSON").fill('{"path": "other.txt"}');
    await shot(page, "15-edited-arguments");
    await page.getByRole("button", { name: "Approve workspace_rm" }).click();
    await status(page, "completed");
    const call = log(page).locator('[data-call="call_3_0"]');
    await call.getByRole("button").click();
    await call.getByText("Carried out with").waitFor();
    expect(await call.locator("pre").nth(0).textContent()).toContain("hello.txt");
    expect(await call.locator("pre").nth(1).textContent()).toContain("other.txt");
    await shot(page, "16-call-opened");
    expect(await warren.read(workspace, "hello.txt")).toBe("Hello from your first agent.\n");
    await expect(warren.read(workspace, "other.txt")).rejects.toThrow("404");
  });

  it("is always allowed after one word, until the rule is revoked in the list of its workspace", async () => {
    const workspace = await boxed("always");
    const { page } = await operator(browser, warren, addressOf(await begin(workspace)));
    const questions = page.getByText("May the agent call workspace_rm?");
    await asks(page);
    await shot(page, "17-always-allow");
    await page.getByRole("button", { name: "Always allow workspace_rm in this workspace" }).click();
    await page.getByText("Approved, and workspace_rm is always allowed in this workspace").waitFor();
    await status(page, "completed");

    await page.goto(warren.url + addressOf(await begin(workspace)));
    await status(page, "completed");
    await log(page).getByText("is gone, because you said yes").waitFor();
    expect(await questions.count()).toBe(0);

    await page.goto(`${warren.url}/workspaces/${workspace.id}/sessions`);
    const rules = page.getByRole("region", { name: "Tool rules" });
    await rules.getByText("always allowed").waitFor();
    await shot(page, "18-tool-rules");
    await rules.getByRole("button", { name: "Revoke the rule about workspace_rm" }).click();
    await rules.getByRole("listitem").waitFor({ state: "detached" });
    await rules.getByText("None.").waitFor();

    await page.goto(warren.url + addressOf(await begin(workspace)));
    await asks(page);
  });

  it("that somebody else decided first says so", async () => {
    const workspace = await boxed("quicker");
    const session = await begin(workspace);
    const { page } = await operator(browser, warren, addressOf(session));
    await asks(page);
    await page.route("**/approvals", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      const body = route.request().postDataJSON() as { approval_id: string };
      await warren.api("POST", `/approvals/${body.approval_id}/approve`, { note: null });
      return route.continue();
    });
    await page.getByRole("button", { name: "Deny workspace_rm" }).click();
    // Decided once, as the first one said; the page shows that and asks no more.
    await log(page).getByText("is gone, because you said yes").waitFor();
    await page.getByText("May the agent call workspace_rm?").waitFor({ state: "detached" });
  });
});

// A14, A32, A34
describe("a run under way", () => {
  it("takes a message for later, which can be taken back, and is stopped and resumed", async () => {
    const workspace = await boxed("stopped");
    const session = await begin(workspace);
    const { page } = await operator(browser, warren, addressOf(session));
    await asks(page);
    await page.getByLabel("Message", { exact: true }).fill("and then this");
    await page.keyboard.press("Enter");
    const queue = page.getByRole("list", { name: "Messages that wait" });
    await queue.getByText("and then this").waitFor();
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("");
    await page.getByRole("button", { name: "Take back: and then this" }).click();
    await queue.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await status(page, "interrupted");
    await page.getByText("The run was stopped. It can go on where it was.").waitFor();
    await shot(page, "17-stopped");
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.locator('[data-session-status="interrupted"]').waitFor({ state: "detached" });
  });

  it("is stopped while it speaks, and what was said to steer it is heard", async () => {
    const workspace = await boxed("steered");
    const session = await open(workspace, "slow");
    const { page } = await operator(browser, warren, addressOf(session));
    await say(session, "Count.");
    await log(page).getByText("line 2 of 40.").waitFor();
    await page.getByLabel("A run is under way. Deliver").selectOption("interrupt");
    await page.getByLabel("Message", { exact: true }).fill("Enough.");
    await page.keyboard.press("Enter");
    await log(page).getByText("As you like.").waitFor();
    await status(page, "completed");
    expect(await log(page).getByText("line 40 of 40.").count()).toBe(0);
  });

  it("that is aborted fails, and says so", async () => {
    const workspace = await boxed("aborted");
    const session = await begin(workspace);
    const { page } = await operator(browser, warren, addressOf(session));
    await asks(page);
    await page.getByRole("button", { name: "Abort" }).click();
    await page.getByRole("button", { name: "Abort the run" }).click();
    await status(page, "failed");
    await shot(page, "18-aborted");
  });

  it("whose budget is used up goes on with more", async () => {
    await warren.api("PUT", "/agents/short", {
      name: "short",
      model: "scripted/tour",
      limits: { run: { steps: 2 } },
    });
    const workspace = await boxed("spent");
    const session = await begin(workspace, "short");
    const { page } = await operator(browser, warren, addressOf(session));
    await page.getByText("The budget of this run is used up.").waitFor();
    await shot(page, "19-budget");
    expect(Number(await page.getByLabel("Steps").inputValue())).toBeGreaterThan(3);
    await page.getByRole("button", { name: "Go on with these limits" }).click();
    await status(page, "completed");
  });
});

// S41, A19, A70
describe("the steps of a session", () => {
  it("stand in a timeline; each shows what the model was shown, and can be branched from and gone back to", async () => {
    const workspace = await boxed("history");
    const session = await begin(workspace);
    const { page } = await operator(browser, warren, addressOf(session));
    await asks(page);
    await page.getByRole("button", { name: "Approve workspace_rm" }).click();
    await status(page, "completed");
    await page.getByRole("link", { name: "Timeline" }).click();
    const timeline = page.getByRole("list", { name: "Steps" });
    await timeline.getByRole("heading", { name: "Step 4" }).waitFor();
    expect(await stepsOf(page)).toEqual([1, 2, 3, 4]);
    await timeline.locator('[data-step="2"]').getByText("scripted/tour").waitFor();
    await shot(page, "20-timeline");

    await page.getByRole("button", { name: "Context of step 2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Tool definitions").waitFor();
    await dialog.getByText("Show me around.").first().waitFor();
    await shot(page, "21-context");
    await dialog.getByRole("button", { name: "Close" }).click();

    await page.getByRole("button", { name: "Branch from step 2" }).click();
    await dialog.getByLabel("Name of the new session (optional)").fill("branched");
    await dialog.getByRole("button", { name: "Branch", exact: true }).click();
    await page.getByText("branched from step 2").waitFor();
    await log(page).getByText("Now I run a command").waitFor();
    await log(page).getByText("Show me around.").waitFor();
    expect(await stepsOf(page)).toEqual([1, 2]);
    await page.getByLabel("Message", { exact: true }).fill("And now?");
    await page.keyboard.press("Enter");
    await log(page).getByText("And now?").waitFor();
    await expect.poll(() => stepsOf(page)).toContain(3);
    await shot(page, "22-branch");

    await page.goto(warren.url + addressOf(session, "timeline"));
    await page.getByRole("button", { name: "Rewind to step 2" }).click();
    await dialog.getByRole("button", { name: "Rewind", exact: true }).click();
    await expect.poll(() => stepsOf(page)).toEqual([1, 2]);
    await page.getByRole("link", { name: "Conversation" }).click();
    await status(page, "idle");
    expect(await stepsOf(page)).toEqual([1, 2]);
    await page.reload();
    await log(page).getByText("Now I run a command").waitFor();
    expect(await stepsOf(page)).toEqual([1, 2]);
  });
});
