// The parts of a message, as what can be shown of them. Addresses are somebody else's words: only web addresses become
// links, files of the workspace are fetched through its own route, and everything else stays text.
import type { MessagePart } from "../../api/types";
import { isWebAddress } from "../../components/webAddress";

export type ShownPart =
  | { kind: "text"; text: string }
  /** A file of the workspace. */
  | { kind: "file"; path: string; name: string; mediaType: string | undefined }
  /** Bytes that came with the message. */
  | { kind: "bytes"; base64: string; name: string; mediaType: string | undefined; bytes: number }
  | { kind: "link"; url: string; name: string | undefined }
  | { kind: "data"; text: string }
  | { kind: "left_out"; parts: number; bytes: number };

const FILE_SCHEME = "workspace:";

export function shownPart(part: MessagePart): ShownPart {
  const mediaType = part.media_type ?? undefined;
  if (part.text != null) return { kind: "text", text: part.text };
  if (part.raw != null) {
    const bytes = Math.floor((part.raw.replace(/=+$/, "").length * 3) / 4);
    return { kind: "bytes", base64: part.raw, name: part.filename || "file", mediaType, bytes };
  }
  if (part.url != null) return addressed(part.url, part.filename ?? undefined, mediaType);
  return leftOut(part.data) ?? { kind: "data", text: JSON.stringify(part.data ?? null, null, 2) };
}

function addressed(url: string, name: string | undefined, mediaType: string | undefined): ShownPart {
  if (url.startsWith(FILE_SCHEME)) {
    const path = url.slice(FILE_SCHEME.length);
    return { kind: "file", path, name: name ?? path.split("/").at(-1) ?? path, mediaType };
  }
  return isWebAddress(url)
    ? { kind: "link", url, name }
    : { kind: "text", text: [name, url].filter(Boolean).join(": ") };
}

/** The server's own note in place of what was too large to be shown. */
function leftOut(data: unknown): ShownPart | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const { left_out: note } = data as { left_out?: { parts?: unknown; bytes?: unknown } };
  if (typeof note?.parts !== "number" || typeof note.bytes !== "number") return undefined;
  return { kind: "left_out", parts: note.parts, bytes: note.bytes };
}

/** A short line that stands for a whole message, in lists and titles. */
export function gist(parts: readonly MessagePart[], maxChars: number): string {
  const words = parts.map((part) => part.text ?? part.filename ?? "").join(" ");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control characters taken out
  const line = words.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
  const chars = Array.from(line);
  return chars.length <= maxChars
    ? line
    : `${chars
        .slice(0, maxChars - 1)
        .join("")
        .trimEnd()}…`;
}
