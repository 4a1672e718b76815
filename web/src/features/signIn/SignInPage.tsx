import { type FormEvent, useEffect, useRef, useState } from "react";
import type { Problem } from "../../api/problem";
import { Button } from "../../components/Button";
import { Mark } from "../../components/Icon";
import { ProblemPanel } from "../../components/States";
import { isOfProvider } from "./failure";
import { useSignIn, useSignInProvider } from "./signIn";

interface SignInPageProps {
  refusal: Problem | undefined;
  /** The page was in use when the session ended. */
  isInterruption: boolean;
}

export function SignInPage({ refusal, isInterruption }: SignInPageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const provider = useSignInProvider();
  return (
    <main className="sign-in" aria-labelledby="sign-in-title">
      <div className="sign-in-card">
        <Mark />
        <h1 id="sign-in-title" ref={heading} tabIndex={-1}>
          {titleOf(refusal, isInterruption)}
        </h1>
        <p>{explanationOf(refusal, isInterruption)}</p>
        {provider && (
          <p>
            <a className="button button-primary" href={provider.path}>
              Sign in with {provider.name}
            </a>
          </p>
        )}
        <p className="sign-in-command">
          <code>warren token link</code>
        </p>
        <PasteLink />
        {refusal && (
          <p className="problem-meta">
            <code>{refusal.code}</code>
            {refusal.requestId && (
              <>
                {" · request "}
                <code>{refusal.requestId}</code>
              </>
            )}
          </p>
        )}
      </div>
    </main>
  );
}

function PasteLink() {
  const [pasted, setPasted] = useState("");
  const signIn = useSignIn();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (pasted.trim()) signIn.mutate(pasted, { onSuccess: () => setPasted("") });
  };
  return (
    <form onSubmit={submit} className="sign-in-form">
      <label htmlFor="sign-in-link">Or paste a sign-in link here</label>
      <div className="row">
        <input
          id="sign-in-link"
          type="password"
          autoComplete="off"
          placeholder="http://127.0.0.1:7878/#sign-in=…"
          value={pasted}
          onChange={(event) => setPasted(event.target.value)}
        />
        <Button type="submit" tone="primary" isBusy={signIn.isPending} disabled={!pasted.trim()}>
          Sign in
        </Button>
      </div>
      {signIn.isError && <ProblemPanel error={signIn.error} />}
    </form>
  );
}

function titleOf(refusal: Problem | undefined, isInterruption: boolean): string {
  if (isOfProvider(refusal)) return refusal.title;
  if (refusal) return "This link no longer works";
  return isInterruption ? "Your session has ended" : "Sign in to Warren";
}

function explanationOf(refusal: Problem | undefined, isInterruption: boolean): string {
  if (isOfProvider(refusal)) return refusal.remedy;
  if (refusal)
    return "A sign-in link works once, for ten minutes. Ask for a new one on the machine that runs Warren:";
  if (isInterruption) {
    return "Everything you typed is still here. Open a new sign-in link, and this page goes on where it was. Get one on the machine that runs Warren:";
  }
  return "This page opens with a link that signs you in once. Get one on the machine that runs Warren:";
}
