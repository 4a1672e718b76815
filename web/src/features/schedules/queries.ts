// Schedules of a workspace, through the query layer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import type { CreateSchedule, PatchSchedule, PreviewSchedule } from "../../api/types";
import type { Times } from "./words";

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

/** Makes one, or changes the one that is named. */
export function useSaveSchedule(workspaceId: string, id: string | undefined, onDone: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: CreateSchedule) => {
      if (id === undefined) {
        const params = { path: { id: workspaceId } };
        return answer(api.POST("/api/v1/workspaces/{id}/schedules", { params, body }));
      }
      const { name: _, ...change } = body;
      return answer(
        api.PATCH("/api/v1/schedules/{id}", { params: { path: { id } }, body: change as PatchSchedule }),
      );
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.schedules(workspaceId) }),
  });
}

export function useRemoveSchedule(workspaceId: string, id: string, onDone: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (): Promise<void> => {
      await api.DELETE("/api/v1/schedules/{id}", { params: { path: { id } } });
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.schedules(workspaceId) }),
  });
}

/** When it would fire, as far as what is typed can be read. */
export function usePreview(times: Times | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: ["schedule-preview", times],
    enabled: times !== undefined,
    retry: false,
    placeholderData: (before) => before,
    queryFn: () =>
      answer(api.POST("/api/v1/schedules/preview", { body: { ...times, count: 3 } as PreviewSchedule })),
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
