// Processes of a workspace, through the query layer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import type { Process } from "../../api/types";

/** Starts and ends come as events; how much was printed does not. */
const REREAD_MS = 5_000;

export function useProcesses(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.processes(id),
    refetchInterval: REREAD_MS,
    queryFn: async () => {
      const list = await answer(api.GET("/api/v1/workspaces/{id}/processes", { params: { path: { id } } }));
      return list.items;
    },
  });
}

export function useStopProcess(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (process: Process) => {
      // A shell at a terminal does not end when it is asked to.
      const signal = process.has_pty ? "kill" : "terminate";
      const path = { id, process: process.id };
      await api.POST("/api/v1/workspaces/{id}/processes/{process}/signal", {
        params: { path },
        body: { signal },
      });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.processes(id) }),
  });
}
