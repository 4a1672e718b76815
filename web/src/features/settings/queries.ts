// Secrets, templates and tokens, through the query layer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer, request } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import type { CreateToken } from "../../api/types";

const SHOWN = 200;
/** As many as the server gives in a page. */
const SHOWN_TEMPLATES = 50;

/** Of the org, or of one workspace. */
export function useSecrets(workspaceId?: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.secrets(workspaceId),
    queryFn: async () => {
      const query = { limit: SHOWN };
      const page = workspaceId
        ? await answer(
            api.GET("/api/v1/workspaces/{id}/secrets", { params: { path: { id: workspaceId }, query } }),
          )
        : await answer(api.GET("/api/v1/secrets", { params: { query } }));
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

export function useSetSecret(workspaceId: string | undefined, onDone: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ name, value }: { name: string; value: string }) => {
      const body = { value };
      return workspaceId
        ? answer(
            api.PUT("/api/v1/workspaces/{id}/secrets/{name}", {
              params: { path: { id: workspaceId, name } },
              body,
            }),
          )
        : answer(api.PUT("/api/v1/secrets/{name}", { params: { path: { name } }, body }));
    },
    onSuccess: onDone,
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.secrets(workspaceId) });
      void queries.invalidateQueries({ queryKey: keys.models });
    },
  });
}

export function useRemoveSecret(workspaceId: string | undefined, onDone: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (name: string): Promise<void> => {
      if (workspaceId) {
        const path = { id: workspaceId, name };
        await api.DELETE("/api/v1/workspaces/{id}/secrets/{name}", { params: { path } });
      } else await api.DELETE("/api/v1/secrets/{name}", { params: { path: { name } } });
    },
    onSuccess: onDone,
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.secrets(workspaceId) });
      void queries.invalidateQueries({ queryKey: keys.models });
    },
  });
}

export function useTemplates() {
  const api = useApi();
  return useQuery({
    queryKey: keys.templates,
    queryFn: async () => {
      const page = await answer(
        api.GET("/api/v1/templates", { params: { query: { limit: SHOWN_TEMPLATES } } }),
      );
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

/** One with its text; asked for only when somebody looks. */
export function useTemplate(name: string | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: keys.template(name ?? ""),
    enabled: name !== undefined,
    // Somebody is about to change it: what was read before does not count.
    staleTime: 0,
    gcTime: 0,
    queryFn: () => answer(api.GET("/api/v1/templates/{name}", { params: { path: { name: name ?? "" } } })),
  });
}

export interface PutTemplate {
  name: string;
  /** YAML or JSON, as it was typed. */
  source: string;
  /** Of the content that was read; absent: there must be none yet. */
  hash: string | undefined;
}

export function usePutTemplate(onDone: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ name, source, hash }: PutTemplate): Promise<void> => {
      // As text: comments and order are part of what somebody wrote.
      await request(`/api/v1/templates/${encodeURIComponent(name)}`, {
        method: "PUT",
        headers: {
          "content-type": "application/yaml",
          ...(hash ? { "if-match": `"${hash}"` } : {}),
        },
        body: source,
      });
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.templates }),
  });
}

export function useRemoveTemplate(onDone: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (name: string): Promise<void> => {
      await api.DELETE("/api/v1/templates/{name}", { params: { path: { name } } });
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.templates }),
  });
}

export function useTokens() {
  const api = useApi();
  return useQuery({
    queryKey: keys.tokens,
    queryFn: async () => {
      const page = await answer(api.GET("/api/v1/tokens", { params: { query: { limit: 500 } } }));
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

export function useCreateToken() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: CreateToken) => answer(api.POST("/api/v1/tokens", { body })),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.tokens }),
  });
}

/** What was made with a token and would end with it. */
export function useMadeWith(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: [...keys.tokens, id, "made"],
    queryFn: () => answer(api.GET("/api/v1/tokens/{id}/made", { params: { path: { id } } })),
  });
}

export function useRevokeToken(id: string, onDone: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (keep: boolean) =>
      answer(api.DELETE("/api/v1/tokens/{id}", { params: { path: { id }, query: { keep } } })),
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.tokens }),
  });
}
