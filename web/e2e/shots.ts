// Pictures of the main views, for a person to look at: written where WARREN_SHOTS says, and nowhere else.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";

export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env.WARREN_SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
}
