import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
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

// S41, S46
describe("files", () => {
  it("are made, edited, saved, renamed and deleted", async () => {
    const workspace = await warren.create("desk");
    const { page, faults } = await operator(browser, warren, `/workspaces/${workspace.id}/files`);
    await page.getByRole("button", { name: "New file" }).click();
    await page.getByLabel("Path inside the workspace").fill("notes/plan.md");
    await page.getByRole("button", { name: "Create file" }).click();
    const text = page.getByLabel("Text of notes/plan.md");
    await text.fill("first line\nzweite Zeile – ü\n");
    await page.keyboard.press("Control+s");
    await page.getByText("No unsaved changes").waitFor();
    expect(await warren.read(workspace, "notes/plan.md")).toBe("first line\nzweite Zeile – ü\n");

    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("New path").fill("notes/done.md");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Text of notes/done.md").waitFor();
    await page.getByRole("button", { name: "Delete notes/done.md" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "done.md" }).waitFor({ state: "detached" });
    await expect(warren.read(workspace, "notes/done.md")).rejects.toThrow("file_not_found");
    expect(faults).toEqual([]);
  });

  it("are uploaded and downloaded byte for byte", async () => {
    const workspace = await warren.create("dock");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/files`);
    const buffer = Buffer.from(Uint8Array.from({ length: 70_000 }, (_, index) => (index * 31) % 256));
    await page
      .getByLabel("Files to upload")
      .setInputFiles({ name: "a b.bin", mimeType: "text/html", buffer });
    await page.getByRole("button", { name: /a b\.bin/ }).click();
    await page.getByText("This file is not text").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download a b.bin" }).click();
    const path = await (await download).path();
    expect(readFileSync(path).equals(buffer)).toBe(true);
  });

  it("changed elsewhere are shown anew, and an unsaved text is not lost to them or to a reload", async () => {
    const workspace = await warren.create("shared");
    await warren.write(workspace, "a.txt", "one");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/files?path=a.txt`);
    const text = page.getByLabel("Text of a.txt");
    await warren.write(workspace, "a.txt", "two");
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "two");
    await text.fill("mine");
    await page.reload();
    await live(page);
    expect(await text.inputValue()).toBe("mine");
    await warren.write(workspace, "a.txt", "theirs");
    await page.getByText("This file changed since you began editing.").waitFor();
    await page.getByRole("button", { name: "Keep mine" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("No unsaved changes").waitFor();
    expect(await warren.read(workspace, "a.txt")).toBe("mine");
  });

  it("whose paths lead outside are refused with the server's words", async () => {
    const workspace = await warren.create("fenced");
    const { page } = await operator(browser, warren, `/workspaces/${workspace.id}/files`);
    await page.getByRole("button", { name: "New file" }).click();
    await page.getByLabel("Path inside the workspace").fill("../../escape.txt");
    await page.getByRole("button", { name: "Create file" }).click();
    await page.getByRole("alert").getByText("path_escapes").waitFor();
  });
});

// sec/W03, S41
describe("hostile names and contents", () => {
  it("are shown as text and run nothing", async () => {
    const workspace = await warren.create("trap");
    const evil = '<img src=x onerror="window.hit=1">';
    await warren.write(workspace, evil, "<script>window.hit=1</script>");
    await warren.write(workspace, "page.html", "<script>window.hit=1</script>");
    const { page, strangers } = await operator(browser, warren, `/workspaces/${workspace.id}/files`);
    await page.getByRole("button", { name: /onerror/ }).click();
    await page.getByLabel(`Text of ${evil}`).waitFor();
    await page.goto(`${warren.url}/workspaces/${workspace.id}/activity`);
    await page
      .getByText(/onerror/)
      .first()
      .waitFor();
    expect(await page.evaluate(() => (window as unknown as { hit?: number }).hit)).toBeUndefined();
    expect(await page.locator("main img").count()).toBe(0);
    expect(strangers).toEqual([]);

    // Opened by itself, a file is a download and never a page.
    const download = page.waitForEvent("download");
    await page.evaluate((url) => window.open(url), `/api/v1/workspaces/${workspace.id}/files?path=page.html`);
    const opened = page
      .context()
      .waitForEvent("page", { timeout: 1_000 })
      .catch(() => undefined);
    await Promise.race([download, opened.then((other) => other?.waitForEvent("download"))]);
  });
});
