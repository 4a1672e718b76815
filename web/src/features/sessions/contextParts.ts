// What a model was shown for a step, by where it came from. Tokens by origin are estimated from the length of the text, in
// proportion to what the provider counted in all: no provider tells them apart.
import type { SessionStep, StepContext } from "../../api/types";

export interface ContextPart {
  origin: "system" | "tools" | "user" | "assistant" | "results";
  word: string;
  bytes: number;
  /** Of what was read in all, where that is known. */
  tokens: number | undefined;
  share: number;
}

const WORDS: Record<ContextPart["origin"], string> = {
  system: "System prompt",
  tools: "Tool definitions",
  user: "Messages of people",
  assistant: "Answers of the model",
  results: "Results of tools",
};

export function contextParts(context: StepContext, step: SessionStep | undefined): ContextPart[] {
  const bytes: Record<ContextPart["origin"], number> = {
    system: length(context.system),
    tools: context.tools.length > 0 ? length(context.tools) : 0,
    user: 0,
    assistant: 0,
    results: 0,
  };
  for (const turn of context.turns) {
    if (turn.role === "user") {
      bytes.user += turn.parts.reduce((sum, part) => sum + length(part.text ?? part), 0);
      continue;
    }
    bytes.assistant += turn.blocks.reduce(
      (sum, block) => sum + ("text" in block ? length(block.text) : 0),
      0,
    );
    for (const call of turn.calls) {
      bytes.assistant += length(call.arguments);
      bytes.results += length(call.outcome.result);
    }
  }
  const all = Math.max(
    1,
    Object.values(bytes).reduce((sum, one) => sum + one, 0),
  );
  const read = step && step.usage.input_tokens > 0 ? step.usage.input_tokens : undefined;
  return (Object.keys(WORDS) as ContextPart["origin"][])
    .filter((origin) => bytes[origin] > 0)
    .map((origin) => {
      const share = bytes[origin] / all;
      const tokens = read === undefined ? undefined : Math.round(read * share);
      return { origin, word: WORDS[origin], bytes: bytes[origin], tokens, share };
    });
}

const encoder = new TextEncoder();

function length(value: unknown): number {
  return encoder.encode(typeof value === "string" ? value : (JSON.stringify(value) ?? "")).length;
}
