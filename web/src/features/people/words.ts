// People, roles, invitations and quotas, in words.
import type { Problem } from "../../api/problem";
import type { Invitation, Org, OrgQuotas, OrgRole, PatchUser, SignIn, User } from "../../api/types";

export const ROLES: readonly OrgRole[] = ["viewer", "member", "operator"];

export const ROLE_WORD: Record<OrgRole, string> = {
  viewer: "Viewer",
  member: "Member",
  operator: "Operator",
};

export const ROLE_MEANING: Record<OrgRole, string> = {
  viewer: "Sees everything in the org and changes nothing.",
  member: "Creates and uses workspaces, and decides what agents ask.",
  operator: "Does all that, and runs the org: people, secrets, templates and rules.",
};

export function roleWord(role: OrgRole | null | undefined, isAdmin: boolean): string {
  const word = role ? ROLE_WORD[role] : undefined;
  if (!isAdmin) return word ?? "Not in the org";
  return word ? `${word}, admin` : "Admin";
}

/** What the page calls whoever is signed in. */
export function callName({ user, principal }: SignIn): string {
  return user?.display_name ?? principal.name ?? principal.id;
}

/** Those who are in the org, by name; then those who left it. */
export function inOrder(users: readonly User[]): User[] {
  const byName = (a: User, b: User) => a.display_name.localeCompare(b.display_name);
  return [...users].sort((a, b) => Number(hasLeft(a)) - Number(hasLeft(b)) || byName(a, b));
}

/** Only what is different: what is absent stays as somebody else may have set it meanwhile. */
export function userChange(
  user: User,
  wanted: { display_name: string; name: string; role: OrgRole | undefined; is_admin: boolean },
): PatchUser {
  const change: PatchUser = {};
  if (wanted.display_name !== user.display_name) change.display_name = wanted.display_name;
  if (wanted.name !== user.name) change.name = wanted.name;
  if (wanted.role && wanted.role !== user.role) change.role = wanted.role;
  if (wanted.is_admin !== user.is_admin) change.is_admin = wanted.is_admin;
  return change;
}

export function hasLeft({ left_at }: User): boolean {
  return left_at != null;
}

/** The name that somebody gets if they choose none, from what they want to be shown as. */
export function suggestedName(displayName: string): string {
  return displayName
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63);
}

export const NAME_PATTERN = "[a-z0-9][a-z0-9._\\-]{0,62}";

export function isName(text: string): boolean {
  return new RegExp(`^${NAME_PATTERN}$`).test(text);
}

export function invitationLine(one: Invitation, nameOf: (of: Invitation["invited_by"]) => string): string {
  switch (one.state) {
    case "used":
      return one.used_by ? `taken by ${nameOf(one.used_by)}` : "taken";
    case "expired":
      return "expired";
    case "revoked":
      return "taken back";
    case "open":
      return one.email ? `waits for ${one.email}` : "waits for whoever has the link";
  }
}

/** Why an invitation leads nowhere: a heading and what to do. */
export function invitationRefusal({ code, title, remedy }: Problem): { title: string; remedy: string } {
  const words: Record<string, [string, string]> = {
    invitation_used: [
      "This invitation was used already",
      "If it was you, sign in as you did before. If not, ask whoever invited you for a new link.",
    ],
    invitation_expired: ["This invitation has expired", "Ask whoever invited you for a new link."],
    invitation_revoked: ["This invitation was taken back", "Ask whoever invited you."],
    invitation_for_another: [
      "This invitation is for somebody else",
      "It was made for one e-mail address. Sign in with your organisation’s sign-in by that address, or ask for an invitation of your own.",
    ],
    invitation_not_found: [
      "This invitation does not exist",
      "The link may be cut off: copy all of it. Otherwise ask whoever invited you for a new one.",
    ],
  };
  const [heading, help] = words[code] ?? [title, remedy];
  return { title: heading, remedy: help };
}

const MICROS = 1_000_000;

/** One line for each thing that an org has, with what it may have. */
export function usageRows({ usage, quotas }: Org): [string, string][] {
  const of = (used: number | undefined, limit: number | null | undefined) =>
    `${used ?? "?"} of ${limit ?? "any number"}`;
  const money = (micros: number) => (micros / MICROS).toFixed(2);
  const spend = quotas?.monthly_spend_micros;
  return [
    ["Workspaces", of(usage?.workspaces, quotas?.max_workspaces)],
    ["People", of(usage?.members, quotas?.max_members)],
    ["Sessions at work", of(usage?.sessions_running, quotas?.max_sessions_running)],
    [
      `Spent in ${usage?.month ?? "this month"}`,
      `${money(usage?.spent_micros ?? 0)} of ${spend == null ? "any amount" : money(spend)}`,
    ],
    ["Highest tier", quotas?.max_tier ?? "any"],
  ];
}

/** The fields of the form for quotas, as they are typed. */
export interface QuotaFields {
  max_workspaces: string;
  max_members: string;
  max_sessions_running: string;
  monthly_spend: string;
  max_tier: string;
}

export function fieldsOf(quotas: OrgQuotas | null | undefined): QuotaFields {
  const text = (value: number | null | undefined) => (value == null ? "" : String(value));
  const spend = quotas?.monthly_spend_micros;
  return {
    max_workspaces: text(quotas?.max_workspaces),
    max_members: text(quotas?.max_members),
    max_sessions_running: text(quotas?.max_sessions_running),
    monthly_spend: text(spend == null ? spend : spend / MICROS),
    max_tier: quotas?.max_tier ?? "",
  };
}

/** What is empty has no limit. */
export function quotasOf(fields: QuotaFields): OrgQuotas {
  const whole = (text: string) => (text.trim() === "" ? undefined : Math.trunc(Number(text)));
  const quotas: OrgQuotas = {
    max_workspaces: whole(fields.max_workspaces),
    max_members: whole(fields.max_members),
    max_sessions_running: whole(fields.max_sessions_running),
    monthly_spend_micros:
      fields.monthly_spend.trim() === "" ? undefined : Math.round(Number(fields.monthly_spend) * MICROS),
    max_tier: (fields.max_tier || undefined) as OrgQuotas["max_tier"],
  };
  return Object.fromEntries(Object.entries(quotas).filter(([, value]) => value !== undefined));
}
