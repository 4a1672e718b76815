import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, live, operator } from "./browser";
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

/** What the terminal shows, without the space that fills its lines. */
const screen = async (page: Page) =>
  (await page.locator(".xterm-rows > div").allTextContents()).map((line) => line.trimEnd()).join("\n");

async function see(page: Page, text: string): Promise<void> {
  await expect.poll(() => screen(page), { timeout: 20_000 }).toContain(text);
}

async function openTerminal(page: Page): Promise<void> {
  await page.getByRole("button", { name: "New terminal" }).click();
  await page.getByText(/Connected to process/).waitFor();
}

// S41, S46, W30
describe("a terminal", () => {
  it("takes what is typed, shows what comes, and is shown again after a reload", async () => {
    const workspace = await warren.create("desk");
    const { page, faults, strangers } = await operator(
      browser,
      warren,
      `/workspaces/${workspace.id}/terminal`,
    );
    await page.getByText("Nothing runs in the background").waitFor();
    await openTerminal(page);
    await page.keyboard.type("x=kept; echo h''i; stty size\n");
    await see(page, "\nhi\n");
    const rows = await page.locator(".xterm-rows > div").count();
    await see(page, `\n${rows} `);
    if (process.env.WARREN_SCREENSHOTS) {
      await page.screenshot({ path: `${process.env.WARREN_SCREENSHOTS}/terminal.png` });
    }

    await page.reload();
    await live(page);
    await page.getByText(/Connected to process 1/).waitFor();
    await see(page, "\nhi\n");
    await page.keyboard.type("echo $x again\n");
    await see(page, "\nkept again\n");

    await page.setViewportSize({ width: 800, height: 700 });
    await page.keyboard.type("clear; echo $COLUMNS wide; stty size\n");
    await expect.poll(async () => Number(/\n\d+ (\d+)/.exec(await screen(page))?.[1])).toBeLessThan(100);

    await page.keyboard.type("exit 4\n");
    await page.getByText("The process has ended: exit code 4.").waitFor();
    await page.getByRole("cell", { name: "exit code 4" }).waitFor();
    expect(faults).toEqual([]);
    expect(strangers.filter((url) => !url.startsWith(warren.url.replace("http", "ws")))).toEqual([]);
  });

  it("is left by keyboard", async () => {
    const workspace = await warren.create("keys");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/terminal`);
    await openTerminal(page);
    await page.keyboard.press("Tab");
    await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain("xterm");
    await page.keyboard.press("Control+Shift+KeyL");
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("New terminal");
  });

  it("lists processes of others, attaches to one and stops one", async () => {
    const workspace = await warren.create("shop");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/terminal`);
    await warren.api("POST", `/workspaces/${workspace.id}/processes`, {
      command: "echo from elsewhere; sleep 600",
    });
    await page.getByRole("button", { name: "Attach to process 1, sh" }).click();
    await see(page, "from elsewhere");
    await page.getByRole("button", { name: "Stop process 1, sh" }).click();
    await page.getByText("The process has ended: ended by signal 15.").waitFor();
    await page.getByRole("cell", { name: "ended by signal 15" }).waitFor();
  });

  // sec/T08
  it("gives a program no hold on the clipboard, the title, links, or what is typed", async () => {
    const workspace = await warren.create("prankster");
    const { page, strangers } = await operator(browser, warren, `/workspaces/${workspace.id}/terminal`, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.evaluate(() => navigator.clipboard.writeText("mine"));
    const title = await page.title();
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await openTerminal(page);
    await warren.write(
      workspace,
      "attack",
      [
        "\x1b]52;c;b3duZWQ=\x07",
        "\x1b]0;owned\x07\x1b]2;owned\x1b\\",
        "\x1b]8;;http://127.0.0.1:9/x\x1b\\link\x1b]8;;\x1b\\",
        "\x1bP$qm\x1b\\\x1bP+q544e\x1b\\\x1b[21t\x1b]10;?\x07",
        "<img src=http://127.0.0.1:9/y>\r\nover\rwritten\b\b\n",
      ].join(""),
    );
    // Whatever the terminal answered by itself would be read here.
    await page.keyboard.type(
      'cat attack; read -t 2 -s -n 99 answer; echo "[$(printf %s "$answer" | wc -c)]" done\n',
    );
    await see(page, "[0] done");
    const shown = await screen(page);
    expect(shown).toContain("link<img src=http://127.0.0.1:9/y>");
    expect(await page.title()).toBe(title);
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("mine");
    expect(await page.locator(".terminal-frame a, .terminal-frame img").count()).toBe(0);
    await page
      .locator(".xterm-rows")
      .getByText("link<img")
      .click({ force: true, position: { x: 5, y: 5 } });
    expect(dialogs).toEqual([]);
    expect(strangers.filter((url) => url.includes("127.0.0.1:9/"))).toEqual([]);
    expect(page.context().pages()).toHaveLength(1);
  });
});

// S44
describe("a terminal whose server is killed", () => {
  it("comes back with the server and says what became of its process", async () => {
    const workspace = await warren.create("phoenix");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/terminal`);
    await openTerminal(page);
    await page.keyboard.type("echo be''fore\n");
    await see(page, "before");
    await warren.kill();
    await page.getByText("Connection lost. Connecting again…").waitFor();
    await warren.startAgain();
    // This provider's processes end with the server; the page does not pass another off as the same.
    await page.getByText("This process is no longer there").waitFor();
    expect(await screen(page)).toContain("before");
    await openTerminal(page);
    await page.keyboard.type("echo af''ter\n");
    await see(page, "after");
  });
});
