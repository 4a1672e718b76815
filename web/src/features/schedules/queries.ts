// Schedules of a workspace, through the query layer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";

const SHOWN_SCHEDULES = 100;
const SHOWN_RUNS = 10;

export function useSchedules(workspaceId: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.schedules(workspaceId),
    queryFn: async () => {
      const query = { limit: SHOWN_SCHEDULES };
      const path = { id: workspaceId };
      const page = await answer(api.GET("/api/v1/workspaces/{id}/schedules", { params: { path, query } }));
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

/** What became of a schedule's last slots, the newest first; asked for only when somebody looks. */
export function useRuns(workspaceId: string, id: string, isWanted: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: [...keys.schedules(workspaceId), id, "runs"],
    enabled: isWanted,
    queryFn: async () => {
      const query = { limit: SHOWN_RUNS };
      const page = await answer(api.GET("/api/v1/schedules/{id}/runs", { params: { path: { id }, query } }));
      return page.items;
    },
  });
}

export type ScheduleAction = "pause" | "resume" | "run";

export function useScheduleAction(workspaceId: string, id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (action: ScheduleAction): Promise<void> => {
      const call = { params: { path: { id } } };
      if (action === "pause") await answer(api.POST("/api/v1/schedules/{id}/pause", call));
      else if (action === "resume") await answer(api.POST("/api/v1/schedules/{id}/resume", call));
      else await answer(api.POST("/api/v1/schedules/{id}/run", call));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.schedules(workspaceId) }),
  });
}
