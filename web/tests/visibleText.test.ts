import { expect, test } from "vitest";
import { visibleText } from "../src/components/visibleText";
import { gistOf } from "../src/features/sessions/words";

// sec/T08
test("characters that nobody sees are written out, and others stay", () => {
  expect(visibleText("rm\u200b -rf \u202etxt")).toBe("rm\\u{200b} -rf \\u{202e}txt");
  expect(visibleText("ls\u{e0072}\u{e006d}")).toBe("ls\\u{e0072}\\u{e006d}");
  expect(visibleText("a\u0007b")).toBe("a\\u{7}b");
  expect(visibleText("grün 緑 🦀 ❤️\n\ttwo")).toBe("grün 緑 🦀 ❤️\n\ttwo");
});

// sec/T08
test("a call's line shows what nobody would see, also where it is cut", () => {
  expect(gistOf({ argv: ["rm", "-rf", "\u{e0041}x"] })).toBe("rm -rf \\u{e0041}x");
  expect(gistOf({ command: "ls \u202e" })).toBe("command: ls \\u{202e}");
});
