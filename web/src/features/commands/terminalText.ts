// What a program printed, as text with a little style. Programs may print anything, so everything here is inert:
// colours and weight become class names from a fixed set; titles, links, cursor moves and every other sequence
// are dropped; control characters are dropped. Text arrives in pieces that may cut a sequence in two.

export interface Span {
  text: string;
  /** Class names, from the fixed set below. */
  style: string;
}

export interface TerminalText {
  spans: readonly Span[];
  /** Text left out at the start, to keep the page light. */
  droppedChars: number;
  /** The beginning of a sequence whose end has not come yet. */
  pending: string;
  style: Style;
}

interface Style {
  isError: boolean;
  colour: number | undefined;
  isBold: boolean;
}

export const KEPT_CHARS = 200_000;
const SPAN_CHARS = 4_096;
/** A sequence that has not ended after this many characters is no sequence. */
const SEQUENCE_CHARS = 4_096;

export const emptyText: TerminalText = {
  spans: [],
  droppedChars: 0,
  pending: "",
  style: { isError: false, colour: undefined, isBold: false },
};

// CSI (colours, cursor), OSC and the other strings (titles, links, clipboard), and two-character escapes.
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control characters looked for
  /(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~])|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[\s\S]*?(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-Z\\`-~]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control characters looked for
const UNFINISHED = /(?:\x1b|[\x9b\x9d\x90\x98\x9e\x9f])[\s\S]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control characters dropped
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

export function append(before: TerminalText, piece: string, isError: boolean): TerminalText {
  let text = before.pending + piece;
  const style: Style = { ...before.style, isError };
  const spans = [...before.spans];
  let pending = "";

  let from = 0;
  SEQUENCE.lastIndex = 0;
  for (let match = SEQUENCE.exec(text); match; match = SEQUENCE.exec(text)) {
    push(spans, text.slice(from, match.index), style);
    if (match[2] === "m") applyColours(style, match[1] ?? "");
    from = match.index + match[0].length;
  }
  text = text.slice(from);
  const unfinished = UNFINISHED.exec(text);
  if (unfinished && unfinished[0].length <= SEQUENCE_CHARS) {
    pending = unfinished[0];
    text = text.slice(0, unfinished.index);
  }
  // A return may be half of a line end that is cut in two.
  if (!pending && text.endsWith("\r")) {
    pending = "\r";
    text = text.slice(0, -1);
  }
  push(spans, text, style);
  return trimmed({ spans, droppedChars: before.droppedChars, pending, style });
}

export function plainText(text: TerminalText): string {
  return text.spans.map((span) => span.text).join("");
}

function push(spans: Span[], raw: string, style: Style): void {
  const text = raw.replaceAll("\r\n", "\n").replace(CONTROLS, "");
  const className = classOf(style);
  for (const [index, part] of text.split("\r").entries()) {
    // A lone return starts the line again: progress bars write over themselves.
    if (index > 0) eraseLine(spans);
    if (part === "") continue;
    const last = spans.at(-1);
    if (last && last.style === className && last.text.length < SPAN_CHARS) {
      spans[spans.length - 1] = { text: last.text + part, style: className };
    } else {
      spans.push({ text: part, style: className });
    }
  }
}

function eraseLine(spans: Span[]): void {
  for (let last = spans.at(-1); last; last = spans.at(-1)) {
    const newline = last.text.lastIndexOf("\n");
    if (newline >= 0) {
      spans[spans.length - 1] = { ...last, text: last.text.slice(0, newline + 1) };
      return;
    }
    spans.pop();
  }
}

function applyColours(style: Style, parameters: string): void {
  const codes = parameters.split(/[;:]/).map((code) => Number(code || "0"));
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) {
      style.colour = undefined;
      style.isBold = false;
    } else if (code === 1) style.isBold = true;
    else if (code === 22) style.isBold = false;
    else if (code === 39) style.colour = undefined;
    else if (code >= 30 && code <= 37) style.colour = code - 30;
    else if (code >= 90 && code <= 97) style.colour = code - 90;
    // The longer colour forms are not drawn, but their numbers must not be read as codes.
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4;
  }
}

function classOf({ isError, colour, isBold }: Style): string {
  const names = [];
  if (isError) names.push("out-error");
  if (colour !== undefined) names.push(`out-colour-${colour}`);
  if (isBold) names.push("out-bold");
  return names.join(" ");
}

function trimmed(text: TerminalText): TerminalText {
  let excess = text.spans.reduce((sum, span) => sum + span.text.length, 0) - KEPT_CHARS;
  if (excess <= 0) return text;
  const dropped = excess;
  const spans = [...text.spans];
  while (excess > 0 && spans[0]) {
    const first = spans[0];
    if (first.text.length <= excess) spans.shift();
    else spans[0] = { ...first, text: first.text.slice(excess) };
    excess -= Math.min(excess, first.text.length);
  }
  return { ...text, spans, droppedChars: text.droppedChars + dropped };
}
