import type { Process } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { formatBytes } from "../../components/format";
import { Empty, Loading, ProblemPanel, StaleNote } from "../../components/States";
import { visibleText } from "../../components/visibleText";
import { useMay } from "../signIn/me";
import { useProcesses, useStopProcess } from "./queries";

interface ProcessListProps {
  workspaceId: string;
  attachedTo: number | undefined;
  onAttach: (process: Process) => void;
}

export function ProcessList({ workspaceId, attachedTo, onAttach }: ProcessListProps) {
  const query = useProcesses(workspaceId);
  const stop = useStopProcess(workspaceId);
  const mayUse = useMay("workspaces:use");
  if (query.isPending) return <Loading what="processes" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <section className="processes" aria-labelledby="processes-title">
      <h2 id="processes-title">Processes</h2>
      <StaleNote query={query} />
      {stop.error && <ProblemPanel error={stop.error} what="The process could not be stopped." />}
      {query.data.length === 0 ? (
        <Empty icon="terminal" title="Nothing runs in the background">
          <p className="hint">Terminals and processes that agents start are listed here.</p>
        </Empty>
      ) : (
        <table className="process-table">
          <thead>
            <tr>
              <th scope="col">Process</th>
              <th scope="col">State</th>
              <th scope="col">Output</th>
              <th scope="col">Started</th>
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {query.data.map((process) => (
              <tr key={`${process.id} ${process.started_at}`} data-state={process.state}>
                <td>
                  <span className="process-number">{process.id}</span>{" "}
                  <code>{visibleText(process.program)}</code>
                </td>
                <td>{stateWords(process)}</td>
                <td>{formatBytes(process.output_bytes)}</td>
                <td>
                  <Ago at={process.started_at} />
                </td>
                <td className="process-actions">
                  {!mayUse ? null : process.id === attachedTo ? (
                    <span className="hint">shown above</span>
                  ) : (
                    <Button
                      onClick={() => onAttach(process)}
                      aria-label={`Attach to process ${process.id}, ${visibleText(process.program)}`}
                    >
                      Attach
                    </Button>
                  )}
                  {mayUse && process.state === "running" && (
                    <Button
                      icon="stop"
                      isBusy={stop.isPending && stop.variables.id === process.id}
                      onClick={() => stop.mutate(process)}
                      aria-label={`Stop process ${process.id}, ${visibleText(process.program)}`}
                    >
                      Stop
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

export function stateWords(process: Process): string {
  if (process.state === "running") return "running";
  return endWords(process.exit_code ?? undefined, process.signal ?? undefined, process.timed_out);
}

export function endWords(
  exitCode: number | undefined,
  signal: number | undefined,
  timedOut: boolean,
): string {
  if (timedOut) return "timed out";
  if (signal !== undefined) return `ended by signal ${signal}`;
  return exitCode === undefined ? "ended" : `exit code ${exitCode}`;
}
