// Entries of the audit log, in words.
import type { AuditEntry } from "../../api/types";

/** `workspace.isolation_relaxed` → “workspace: isolation relaxed”. */
export function actionOf(action: string): string {
  const at = action.lastIndexOf(".");
  const words = (text: string) => text.replaceAll("_", " ").replaceAll(".", " ");
  return at < 0 ? words(action) : `${words(action.slice(0, at))}: ${words(action.slice(at + 1))}`;
}

/** What was done to which: a name where the entry tells one. */
export function targetOf(
  { target, details }: Pick<AuditEntry, "target" | "details">,
  nameOf: (kind: string, id: string) => string | undefined,
): string {
  const told = (details as Record<string, unknown>).name;
  const name = nameOf(target.kind, target.id) ?? (typeof told === "string" ? told : undefined);
  const isId = /^[0-9a-f-]{36}$/.test(target.id);
  return `${target.kind.replaceAll("_", " ")} ${name ?? (isId ? target.id.slice(-6) : target.id)}`;
}

/** What else the entry tells, as pairs; what is said elsewhere in the line is left out. */
export function factsOf({ details }: Pick<AuditEntry, "details">): [string, string][] {
  return Object.entries(details as Record<string, unknown>)
    .filter(([name, value]) => !["by", "name"].includes(name) && value !== null && value !== "")
    .map(([name, value]) => [
      name.replaceAll("_", " "),
      typeof value === "object" ? JSON.stringify(value) : String(value),
    ]);
}

/** Kinds of things that the log speaks of, for the filter. */
export const TARGET_KINDS = [
  "workspace",
  "user",
  "invitation",
  "org",
  "token",
  "secret",
  "template",
  "schedule",
  "webhook",
  "approval",
  "session",
] as const;
