// Who is signed in. A sign-in link carries its secret in the fragment, which browsers never send; the page takes
// it out of the address bar before anything else happens, and exchanges it for a cookie that scripts cannot read.
import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer, type Client } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import { isPassing, isSignedOut, type Problem } from "../../api/problem";
import type { SignIn } from "../../api/types";

export interface SignInState {
  signIn: SignIn | null;
  /** Who was, until the session ended. */
  was?: SignIn | undefined;
  /** Why a link did not work. */
  refusal?: Problem;
}

const FRAGMENT = "#sign-in=";
const INVITATION = "#invitation=";

/** Takes the secret out of the address bar; the history keeps no trace of it. */
export function takeSecret(): string | undefined {
  return take(FRAGMENT);
}

/** The same for the secret of an invitation. */
export function takeInvitation(): string | undefined {
  return take(INVITATION);
}

function take(fragment: string): string | undefined {
  const { hash, pathname, search } = window.location;
  if (!hash.startsWith(fragment)) return undefined;
  window.history.replaceState(null, "", pathname + search);
  return decoded(hash.slice(fragment.length)) || undefined;
}

/** A link that was cut or mistyped is a wrong secret, and no fault of the page. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What somebody pasted: a whole link, or the secret alone. */
export function secretOf(pasted: string): string {
  const text = pasted.trim();
  const at = text.indexOf(FRAGMENT);
  return at < 0 ? text : decoded(text.slice(at + FRAGMENT.length));
}

export async function readSignIn(api: Client): Promise<SignInState> {
  try {
    return { signIn: await answer(api.GET("/api/v1/sign-in")) };
  } catch (thrown) {
    if (isSignedOut(thrown)) return { signIn: null };
    throw thrown;
  }
}

/** A refused link is not an error of the page: whoever is signed in already stays so, others are told why. */
export async function signIn(api: Client, secret: string): Promise<SignInState> {
  try {
    return { signIn: await answer(api.POST("/api/v1/sign-in", { body: { secret } })) };
  } catch (thrown) {
    if (isPassing(thrown)) throw thrown;
    const current = await readSignIn(api);
    return current.signIn ? current : { signIn: null, refusal: thrown as Problem };
  }
}

/** Reads the session; the first read spends the link's secret, if there is one. `failure`: what came of a provider's sign-in. */
export function useSignInState(secret?: string, failure?: Problem) {
  const api = useApi();
  const queries = useQueryClient();
  return useQuery<SignInState>({
    queryKey: keys.signIn,
    queryFn: async () => {
      const known = queries.getQueryData<SignInState>(keys.signIn);
      if (secret && !known) return signIn(api, secret);
      const state = await readSignIn(api);
      if (isElsewhere(known?.signIn ?? known?.was, state.signIn)) forgetOthers(queries);
      // A look on window focus must not wipe the reason off the sign-in page.
      const refusal = known ? known.refusal : failure;
      return state.signIn ? state : { ...state, refusal, was: known?.signIn ?? known?.was };
    },
    staleTime: Number.POSITIVE_INFINITY,
    // Somebody who signed in elsewhere comes back to this page and goes on where they were.
    refetchOnWindowFocus: (query) => (query.state.data?.signIn ? false : "always"),
    refetchInterval: (query) => (query.state.status === "error" ? 2_000 : false),
  });
}

/** How one may sign in besides by a link. Without an answer there is the link. */
export function useSignInProvider() {
  const api = useApi();
  const ways = useQuery({
    queryKey: keys.signInWays,
    queryFn: () => answer(api.GET("/api/v1/sign-in/ways")),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return ways.data?.provider ?? undefined;
}

export function useSignIn() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (pasted: string) => signIn(api, secretOf(pasted)),
    onSuccess: (state) => {
      const before = lastSignIn(queries);
      if (isElsewhere(before, state.signIn)) forgetOthers(queries);
      queries.setQueryData(keys.signIn, state);
    },
  });
}

/** Work in another org: nothing that was read in the old one stays. */
export function useSwitchOrg(onSwitched: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (org: string) => answer(api.PUT("/api/v1/sign-in/org", { body: { org } })),
    onSuccess: (now) => {
      onSwitched();
      signedInAs(queries, now);
    },
  });
}

/** Puts somebody in, or the same person elsewhere. */
export function signedInAs(queries: QueryClient, now: SignIn): void {
  forgetOthers(queries);
  queries.setQueryData<SignInState>(keys.signIn, { signIn: now });
}

/** Whether an answer of before belongs to another person or org than this one. */
function isElsewhere(before: SignIn | null | undefined, now: SignIn | null): boolean {
  return Boolean(before && now && whereOf(before) !== whereOf(now));
}

/** Who works where: whatever else the page knows belongs to this. */
export function whereOf({ principal, org }: SignIn): string {
  return `${principal.id} ${org.id}`;
}

function forgetOthers(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey }) => !String(queryKey[0]).startsWith("sign-in") });
}

export function useSignOut() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => api.DELETE("/api/v1/sign-in"),
    onSettled: () => signedOut(queries),
  });
}

export function signedOut(queries: QueryClient): void {
  queries.setQueryData<SignInState>(keys.signIn, { signIn: null, was: lastSignIn(queries) });
}

function lastSignIn(queries: QueryClient): SignIn | undefined {
  const known = queries.getQueryData<SignInState>(keys.signIn);
  return known?.signIn ?? known?.was;
}
