// Tokens and secrets, in words.
import type { Token } from "../../api/types";

export const SECRET_PATTERN = "[A-Za-z_][A-Za-z0-9_]{0,127}";

export function isSecretName(text: string): boolean {
  return new RegExp(`^${SECRET_PATTERN}$`).test(text);
}

/** What a token may be made for, with what it may do. */
export const PURPOSES = {
  read: { word: "Look", note: "Sees workspaces and events.", scopes: ["workspaces:read", "events:read"] },
  work: {
    word: "Work",
    note: "Creates and uses workspaces, and decides what agents ask.",
    scopes: ["workspaces:read", "workspaces:write", "workspaces:use", "events:read", "approvals:decide"],
  },
  all: {
    word: "All that I may",
    note: "Everything that your role allows, as it is at the time of use.",
    scopes: [],
  },
} as const;

export type Purpose = keyof typeof PURPOSES;

/** What is asked for, as far as whoever makes it has it: nobody makes a token that may do more than they. */
export function scopesFor(purpose: Purpose, own: readonly string[]): string[] {
  if (purpose === "all") return [...own];
  return PURPOSES[purpose].scopes.filter((scope) => own.includes(scope));
}

/** Tokens that people and programs hold. Links and browsers come and go by themselves, and runners with their workspace. */
export function isKept({ kind }: Pick<Token, "kind">): boolean {
  return kind === "user" || kind === "admin" || kind === "workspace";
}
