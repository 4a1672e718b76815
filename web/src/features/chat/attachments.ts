// Files that go with a message. They are uploaded when it is sent, and only once: a message that is tried again names the
// same files. How large they may be is the server's to say.
import type { MessagePart } from "../../api/types";

export interface Attached {
  id: string;
  file: File;
  /** What the message says of it, once it is uploaded. */
  part?: MessagePart;
}

export const MAX_FILES = 20;

/** What is attached when some more files were chosen, and why some were not taken. */
export async function attach(
  before: readonly Attached[],
  files: readonly File[],
): Promise<{ attached: readonly Attached[]; refusal: string | undefined }> {
  const attached = [...before];
  for (const file of files) {
    if (attached.length >= MAX_FILES) {
      return { attached, refusal: `A message takes ${MAX_FILES} files at most.` };
    }
    try {
      // A folder looks like a file until somebody reads it.
      await file.slice(0, 1).arrayBuffer();
    } catch {
      return { attached, refusal: `${file.name} could not be read. Folders cannot be attached.` };
    }
    attached.push({ id: crypto.randomUUID(), file });
  }
  return { attached, refusal: undefined };
}

/** The same files, with what an upload of those without a part answered. */
export function withParts(attached: readonly Attached[], parts: readonly MessagePart[]): readonly Attached[] {
  const left = [...parts];
  return attached.map((one) => (one.part ? one : { ...one, part: left.shift() }));
}

export function partsOf(text: string, attached: readonly Attached[]): MessagePart[] {
  const words = text.trim() ? [{ text: text.trim() }] : [];
  return [...words, ...attached.flatMap(({ part }) => part ?? [])];
}
