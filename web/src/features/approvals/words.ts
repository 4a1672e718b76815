import type { Approval } from "../../api/types";

/** What became of a question. */
export function decisionOf(state: Approval["state"]): string {
  const words: Record<Approval["state"], string> = {
    pending: "waits",
    approved: "approved",
    denied: "denied",
    expired: "expired",
    void: "no longer asked",
  };
  return words[state];
}
