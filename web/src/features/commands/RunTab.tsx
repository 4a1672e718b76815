import { memo, useEffect, useState } from "react";
import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { formatClock, formatDuration } from "../../components/format";
import { Empty, ProblemPanel } from "../../components/States";
import { visibleText } from "../../components/visibleText";
import { NotAllowed, useMay } from "../signIn/me";
import { CommandForm } from "./CommandForm";
import { useRunLog } from "./context";
import { Output } from "./Output";
import type { Run, RunEnd } from "./runs";

export function RunTab({ workspace }: { workspace: Workspace }) {
  const { log, runs } = useRunLog(workspace.id);
  const mayUse = useMay("workspaces:use");
  if (!workspace.capabilities.includes("shell")) {
    return (
      <Empty icon="terminal" title="This workspace runs no commands">
        <p className="hint">Its provider has no shell. Create one with a provider that lists “shell”.</p>
      </Empty>
    );
  }
  if (!mayUse) {
    return (
      <Empty icon="terminal" title="Commands are run by those who work here">
        <NotAllowed what="running commands" />
      </Empty>
    );
  }
  return (
    <div className="runs">
      <CommandForm key={workspace.id} workspaceId={workspace.id} onRun={(body) => void log.start(body)} />
      {runs.length === 0 ? (
        <Empty icon="terminal" title="Nothing was run from here yet">
          <p className="hint">Output comes as the program prints it.</p>
        </Empty>
      ) : (
        <>
          <ol className="run-list" aria-label="Commands, newest first">
            {runs.map((run) => (
              <RunCard key={run.id} run={run} onStop={() => log.stop(run.id)} />
            ))}
          </ol>
          <Button tone="quiet" onClick={() => log.forget()}>
            Clear finished
          </Button>
        </>
      )}
    </div>
  );
}

const RunCard = memo(
  function RunCard({ run, onStop }: { run: Run; onStop: () => void }) {
    return (
      <li className="run" data-end={toneOf(run.end)}>
        <header className="run-head">
          <code className="run-command">{commandText(run)}</code>
          <span className="run-state" role="status">
            {run.end ? <EndWords end={run.end} /> : <Running since={run.startedAt} />}
          </span>
          {!run.end && (
            <Button icon="stop" onClick={onStop}>
              Stop
            </Button>
          )}
          <time className="hint">{formatClock(run.startedAt)}</time>
        </header>
        <Output text={run.output} isRunning={!run.end} label={`Output of ${commandText(run)}`} />
        {run.end?.how === "failed" && <ProblemPanel error={run.end.problem} />}
        {run.end?.how === "unseen" && (
          <p className="hint run-note">{run.end.why} Warren ends a command whose reader is gone.</p>
        )}
        {run.end?.how === "finished" && run.end.result.truncated && (
          <p className="hint run-note">The workspace kept only part of this output; its limit was reached.</p>
        )}
      </li>
    );
  },
  (before, after) => before.run === after.run,
);

function EndWords({ end }: { end: RunEnd }) {
  switch (end.how) {
    case "finished": {
      const { exit_code, signal, timed_out, duration_ms } = end.result;
      const how = timed_out
        ? "timed out"
        : signal != null
          ? `signal ${signal}`
          : `exit code ${exit_code ?? "?"}`;
      return (
        <>
          <strong>{how}</strong> in {formatDuration(duration_ms)}
        </>
      );
    }
    case "failed":
      return <strong>not run</strong>;
    case "stopped":
      return <strong>stopped</strong>;
    case "unseen":
      return <strong>end not seen</strong>;
  }
}

function Running({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <span className="spinner" aria-hidden="true" /> running{" "}
      <span aria-hidden="true">{formatDuration(Math.max(0, now - since))}</span>
    </>
  );
}

function toneOf(end: RunEnd | undefined): string {
  if (!end) return "running";
  if (end.how === "finished") return end.result.exit_code === 0 && !end.result.timed_out ? "good" : "bad";
  return end.how === "failed" ? "bad" : "warn";
}

function commandText({ request }: Run): string {
  if (request.command != null) return visibleText(request.command);
  const words = (request.argv ?? []).map((word) =>
    /^[\w./:=@%+-]+$/.test(word) ? word : JSON.stringify(word),
  );
  return visibleText(words.join(" "));
}
