// The org's audit log (F35), from its end.
import { useInfiniteQuery } from "@tanstack/react-query";
import { answer } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";

const PAGE = 50;

export interface AuditFilter {
  /** `kind:id`, or empty. */
  principal: string;
  target_kind: string;
  action: string;
}

export function useAudit(filter: AuditFilter) {
  const api = useApi();
  const { principal, target_kind, action } = filter;
  return useInfiniteQuery({
    queryKey: [...keys.audit, principal, target_kind, action],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => {
      const query = {
        order: "newest" as const,
        cursor,
        limit: PAGE,
        ...(principal && { principal }),
        ...(target_kind && { target_kind }),
        ...(action && { action }),
      };
      return answer(api.GET("/api/v1/audit", { params: { query } }));
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
}
