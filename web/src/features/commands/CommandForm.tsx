import { type FormEvent, type KeyboardEvent, useId } from "react";
import type { ExecRequest } from "../../api/types";
import { Button } from "../../components/Button";
import { useDraft } from "../../components/draft";
import { splitWords } from "./words";

export type CommandMode = "shell" | "words";

/** What is typed, as a request; or why it is none yet. */
export function commandOf(
  mode: CommandMode,
  line: string,
  cwd: string,
): { ok: true; body: ExecRequest } | { ok: false; why: string | undefined } {
  if (!line.trim()) return { ok: false, why: undefined };
  const place = cwd.trim() ? { cwd: cwd.trim() } : {};
  if (mode === "shell") return { ok: true, body: { command: line, ...place } };
  const split = splitWords(line);
  return split.ok ? { ok: true, body: { argv: split.words, ...place } } : split;
}

interface CommandFormProps {
  workspaceId: string;
  onRun: (body: ExecRequest) => void;
}

export function CommandForm({ workspaceId, onRun }: CommandFormProps) {
  const [line, setLine] = useDraft(`command.${workspaceId}`);
  const [mode, setMode] = useDraft(`command-mode.${workspaceId}`, "shell");
  const [cwd, setCwd] = useDraft(`command-cwd.${workspaceId}`);
  const lineId = useId();
  const cwdId = useId();
  const helpId = useId();
  const command = commandOf(mode === "words" ? "words" : "shell", line, cwd);

  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (command.ok) onRun(command.body);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };

  return (
    <form className="command" onSubmit={submit}>
      <div className="command-box">
        <span className="command-prompt" aria-hidden="true">
          $
        </span>
        <label htmlFor={lineId} className="visually-hidden">
          Command
        </label>
        <textarea
          id={lineId}
          aria-describedby={helpId}
          rows={Math.min(8, line.split("\n").length)}
          spellCheck={false}
          autoCapitalize="off"
          autoCorrect="off"
          value={line}
          onChange={(event) => setLine(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder={mode === "words" ? "ls -la 'my folder'" : "echo hello | tr a-z A-Z"}
        />
        <Button type="submit" tone="primary" icon="play" disabled={!command.ok}>
          Run
        </Button>
      </div>
      <div className="command-options">
        <fieldset className="segments">
          <legend className="visually-hidden">How the command is read</legend>
          {(["shell", "words"] as const).map((one) => (
            <label key={one}>
              <input
                type="radio"
                name={`mode-${workspaceId}`}
                checked={(mode === "words" ? "words" : "shell") === one}
                onChange={() => setMode(one)}
              />
              <span>{one === "shell" ? "Shell" : "Words"}</span>
            </label>
          ))}
        </fieldset>
        <label htmlFor={cwdId}>Folder</label>
        <input
          id={cwdId}
          className="mono"
          autoComplete="off"
          spellCheck={false}
          placeholder="the root"
          value={cwd}
          onChange={(event) => setCwd(event.target.value)}
        />
        <span id={helpId} className="hint">
          {helpOf(mode, command)}
        </span>
      </div>
    </form>
  );
}

function helpOf(mode: string, command: ReturnType<typeof commandOf>): string {
  if (!command.ok && command.why) return command.why;
  if (mode !== "words") return "Read by /bin/sh. Enter runs it, Shift+Enter starts a new line.";
  if (!command.ok) return "Split into words; no shell reads it.";
  const count = command.body.argv?.length ?? 0;
  return `${count} ${count === 1 ? "word" : "words"}; no shell reads them.`;
}
