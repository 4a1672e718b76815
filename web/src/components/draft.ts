// What people typed and did not send yet. It outlives a tab change, a reload and a server restart, and dies with
// the browser tab: sessionStorage, one entry per form and person. Who signs in next in the same tab finds nothing of it.
import { useCallback, useState } from "react";

const PREFIX = "warren.draft.";
let owner = "";

/** Whose drafts are read and written from now on. */
export function ownDrafts(person: string): void {
  owner = person;
}

function placeOf(key: string): string {
  return `${PREFIX}${owner}.${key}`;
}

export function readDraft(key: string): string | undefined {
  try {
    return window.sessionStorage.getItem(placeOf(key)) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Says whether it was kept: storage may be full or forbidden, and the text is then only in the form. */
export function writeDraft(key: string, text: string | undefined): boolean {
  try {
    if (text === undefined) window.sessionStorage.removeItem(placeOf(key));
    else window.sessionStorage.setItem(placeOf(key), text);
    return true;
  } catch {
    return false;
  }
}

/** State that is kept as a draft. Give the component a React `key` that changes with `key`. */
export function useDraft(key: string, initial = ""): [string, (text: string) => void, () => void] {
  const [text, setText] = useState(() => readDraft(key) ?? initial);
  const change = useCallback(
    (next: string) => {
      setText(next);
      writeDraft(key, next);
    },
    [key],
  );
  const forget = useCallback(() => {
    setText(initial);
    writeDraft(key, undefined);
  }, [key, initial]);
  return [text, change, forget];
}
