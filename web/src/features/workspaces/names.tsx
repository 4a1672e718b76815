// The names of workspaces by id, looked up by every line of an event list: one table per answer of the server.
import { createContext, type ReactNode, useContext, useMemo } from "react";
import { useWorkspaces } from "./queries";

const NamesContext = createContext<ReadonlyMap<string, string>>(new Map());

export function NamesProvider({ children }: { children: ReactNode }) {
  const { data } = useWorkspaces();
  const names = useMemo(() => new Map(data?.map((row) => [row.id, row.name])), [data]);
  return <NamesContext value={names}>{children}</NamesContext>;
}

export function useWorkspaceName(id: string): string | undefined {
  return useContext(NamesContext).get(id);
}

export function useWorkspaceNames(): ReadonlyMap<string, string> {
  return useContext(NamesContext);
}
