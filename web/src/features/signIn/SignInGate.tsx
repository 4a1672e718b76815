// Lets those in who are signed in. When a session ends in the middle, the page stays mounted beneath the sign-in
// page, so that nothing typed is lost.
import { type ReactNode, useRef, useState } from "react";
import type { Problem } from "../../api/problem";
import { Loading, ProblemPanel } from "../../components/States";
import { InvitationPage } from "../people/InvitationPage";
import { SignInPage } from "./SignInPage";
import { useSignInState } from "./signIn";

interface SignInGateProps {
  secret: string | undefined;
  invitation: string | undefined;
  failure: Problem | undefined;
  children: ReactNode;
}

export function SignInGate({ secret, invitation, failure, children }: SignInGateProps) {
  const query = useSignInState(secret, failure);
  const [invited, setInvited] = useState(invitation);
  const wasIn = useRef(false);
  if (query.data?.signIn && !invited) wasIn.current = true;

  if (!query.data) {
    return (
      <main className="sign-in">
        {query.isError ? (
          <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
        ) : (
          <Loading what={secret ? "Warren and signing you in" : "Warren"} />
        )}
      </main>
    );
  }
  if (invited) {
    const done = () => setInvited(undefined);
    return <InvitationPage secret={invited} me={query.data.signIn} onDone={done} />;
  }
  const isOut = query.data.signIn === null;
  return (
    <>
      {wasIn.current && <div inert={isOut}>{children}</div>}
      {isOut && (
        <div className={wasIn.current ? "sign-in-over" : undefined}>
          <SignInPage refusal={query.data.refusal} isInterruption={wasIn.current} />
        </div>
      )}
    </>
  );
}
