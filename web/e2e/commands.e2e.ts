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

async function run(page: Page, command: string): Promise<void> {
  await page.getByLabel("Command", { exact: true }).fill(command);
  await page.keyboard.press("Enter");
}

// S41, S46
describe("a command", () => {
  it("shows its output while it runs, then its exit code", async () => {
    const workspace = await warren.create("bench");
    const { page, faults } = await operator(browser, warren, `/workspaces/${workspace.id}/run`);
    // It goes on only when the test has seen the first part, so seeing that part proves the stream.
    await run(page, "echo first; while [ ! -e go ]; do sleep 0.05; done; echo oops >&2; exit 3");
    const output = page.getByRole("log");
    await output.getByText("first").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await warren.write(workspace, "go", "");
    await page.getByText("exit code 3").waitFor();
    expect(await output.textContent()).toBe("first\noops\n");
    expect(faults).toEqual([]);
  });

  it("is taken as words without a shell when asked to", async () => {
    const workspace = await warren.create("words");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/run`);
    await page.getByRole("radio", { name: "Words" }).check();
    await run(page, "printf '%s|' \"a b\" $HOME ; *");
    await page.getByText("exit code 0").waitFor();
    expect(await page.getByRole("log").textContent()).toBe("a b|$HOME|;|*|");
  });

  it("is ended by the stop button", async () => {
    const workspace = await warren.create("stopper");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/run`);
    await run(page, "echo $$ > pid; echo started; sleep 60");
    await page.getByRole("log").getByText("started").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("stopped").waitFor();
    const pid = Number(await warren.read(workspace, "pid"));
    await gone(pid);
  });

  it("whose page is reloaded in the middle is told as not seen to its end, and the page is right again", async () => {
    const workspace = await warren.create("reloaded");
    await warren.write(workspace, "a.txt", "before");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/files?path=a.txt`);
    await page.getByLabel("Text of a.txt").fill("after");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("No unsaved changes").waitFor();

    await page.getByRole("link", { name: "Run" }).click();
    await run(page, "echo so far; sleep 60");
    await page.getByRole("log").getByText("so far").waitFor();
    await page.getByLabel("Command", { exact: true }).fill("typed but not sent");
    await page.reload();
    await live(page);
    await page.getByText("end not seen").waitFor();
    expect(await page.getByRole("log").textContent()).toContain("so far");
    expect(await page.getByLabel("Command", { exact: true }).inputValue()).toBe("typed but not sent");
    await run(page, "cat a.txt");
    await page.getByText("exit code 0").waitFor();
    expect(await page.getByRole("log").first().textContent()).toBe("after");
  });

  it("that prints markup, terminal titles, links and clipboard writes prints only text", async () => {
    const workspace = await warren.create("printer");
    const { page, strangers } = await operator(browser, warren, `/workspaces/${workspace.id}/run`);
    const title = await page.title();
    await run(
      page,
      String.raw`printf '<img src=http://127.0.0.1:9/x onerror=window.hit=1>\n\033]0;owned\007\033]52;c;aGk=\007\033]8;;http://evil/\033\\text\033]8;;\033\\\033[2J \033[31mred\033[0m\n'`,
    );
    await page.getByText("exit code 0").waitFor();
    expect(await page.getByRole("log").textContent()).toBe(
      "<img src=http://127.0.0.1:9/x onerror=window.hit=1>\ntext red\n",
    );
    expect(await page.locator("main img, main [role=log] a").count()).toBe(0);
    expect(await page.evaluate(() => (window as unknown as { hit?: number }).hit)).toBeUndefined();
    expect(await page.title()).toBe(title);
    expect(strangers).toEqual([]);
  });

  it("that cannot be started says why, in the server's words", async () => {
    const workspace = await warren.create("refuser");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/run`);
    await page.getByRole("radio", { name: "Words" }).check();
    await run(page, "no-such-program-here");
    await page.getByRole("alert").getByText("program_not_found").waitFor();
  });
});

/** Waits until no process has this id. */
async function gone(pid: number): Promise<void> {
  const isThere = () => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };
  await expect.poll(isThere, { timeout: 20_000 }).toBe(false);
}
