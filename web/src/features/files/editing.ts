// The rules of editing a file that others may change at the same time, as data.
//
//   clean ──type──▶ dirty ──save──▶ clean
//                     │ the file changed underneath
//                     ▼
//                 conflict ──keep mine──▶ dirty (over the new text) · ──take theirs──▶ clean

export interface Draft {
  /** What is in the editor. */
  text: string;
  /** The file's text when the editing began; the file is safe to replace while it still reads so. */
  base: string;
}

export type EditState = "clean" | "dirty" | "conflict";

export function editState(draft: Draft | undefined, saved: string): EditState {
  if (!draft || draft.text === saved) return "clean";
  return draft.base === saved ? "dirty" : "conflict";
}

export function typed(draft: Draft | undefined, saved: string, text: string): Draft | undefined {
  const base = draft?.base ?? saved;
  return text === saved ? undefined : { text, base };
}

/** The editor's text replaces the file as it is now. */
export function keptMine(draft: Draft, saved: string): Draft {
  return { ...draft, base: saved };
}

export function parseDraft(stored: string | undefined): Draft | undefined {
  if (stored === undefined) return undefined;
  try {
    const draft: unknown = JSON.parse(stored);
    if (typeof draft !== "object" || draft === null) return undefined;
    const { text, base } = draft as Record<string, unknown>;
    return typeof text === "string" && typeof base === "string" ? { text, base } : undefined;
  } catch {
    return undefined;
  }
}
