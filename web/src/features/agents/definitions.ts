// Agents as this page makes them, as data.
import type { ProviderInfo } from "../../api/types";

export interface Policy {
  tool: string;
  decision: "allow" | "deny" | "ask";
  reason?: string;
}

export interface Definition {
  name: string;
  model: string;
  description?: string;
  system?: string;
  policies: Policy[];
}

/** Things that an agent can be told to ask about first. */
export const ASKABLE: { tool: string; word: string; reason: string }[] = [
  { tool: "workspace_rm", word: "it deletes files", reason: "It deletes." },
  { tool: "workspace_run*", word: "it runs commands", reason: "It runs a command." },
  { tool: "workspace_write_file", word: "it writes files", reason: "It writes a file." },
];

export function askAbout(tools: readonly string[]): Policy[] {
  return ASKABLE.filter(({ tool }) => tools.includes(tool)).map(({ tool, reason }) => ({
    tool,
    decision: "ask",
    reason,
  }));
}

export const GUIDED_NAME = "guided-tour";
export const GUIDED_MESSAGE = "Show me around.";

export const guidedAgent: Definition = {
  name: GUIDED_NAME,
  description:
    "Shows what an agent does: a file, a command, an approval. It answers from a script and needs no key.",
  model: "scripted/tour",
  policies: [{ tool: "workspace_rm", decision: "ask", reason: "Deleting is asked about first." }],
};

/** Where the guided agent may work: in a box, never as the user who runs Warren. */
export function guidedProvider(providers: readonly ProviderInfo[]): string | undefined {
  const isReady = (kind: string) => providers.some((one) => one.kind === kind && !one.unavailable);
  return ["sandbox", "docker"].find(isReady);
}

/** What to fill in for a provider of models, to be changed at will. */
export function suggestedModel(provider: string): string {
  const names: Record<string, string> = { anthropic: "claude-sonnet-4-5", openai: "gpt-5.1" };
  return names[provider] ?? "";
}

/** Those that want a key, each key once: some can be spoken to in two ways. */
export function keyedProviders<T extends { needs_key: boolean; key_name: string | null }>(
  providers: readonly T[],
): T[] {
  const keyed = providers.filter(({ needs_key }) => needs_key);
  return keyed.filter((one, index) => keyed.findIndex(({ key_name }) => key_name === one.key_name) === index);
}

const PROVIDER_WORDS: Record<string, string> = { anthropic: "Anthropic", openai: "OpenAI" };

export function providerWord(name: string): string {
  return PROVIDER_WORDS[name] ?? name;
}
