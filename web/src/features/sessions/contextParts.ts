// What a model was shown for a step, by where it came from, in the words of the page.
import type { StepContext } from "../../api/types";

type Share = StepContext["shares"][number];

export interface ContextPart extends Share {
  word: string;
  /** Of all that was shown. */
  share: number;
}

const WORDS: Record<Share["origin"], string> = {
  system: "System prompt",
  tools: "Tool definitions",
  user: "Messages of people",
  assistant: "Answers of the model",
  results: "Results of tools",
};

export function contextParts(context: StepContext): ContextPart[] {
  const all = Math.max(
    1,
    context.shares.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  return context.shares.map((part) => ({ ...part, word: WORDS[part.origin], share: part.bytes / all }));
}
