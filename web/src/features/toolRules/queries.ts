// Rules about tool calls that people made, through the query layer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import type { ToolRule } from "../../api/types";

const SHOWN = 100;

/** What "Always allow" asks for: every call of this tool, in this workspace, until somebody revokes it. */
export const ALWAYS_IN_WORKSPACE = { scope: "workspace" } as const;

/** The rules of a workspace that count now, the newest first. */
export function useToolRules(workspaceId: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.toolRules(workspaceId),
    queryFn: async () => {
      const query = { workspace_id: workspaceId, limit: SHOWN };
      const page = await answer(api.GET("/api/v1/tool-rules", { params: { query } }));
      return { items: page.items.filter(counts), isPartial: page.next_cursor != null };
    },
  });
}

/** Those that were revoked or are over stay in the server's list. */
function counts(rule: ToolRule): boolean {
  const isOver = rule.expires_at != null && Date.parse(rule.expires_at) <= Date.now();
  return rule.revoked_at == null && !isOver;
}

export function useRevokeRule(workspaceId: string, onRevoked: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => answer(api.DELETE("/api/v1/tool-rules/{id}", { params: { path: { id } } })),
    onSuccess: onRevoked,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.toolRules(workspaceId) }),
  });
}
