// Says in a sentence what is missing, before the first test fails for it.
import { accessSync, constants } from "node:fs";

export const CHROMIUM = "/usr/bin/chromium";

export default function setup(): void {
  const binary = process.env.WARREN_BIN;
  if (!binary) throw new Error("WARREN_BIN is not set: it must name the warren binary to test against.");
  if (!isExecutable(binary)) throw new Error(`WARREN_BIN names ${binary}, which is not an executable file.`);
  if (!isExecutable(CHROMIUM)) {
    throw new Error(
      `${CHROMIUM} is missing: install the Debian package chromium (apt-get install chromium).`,
    );
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
