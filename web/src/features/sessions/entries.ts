// The entries of a session's stream (A60), typed here: on the wire they are one loose type. What this page does not know
// is passed over, so that a newer server can say more.
import type { MessagePart, SessionEntry, TokenUsage } from "../../api/types";

export interface CallDecision {
  decision: "allowed" | "approved" | "denied";
  by?: string | null;
  note?: string | null;
  /** Why it was denied. */
  reason?: string | null;
  /** What a person changed the arguments to. */
  arguments?: unknown;
}

interface OfCall {
  step: number;
  call_id: string;
}

interface Entries {
  run_started: { run: number };
  message_delivered: { message_id: string; step: number; parts: MessagePart[]; client_id: string | null };
  step_started: { step: number; attempt: number; model: string };
  step_reset: { step: number; reason: string };
  text_delta: { step: number; block: number; text: string };
  reasoning_delta: { step: number; block: number; text: string };
  call_delta: OfCall & { block: number; tool: string; arguments: string };
  step_answered: { step: number; stop_reason: string; usage: TokenUsage; cost_micros: number };
  call_proposed: OfCall & { tool: string; arguments: unknown; problem: string | null };
  approval_requested: OfCall & {
    approval_id: string;
    tool: string;
    arguments: unknown;
    reason: string;
    expires_at: string;
  };
  call_decided: OfCall & { decision: CallDecision };
  call_offered: OfCall & { tool: string; arguments: unknown };
  call_started: OfCall;
  call_output: OfCall & { text: string };
  call_ended: OfCall & { outcome: string; result: unknown };
  step_ended: { step: number };
  state_changed: { step: number; names: string[] };
  suspended: { by: string; reason: string };
  resumed: Record<never, never>;
  interrupted: { run: number };
  run_ended: { run: number; status: string; finish: string | null; message: string | null };
}

interface Numbered {
  /** From 1. */
  sequence: number;
  at: string;
}

export type KnownEntry = { [K in keyof Entries]: Numbered & { type: K } & Entries[K] }[keyof Entries];

export function isNumbered(value: unknown): value is SessionEntry {
  if (typeof value !== "object" || value === null) return false;
  const { sequence, type } = value as Record<string, unknown>;
  return typeof sequence === "number" && typeof type === "string";
}
