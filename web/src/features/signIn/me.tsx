// Who looks at the page and what they may do. What one may not do is not offered; the server decides all the same.
import { createContext, Fragment, type ReactNode, useContext } from "react";
import type { SignIn } from "../../api/types";
import { ownDrafts } from "../../components/draft";
import { useSignInState, whereOf } from "./signIn";

/** The scopes that the page asks about. */
export type Right =
  | "workspaces:write"
  | "workspaces:use"
  | "approvals:decide"
  | "tokens:read"
  | "tokens:write"
  | "secrets:read"
  | "secrets:write"
  | "org:operate";

const MeContext = createContext<SignIn | undefined>(undefined);

/** Another person or another org is another page: everything below begins anew. */
export function MeProvider({ children }: { children: ReactNode }) {
  const { data } = useSignInState();
  // Beneath the sign-in page everything stays as it was, for whoever comes back.
  const me = data?.signIn ?? data?.was;
  if (!me) return null;
  // Before anything below reads one.
  ownDrafts(me.user?.id ?? me.principal.id);
  return (
    <MeContext value={me}>
      <Fragment key={whereOf(me)}>{children}</Fragment>
    </MeContext>
  );
}

export function useMe(): SignIn {
  const me = useContext(MeContext);
  if (!me) throw new Error("useMe needs a MeProvider above it");
  return me;
}

export function useMay(right: Right): boolean {
  return useMe().scopes.includes(right);
}

/** Why something is not offered, in words. */
export function whyNot({ org, is_admin }: SignIn, what: string): string {
  const role = org.role ?? (is_admin ? "admin" : "guest");
  return `You are a ${role} in ${org.name}: ${what} needs another role. Ask an operator of ${org.name}.`;
}

/** Stands where something would be that this person may not do. */
export function NotAllowed({ what }: { what: string }) {
  return (
    <p className="hint not-allowed" role="note">
      {whyNot(useMe(), what)}
    </p>
  );
}
