// Terminals and background processes of a workspace. Which process was shown outlives a reload of the page; its output
// is kept by the server and comes back with it.
import { lazy, Suspense, useCallback, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useApi } from "../../api/context";
import type { Process, Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { readDraft, writeDraft } from "../../components/draft";
import { Empty, Loading, ProblemPanel } from "../../components/States";
import { NotAllowed, useMay } from "../signIn/me";
import { type ConnectionState, type Target, TerminalConnection } from "./connection";
import { endWords, ProcessList } from "./ProcessList";

const TerminalView = lazy(() => import("./TerminalView"));

/** What is shown: a process, or a new shell that has no number yet. `key` counts the choices that were made. */
interface Choice {
  key: number;
  target: Target | undefined;
}

export function TerminalTab({ workspace }: { workspace: Workspace }) {
  const storageKey = `terminal.${workspace.id}`;
  const [choice, setChoice] = useState<Choice | undefined>(() => {
    const target = storedTarget(readDraft(storageKey));
    return target && { key: 0, target };
  });
  const [attachedTo, setAttachedTo] = useState(choice?.target?.process);
  const newButton = useRef<HTMLButtonElement>(null);
  const choose = (target: Target | undefined) => {
    setAttachedTo(target?.process);
    setChoice((last) => ({ key: (last?.key ?? 0) + 1, target }));
  };
  const onAttached = useCallback(
    (target: Target) => {
      setAttachedTo(target.process);
      writeDraft(storageKey, JSON.stringify(target));
    },
    [storageKey],
  );
  const mayUse = useMay("workspaces:use");
  if (!workspace.capabilities.includes("shell")) {
    return (
      <Empty icon="terminal" title="This workspace runs no commands">
        <p className="hint">Its provider has no shell. Create one with a provider that lists “shell”.</p>
      </Empty>
    );
  }
  return (
    <div className="terminal-tab">
      {!mayUse ? (
        <NotAllowed what="opening a terminal" />
      ) : (
        <div className="terminal-bar">
          <Button ref={newButton} tone="primary" icon="plus" onClick={() => choose(undefined)}>
            New terminal
          </Button>
          <p className="hint">
            A terminal goes on when you leave it. <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>L</kbd> leads out of
            it by keyboard.
          </p>
        </div>
      )}
      {choice && mayUse && (
        <Pane
          key={choice.key}
          workspaceId={workspace.id}
          target={choice.target}
          onAttached={onAttached}
          onLeave={() => newButton.current?.focus()}
        />
      )}
      <ProcessList
        workspaceId={workspace.id}
        attachedTo={attachedTo}
        onAttach={(process: Process) => choose({ process: process.id, startedAt: process.started_at })}
      />
    </div>
  );
}

interface PaneProps {
  workspaceId: string;
  target: Target | undefined;
  onAttached: (target: Target) => void;
  onLeave: () => void;
}

function Pane({ workspaceId, target, onAttached, onLeave }: PaneProps) {
  const api = useApi();
  // A pane is for one choice: whatever changes makes another pane.
  // biome-ignore lint/correctness/useExhaustiveDependencies: made once
  const connection = useMemo(() => new TerminalConnection(api, workspaceId, target, onAttached), []);
  const state = useSyncExternalStore(connection.subscribe, connection.snapshot);
  return (
    <section className="terminal-frame" aria-label="Terminal" data-phase={state.phase}>
      <Suspense fallback={<Loading what="the terminal" />}>
        <TerminalView connection={connection} onLeave={onLeave} />
      </Suspense>
      {state.phase === "failed" ? (
        <ProblemPanel error={state.problem} />
      ) : (
        <p className="terminal-state" role="status">
          {stateWords(state)}
        </p>
      )}
    </section>
  );
}

function stateWords(state: Exclude<ConnectionState, { phase: "failed" }>): string {
  switch (state.phase) {
    case "connecting":
      return "Connecting…";
    case "open":
      return `Connected to process ${state.process.id}.`;
    case "waiting":
      return "Connection lost. Connecting again…";
    case "exited":
      return `The process has ended: ${endWords(state.exitCode, state.signal, state.timedOut)}.`;
    case "lost":
      return "This process is no longer there: it ended when its workspace was closed. Open a new terminal.";
  }
}

function storedTarget(stored: string | undefined): Target | undefined {
  if (!stored) return undefined;
  try {
    const { process, startedAt } = JSON.parse(stored) as Partial<Target>;
    return typeof process === "number" && typeof startedAt === "string" ? { process, startedAt } : undefined;
  } catch {
    return undefined;
  }
}
