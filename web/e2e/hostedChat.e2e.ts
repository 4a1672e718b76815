import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, operator } from "./browser";
import { shot } from "./shots";
import { Warren } from "./warren";
import type { ConversationPage, SessionPage } from "./wire";

let warren: Warren;
let browser: Browser;
beforeAll(async () => {
  warren = await Warren.start();
  browser = await launch();
  await warren.api("PUT", "/agents/tour", {
    name: "tour",
    model: "scripted/tour",
    policies: [{ tool: "workspace_rm", decision: "ask", reason: "it deletes" }],
  });
});
afterAll(async () => {
  await browser?.close();
  await warren?.stop();
});

// S41
describe("the chat of a hosted workspace", () => {
  it("says that it has no agent, and is given one there; its answer, calls and question show in the chat", async () => {
    const workspace = await warren.create("hosted", { provider: { kind: "sandbox" } });
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/chat`);
    await page.getByText("has no agent, and messages to it are refused").waitFor();
    await shot(page, "40-no-agent");
    await page.getByRole("button", { name: "Give it an agent" }).click();
    await page.getByLabel("Agent", { exact: true }).selectOption("tour");
    await page.getByRole("button", { name: "Give it this agent" }).click();
    await page.getByText("What you write goes to the agent of hosted.").waitFor();

    await page.getByLabel("Message", { exact: true }).fill("Show me around.");
    await page.keyboard.press("Enter");
    const work = page.getByRole("region", { name: "What the agent does" });
    await work.getByText("May the agent call workspace_rm?").waitFor();
    await work.getByText("cat hello.txt").waitFor();
    await shot(page, "41-hosted-chat");
    await work.getByRole("button", { name: "Approve workspace_rm" }).click();
    const messages = page.getByRole("log", { name: "Messages" });
    await messages.locator("[data-message]").getByText("is gone, because you said yes").waitFor();
    await page.getByText("Answered", { exact: true }).waitFor();
    // The answer stands there once: what was followed gave way to the message.
    await expect.poll(() => messages.getByText("is gone, because you said yes").count()).toBe(1);
    await shot(page, "42-hosted-answered");
    // The page follows the session that the conversation names.
    const chats = await warren.api<ConversationPage>("GET", `/workspaces/${workspace.id}/conversations`);
    const sessions = await warren.api<SessionPage>("GET", `/sessions?workspace_id=${workspace.id}`);
    expect(chats.items.map((chat) => chat.session_id)).toEqual(sessions.items.map((session) => session.id));
    await work.getByRole("link", { name: "All steps of this conversation" }).click();
    await page.locator('[data-session-status="completed"]').waitFor();
  });
});
