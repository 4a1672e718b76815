// The little of markdown that a chat needs, read into data and never into HTML: fenced code, `code`, **bold** and web
// addresses. Whatever is none of these stays as it was typed. A link always shows where it leads: `[text](address)`
// becomes the text with the address beside it, so that no words can dress up another place.
import { isWebAddress } from "../../components/webAddress";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "bold"; text: string }
  | { kind: "link"; url: string };

export type Block = { kind: "prose"; inlines: Inline[] } | { kind: "code"; text: string };

const FENCE = "```";
const INLINE =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]{1,500})\]\((https?:\/\/[^\s)]{1,2000})\)|(https?:\/\/[^\s<>"'`]{1,2000})/g;
/** What ends a sentence rather than an address. */
const TRAILING = /[.,;:!?)\]}]+$/;

export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  let isCode = false;
  const close = () => {
    const block = lines.join("\n");
    if (isCode) blocks.push({ kind: "code", text: block });
    else if (block.trim()) blocks.push({ kind: "prose", inlines: inlinesOf(trimmed(block)) });
    lines = [];
  };
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    if (line.startsWith(FENCE)) {
      close();
      isCode = !isCode;
    } else lines.push(line);
  }
  // A fence that nobody closed goes on to the end.
  close();
  return blocks;
}

function trimmed(text: string): string {
  return text.replace(/^\n+/, "").trimEnd();
}

export function inlinesOf(text: string): Inline[] {
  const inlines: Inline[] = [];
  const push = (inline: Inline) => {
    const last = inlines.at(-1);
    if (inline.kind === "text" && last?.kind === "text") last.text += inline.text;
    else if (inline.kind === "link" || inline.text !== "") inlines.push(inline);
  };
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, label, target, address] = match;
    push({ kind: "text", text: text.slice(from, match.index) });
    from = match.index + whole.length;
    if (code !== undefined) push({ kind: "code", text: code });
    else if (bold !== undefined) push({ kind: "bold", text: bold });
    else if (target !== undefined) {
      if (isWebAddress(target)) {
        push({ kind: "text", text: `${label} (` });
        push({ kind: "link", url: target });
        push({ kind: "text", text: ")" });
      } else push({ kind: "text", text: whole });
    } else if (address !== undefined) {
      const url = address.replace(TRAILING, "");
      if (isWebAddress(url)) {
        push({ kind: "link", url });
        push({ kind: "text", text: address.slice(url.length) });
      } else push({ kind: "text", text: whole });
    }
  }
  push({ kind: "text", text: text.slice(from) });
  return inlines;
}
