// Sequences that reach beyond the terminal itself do nothing: a program must not write the clipboard, rename the page,
// plant links or recolour what is hard to read then, and gets no answer to questions about them (sec/T08).
import type { Terminal } from "@xterm/xterm";

/** Titles and icons, links, colours set or asked for, notifications, the clipboard. */
const OPERATING_SYSTEM_COMMANDS = [0, 1, 2, 4, 7, 8, 9, 10, 11, 12, 50, 52, 104, 110, 111, 112, 777, 1337];

export function makeInert(terminal: Terminal): void {
  const swallow = () => true;
  for (const number of OPERATING_SYSTEM_COMMANDS) terminal.parser.registerOscHandler(number, swallow);
  // DECRQSS and XTGETTCAP: their answers would be typed into whatever reads next.
  terminal.parser.registerDcsHandler({ intermediates: "$", final: "q" }, swallow);
  terminal.parser.registerDcsHandler({ intermediates: "+", final: "q" }, swallow);
  // Window manipulation and reports of it.
  terminal.parser.registerCsiHandler({ final: "t" }, swallow);
}
