// Reads and changes of workspaces, through the query layer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer, type Client } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import type { CreateWorkspace, PatchWorkspace, Workspace } from "../../api/types";
import { withRow } from "../events/refresher";

const PAGE_SIZE = 500;
const SHOWN_RUNNING = 50;
/** The page shows this many at most and says so; more belong into a search on the server. */
export const SHOWN_WORKSPACES = 5_000;

export function useWorkspaces() {
  const api = useApi();
  return useQuery({ queryKey: keys.workspaces, queryFn: () => readAll(api) });
}

export function useWorkspace(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useQuery({
    queryKey: keys.workspace(id),
    queryFn: () => answer(api.GET("/api/v1/workspaces/{id}", { params: { path: { id } } })),
    placeholderData: () => queries.getQueryData<Workspace[]>(keys.workspaces)?.find((row) => row.id === id),
  });
}

export function useWorkspaceHealth(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.health(id),
    queryFn: () => answer(api.GET("/api/v1/workspaces/{id}/health", { params: { path: { id } } })),
  });
}

/** Sessions of all workspaces that run, or wait for somebody. */
export function useRunningSessions() {
  const api = useApi();
  return useQuery({
    queryKey: keys.running,
    queryFn: async () => {
      const read = async (status: "running" | "suspended") => {
        const query = { status, limit: SHOWN_RUNNING };
        return (await answer(api.GET("/api/v1/sessions", { params: { query } }))).items;
      };
      return (await Promise.all([read("running"), read("suspended")])).flat();
    },
  });
}

export function useServerInfo() {
  const api = useApi();
  return useQuery({ queryKey: keys.info, queryFn: () => answer(api.GET("/api/v1/info")) });
}

export interface NewSecret {
  name: string;
  value: string;
}

/** The workspace, then its secrets. It is there even where one of them was refused: that is told by name. */
export function useCreateWorkspace() {
  const api = useApi();
  const keep = useKeepRow();
  return useMutation({
    mutationFn: async ({ body, secrets }: { body: CreateWorkspace; secrets: readonly NewSecret[] }) => {
      const workspace = await answer(api.POST("/api/v1/workspaces", { body }));
      const unset: string[] = [];
      for (const { name, value } of secrets) {
        const params = { path: { id: workspace.id, name } };
        try {
          await api.PUT("/api/v1/workspaces/{id}/secrets/{name}", { params, body: { value } });
        } catch {
          unset.push(name);
        }
      }
      return { workspace, unset };
    },
    onSuccess: ({ workspace }) => keep(workspace),
  });
}

export function usePatchWorkspace(id: string) {
  const api = useApi();
  const keep = useKeepRow();
  return useMutation({
    mutationFn: (body: PatchWorkspace) =>
      answer(api.PATCH("/api/v1/workspaces/{id}", { params: { path: { id } }, body })),
    onSuccess: keep,
  });
}

export function useResetWorkspace(id: string) {
  const api = useApi();
  const keep = useKeepRow();
  return useMutation({
    mutationFn: () => answer(api.POST("/api/v1/workspaces/{id}/reset", { params: { path: { id } } })),
    onSuccess: keep,
  });
}

export function useRestartWorkspace(id: string) {
  const api = useApi();
  const keep = useKeepRow();
  return useMutation({
    mutationFn: () => answer(api.POST("/api/v1/workspaces/{id}/restart", { params: { path: { id } } })),
    onSuccess: keep,
  });
}

/** `onDeleted` is told here and not to `mutate`: the event may take the dialog away before the answer comes. */
export function useDeleteWorkspace(id: string, onDeleted: () => void) {
  const api = useApi();
  const keep = useKeepRow();
  return useMutation({
    mutationFn: () => answer(api.DELETE("/api/v1/workspaces/{id}", { params: { path: { id } } })),
    onSuccess: (row) => {
      onDeleted();
      keep(row);
    },
  });
}

/** Puts a changed row where it is shown, without waiting for its event. */
function useKeepRow(): (row: Workspace) => void {
  const queries = useQueryClient();
  return (row) => {
    queries.setQueryData<Workspace[]>(keys.workspaces, (rows) => rows && withRow(rows, row));
    queries.setQueryData<Workspace>(keys.workspace(row.id), (known) =>
      known && known.version > row.version ? known : row,
    );
  };
}

async function readAll(api: Client): Promise<Workspace[]> {
  const rows: Workspace[] = [];
  let cursor: string | undefined;
  do {
    const page = await answer(
      api.GET("/api/v1/workspaces", { params: { query: { limit: PAGE_SIZE, cursor } } }),
    );
    rows.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor && rows.length < SHOWN_WORKSPACES);
  return rows;
}
