// Questions of workspaces to people, through the query layer.
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import type { Approval, RememberDecision } from "../../api/types";

const SHOWN = 100;
const PAST_PAGE = 50;

/** What waits for a decision, of all workspaces, the newest first. */
export function usePendingApprovals() {
  const api = useApi();
  return useQuery({
    queryKey: keys.approvals,
    queryFn: async () => {
      const query = { state: "pending" as const, limit: SHOWN };
      const page = await answer(api.GET("/api/v1/approvals", { params: { query } }));
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

/** What was decided, expired or is void, the newest first. */
export function usePastApprovals() {
  const api = useApi();
  return useInfiniteQuery({
    queryKey: [...keys.approvals, "past"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET("/api/v1/approvals", { params: { query: { cursor, limit: PAST_PAGE } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items.filter(({ state }) => state !== "pending")),
  });
}

export interface Decision {
  approval: Approval;
  is: "approve" | "deny";
  note: string;
  /** Where such calls are allowed from now on. */
  remember?: RememberDecision;
}

/** `onDecided` is told here and not to `mutate`: the event may take the question away before the answer comes. */
export function useDecide(onDecided: (of: Decision) => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ approval, is, note, remember }: Decision) => {
      const call = {
        params: { path: { id: approval.id } },
        body: { note: note || null, remember: remember ?? null },
      };
      return answer(
        is === "approve"
          ? api.POST("/api/v1/approvals/{id}/approve", call)
          : api.POST("/api/v1/approvals/{id}/deny", call),
      );
    },
    onSuccess: (_, of) => onDecided(of),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.approvals }),
  });
}
