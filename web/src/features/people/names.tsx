// What people are called, by id: chats, approvals and events say who, and the list of the org knows them, also those who left.
import { createContext, type ReactNode, useContext, useMemo } from "react";
import type { Principal } from "../../api/types";
import { useUsers } from "./queries";

const PeopleContext = createContext<ReadonlyMap<string, string>>(new Map());

export function PeopleNamesProvider({ children }: { children: ReactNode }) {
  const { data } = useUsers();
  const names = useMemo(() => new Map(data?.items.map(({ id, display_name }) => [id, display_name])), [data]);
  return <PeopleContext value={names}>{children}</PeopleContext>;
}

export function usePeopleNames(): ReadonlyMap<string, string> {
  return useContext(PeopleContext);
}

/** Whoever did something: a person by name, all others by what they are. */
export function principalName(
  { kind, id, name }: Pick<Principal, "id" | "name"> & { kind: string },
  people: ReadonlyMap<string, string>,
  workspaces: ReadonlyMap<string, string> = new Map(),
): string {
  if (kind === "user") return name ?? people.get(id) ?? `person ${id.slice(-6)}`;
  if (kind === "system") return "Warren";
  return name ?? workspaces.get(id) ?? `${kind} ${id.slice(-6)}`;
}
