import { type KeyboardEvent, useId, useState } from "react";
import { Button } from "../../components/Button";
import { readDraft, writeDraft } from "../../components/draft";
import { useNotify } from "../../components/Notices";
import { ProblemPanel } from "../../components/States";
import { useMay } from "../signIn/me";
import { type Draft, editState, keptMine, parseDraft, typed } from "./editing";
import { nameOf } from "./paths";
import { useWriteFile } from "./queries";

interface EditorProps {
  workspaceId: string;
  path: string;
  saved: string;
}

/** Keyed by workspace and path where it is used: another file is another editor. */
export function Editor({ workspaceId, path, saved }: EditorProps) {
  const key = `file.${workspaceId}.${path}`;
  const [draft, setDraft] = useState(() => parseDraft(readDraft(key)));
  const [isKept, setIsKept] = useState(true);
  const write = useWriteFile(workspaceId);
  const notify = useNotify();
  const mayUse = useMay("workspaces:use");
  const helpId = useId();
  const state = editState(draft, saved);

  const change = (next: Draft | undefined) => {
    setDraft(next);
    setIsKept(writeDraft(key, next && JSON.stringify(next)));
  };
  const save = () => {
    if (!draft || state !== "dirty" || write.isPending) return;
    const { text } = draft;
    write.mutate({ path, body: text }, { onSuccess: () => onSaved(text) });
  };
  const onSaved = (text: string) => {
    notify(`Saved ${nameOf(path)}`);
    // What was typed while the save was on its way stays a draft, on top of what was just saved.
    const now = parseDraft(readDraft(key));
    change(now && now.text !== text ? { text: now.text, base: text } : undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== "s" || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    save();
  };

  return (
    <div className="editor">
      {state === "conflict" && draft && !write.isPending && (
        <div className="conflict" role="alert">
          <span>
            <strong>This file changed since you began editing.</strong> Your text is still here.
          </span>
          <Button onClick={() => change(undefined)}>Take the new file</Button>
          <Button onClick={() => change(keptMine(draft, saved))}>Keep mine</Button>
        </div>
      )}
      <textarea
        className="editor-text"
        aria-label={`Text of ${path}`}
        aria-describedby={helpId}
        spellCheck={false}
        autoCapitalize="off"
        autoCorrect="off"
        wrap="off"
        readOnly={!mayUse}
        value={draft?.text ?? saved}
        onChange={(event) => change(typed(draft, saved, event.target.value))}
        onKeyDown={onKeyDown}
      />
      {write.isError && <ProblemPanel error={write.error} what="The file was not saved." />}
      <div className="editor-foot">
        <span id={helpId} className="hint">
          {!mayUse
            ? "You may read it, not change it"
            : state === "clean"
              ? "No unsaved changes"
              : "Unsaved changes"}
          {state !== "clean" && !isKept && " (too large to survive a reload)"}
        </span>
        {mayUse && (
          <>
            <Button disabled={state === "clean"} onClick={() => change(undefined)}>
              Discard
            </Button>
            <Button
              tone="primary"
              icon="save"
              isBusy={write.isPending}
              disabled={state !== "dirty"}
              onClick={save}
              title="Ctrl+S or ⌘S"
            >
              Save
            </Button>
          </>
        )}
      </div>
    </div>
  );
}
