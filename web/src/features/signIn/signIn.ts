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
  /** Why a link did not work. */
  refusal?: Problem;
}

const FRAGMENT = "#sign-in=";

/** Takes the secret out of the address bar; the history keeps no trace of it. */
export function takeSecret(): string | undefined {
  const { hash, pathname, search } = window.location;
  if (!hash.startsWith(FRAGMENT)) return undefined;
  window.history.replaceState(null, "", pathname + search);
  return decodeURIComponent(hash.slice(FRAGMENT.length)) || undefined;
}

/** What somebody pasted: a whole link, or the secret alone. */
export function secretOf(pasted: string): string {
  const text = pasted.trim();
  const at = text.indexOf(FRAGMENT);
  return at < 0 ? text : decodeURIComponent(text.slice(at + FRAGMENT.length));
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
      // A look on window focus must not wipe the reason off the sign-in page.
      const refusal = known ? known.refusal : failure;
      return state.signIn || !refusal ? state : { ...state, refusal };
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
    onSuccess: (state) => queries.setQueryData(keys.signIn, state),
  });
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
  queries.setQueryData<SignInState>(keys.signIn, { signIn: null });
}
