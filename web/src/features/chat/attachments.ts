// Files that go with a message, as its parts. Their bytes travel in the message itself, whose size the server limits;
// the bound here only keeps the page from choking on what could never be sent.
import type { MessagePart } from "../../api/types";
import { formatBytes } from "../../components/format";

export interface Attached {
  id: string;
  name: string;
  mediaType: string;
  bytes: number;
  base64: string;
}

const MAX_FILES = 20;
const MAX_BYTES = 25_000_000;

/** What is attached when some more files were chosen, and why some were not taken. */
export async function attach(
  before: readonly Attached[],
  files: readonly File[],
): Promise<{ attached: readonly Attached[]; refusal: string | undefined }> {
  const attached = [...before];
  for (const file of files) {
    const refusal = refusalOf(attached, file);
    if (refusal) return { attached, refusal };
    try {
      attached.push(await read(file));
    } catch {
      return { attached, refusal: `${file.name} could not be read. Folders cannot be attached.` };
    }
  }
  return { attached, refusal: undefined };
}

function refusalOf(attached: readonly Attached[], file: File): string | undefined {
  if (attached.length >= MAX_FILES) return `A message takes ${MAX_FILES} files at most.`;
  const sum = attached.reduce((bytes, one) => bytes + one.bytes, file.size);
  if (sum <= MAX_BYTES) return undefined;
  return `${file.name} is too large for a message (${formatBytes(sum)} in all). Put it into the workspace by its Files tab, and name it.`;
}

async function read(file: File): Promise<Attached> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return {
    id: crypto.randomUUID(),
    name: file.name || "file",
    mediaType: file.type || "application/octet-stream",
    bytes: bytes.length,
    base64: base64Of(bytes),
  };
}

export function base64Of(bytes: Uint8Array): string {
  // In stretches: a call takes only so many arguments.
  const STRETCH = 0x8000;
  let text = "";
  for (let at = 0; at < bytes.length; at += STRETCH) {
    text += String.fromCharCode(...bytes.subarray(at, at + STRETCH));
  }
  return btoa(text);
}

export function partsOf(text: string, attached: readonly Attached[]): MessagePart[] {
  const words = text.trim() ? [{ text: text.trim() }] : [];
  const files = attached.map(({ base64, name, mediaType }) => ({
    raw: base64,
    filename: name,
    media_type: mediaType,
  }));
  return [...words, ...files];
}
