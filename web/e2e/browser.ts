// A real Chromium. Each test gets a person of its own: fresh cookies, fresh storage.
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { CHROMIUM } from "./setup";
import type { Warren } from "./warren";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

export interface Visit {
  page: Page;
  /** Scripts that failed, refused by the content policy or by themselves. */
  faults: string[];
  /** Requests that left the server's own address. */
  strangers: string[];
}

/** Somebody with no session. */
export async function visitor(
  browser: Browser,
  warren: Warren,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const faults: string[] = [];
  const strangers: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) faults.push(message.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(warren.url) && !/^(data|blob):/.test(url)) strangers.push(url);
  });
  return { page, faults, strangers };
}

/** Somebody who opened a sign-in link and is looking at a live page. */
export async function operator(
  browser: Browser,
  warren: Warren,
  path = "/",
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const visit = await visitor(browser, warren, options);
  await visit.page.goto(await warren.link());
  await live(visit.page);
  if (path !== "/") {
    await visit.page.goto(warren.url + path);
    await live(visit.page);
  }
  return visit;
}

/** Waits until the page says that it is live. */
export async function live(page: Page): Promise<void> {
  await page.locator('.live[data-phase="live"]').waitFor();
}
