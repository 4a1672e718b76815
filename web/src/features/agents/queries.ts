// Stored agents, the models that this Warren can reach, and the keys for them, through the query layer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer, type Client, request } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import { Problem } from "../../api/problem";
import type { AgentSummary } from "../../api/types";
import type { Definition } from "./definitions";

const SHOWN_AGENTS = 200;
const SHOWN_SECRETS = 200;

export function useAgents() {
  const api = useApi();
  return useQuery({
    queryKey: keys.agents,
    queryFn: async (): Promise<AgentSummary[]> => {
      const query = { limit: SHOWN_AGENTS };
      return (await answer(api.GET("/api/v1/agents", { params: { query } }))).items;
    },
  });
}

export function useStoreAgent() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (definition: Definition) => storeAgent(api, definition),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.agents }),
  });
}

export async function storeAgent(api: Client, definition: Definition): Promise<void> {
  const { name } = definition;
  await answer(api.PUT("/api/v1/agents/{name}", { params: { path: { name } }, body: definition as never }));
}

export interface ModelProvider {
  name: string;
  needs_key: boolean;
  /** The secret that holds its key. */
  key_name: string | null;
  has_key: boolean;
}

export interface Models {
  providers: ModelProvider[];
  scripts: string[];
}

export function useModels() {
  const api = useApi();
  return useQuery({ queryKey: keys.models, queryFn: () => readModels(api) });
}

async function readModels(api: Client): Promise<Models> {
  try {
    const response = await request("/api/v1/models", { headers: { accept: "application/json" } });
    return (await response.json()) as Models;
  } catch (thrown) {
    // A server that does not tell its models knows these two, and which keys are there is seen by their names.
    if (!(thrown instanceof Problem && thrown.status === 404)) throw thrown;
    const query = { limit: SHOWN_SECRETS };
    const { items } = await answer(api.GET("/api/v1/secrets", { params: { query } }));
    const provider = (name: string, key_name: string) => ({
      name,
      needs_key: true,
      key_name,
      has_key: items.some((secret) => secret.name === key_name),
    });
    return {
      providers: [provider("anthropic", "ANTHROPIC_API_KEY"), provider("openai", "OPENAI_API_KEY")],
      scripts: ["hello", "tour", "echo"],
    };
  }
}

export function useSaveKey(onSaved: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ name, value }: { name: string; value: string }) =>
      answer(api.PUT("/api/v1/secrets/{name}", { params: { path: { name } }, body: { value } })),
    onSuccess: onSaved,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.models }),
  });
}
