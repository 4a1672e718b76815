// One log of commands per workspace, kept above the tabs so that a running command survives a tab change.
import { createContext, type ReactNode, useContext, useState, useSyncExternalStore } from "react";
import { type Run, RunLog } from "./runs";

const RunLogsContext = createContext<Map<string, RunLog> | undefined>(undefined);

export function RunLogsProvider({ children }: { children: ReactNode }) {
  const [logs] = useState(() => new Map<string, RunLog>());
  return <RunLogsContext value={logs}>{children}</RunLogsContext>;
}

export function useRunLog(workspaceId: string): { log: RunLog; runs: readonly Run[] } {
  const logs = useContext(RunLogsContext);
  if (!logs) throw new Error("useRunLog needs a RunLogsProvider above it");
  let log = logs.get(workspaceId);
  if (!log) {
    log = new RunLog(workspaceId);
    logs.set(workspaceId, log);
  }
  return { log, runs: useSyncExternalStore(log.subscribe, log.snapshot) };
}
