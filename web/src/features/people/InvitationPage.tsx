// An invitation, opened by its link: what it leads to, and who one wants to be there.
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { asProblem, Problem } from "../../api/problem";
import type { SignIn } from "../../api/types";
import { Button } from "../../components/Button";
import { formatMoment } from "../../components/format";
import { Mark } from "../../components/Icon";
import { Loading, ProblemPanel } from "../../components/States";
import { useSignInProvider } from "../signIn/signIn";
import { useInvitationPreview, useProviderInvitation, useTakeInvitation } from "./queries";
import { callName, invitationRefusal, isName, NAME_PATTERN, ROLE_MEANING, suggestedName } from "./words";

interface InvitationPageProps {
  secret: string;
  /** Whoever is signed in already joins as who they are. */
  me: SignIn | null;
  /** It was taken, or is left alone. */
  onDone: () => void;
}

export function InvitationPage({ secret, me, onDone }: InvitationPageProps) {
  const preview = useInvitationPreview(secret);
  const take = useTakeInvitation(onDone);
  const provider = useSignInProvider();
  const heading = useRef<HTMLHeadingElement>(null);
  const refused = preview.error ?? (isAboutInvitation(take.error) ? take.error : null);
  const isKnown = preview.data !== undefined || refused !== null;
  useEffect(() => {
    if (isKnown) heading.current?.focus();
  }, [isKnown]);
  if (!isKnown) {
    return (
      <main className="sign-in">
        <Loading what="the invitation" />
      </main>
    );
  }
  const { org, role, invited_by, expires_at, needs_provider } = preview.data ?? {};
  const refusal = refused ? invitationRefusal(asProblem(refused)) : undefined;
  return (
    <main className="sign-in" aria-labelledby="invitation-title">
      <div className="sign-in-card">
        <Mark />
        <h1 id="invitation-title" ref={heading} tabIndex={-1}>
          {refusal ? (
            refusal.title
          ) : (
            <>
              Join <bdi>{org}</bdi>
            </>
          )}
        </h1>
        {refusal ? (
          <>
            <p>{refusal.remedy}</p>
            <Button onClick={onDone}>{me ? "Go on to Warren" : "Sign in instead"}</Button>
            <p className="problem-meta">
              <code>{asProblem(refused).code}</code>
            </p>
          </>
        ) : (
          role && (
            <>
              <p>
                <bdi>{invited_by}</bdi> invites you as <strong>{role}</strong>. {ROLE_MEANING[role]} The
                invitation is good until {formatMoment(expires_at ?? "")}.
              </p>
              {needs_provider ? (
                <ByProvider provider={provider} secret={secret} />
              ) : me ? (
                <Button
                  tone="primary"
                  isBusy={take.isPending}
                  onClick={() => take.mutate({ secret })}
                >{`Join as ${callName(me)}`}</Button>
              ) : (
                <>
                  {provider && <ProviderButton provider={provider} secret={secret} />}
                  <NameForm
                    isBusy={take.isPending}
                    onJoin={(name, display_name) => take.mutate({ secret, name, display_name })}
                  />
                </>
              )}
              {take.isError && <ProblemPanel error={take.error} what="You are not in yet." />}
              {me && <Button onClick={onDone}>Not now</Button>}
            </>
          )
        )}
      </div>
    </main>
  );
}

/** It was made for one address: only the organisation's sign-in proves that one has it. */
function ByProvider({
  provider,
  secret,
}: {
  provider: ReturnType<typeof useSignInProvider>;
  secret: string;
}) {
  if (!provider) {
    return (
      <p role="note">
        It was made for one e-mail address and needs the organisation’s sign-in, which this Warren does not
        have. Ask for an invitation without an address.
      </p>
    );
  }
  return (
    <>
      <p>It was made for one e-mail address. Sign in with the account that has it.</p>
      <ProviderButton provider={provider} secret={secret} />
    </>
  );
}

/** Takes the invitation as who the organisation says that one is. */
function ProviderButton({ provider, secret }: { provider: { name: string }; secret: string }) {
  const begin = useProviderInvitation();
  return (
    <>
      <Button tone="primary" isBusy={begin.isPending || begin.isSuccess} onClick={() => begin.mutate(secret)}>
        {`Sign in with ${provider.name}`}
      </Button>
      {begin.isError && <ProblemPanel error={begin.error} what="You are not in yet." />}
    </>
  );
}

interface NameFormProps {
  isBusy: boolean;
  onJoin: (name: string, displayName: string) => void;
}

function NameForm({ isBusy, onJoin }: NameFormProps) {
  const [displayName, setDisplayName] = useState("");
  const [chosen, setChosen] = useState<string>();
  const name = chosen ?? suggestedName(displayName);
  const displayId = useId();
  const nameId = useId();
  const helpId = useId();
  const isBad = name !== "" && !isName(name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isName(name) && displayName.trim()) onJoin(name, displayName.trim());
  };
  return (
    <form className="sign-in-form" onSubmit={submit}>
      <label htmlFor={displayId}>Name to be shown</label>
      <input
        id={displayId}
        required
        maxLength={80}
        autoComplete="name"
        placeholder="Ada Lovelace"
        value={displayName}
        onChange={(event) => setDisplayName(event.target.value)}
      />
      <label htmlFor={nameId}>Short name</label>
      <input
        id={nameId}
        className="mono"
        required
        maxLength={63}
        autoComplete="username"
        autoCapitalize="off"
        spellCheck={false}
        pattern={NAME_PATTERN}
        placeholder="ada"
        aria-describedby={helpId}
        aria-invalid={isBad || undefined}
        value={name}
        onChange={(event) => setChosen(event.target.value)}
      />
      <p id={helpId} className="hint">
        {isBad
          ? "Only small letters, digits and . _ -, beginning with a letter or digit."
          : "Small letters, digits and . _ -. Nobody else may have a name that looks like yours."}
      </p>
      <Button type="submit" tone="primary" isBusy={isBusy} disabled={!displayName.trim() || !isName(name)}>
        Join
      </Button>
    </form>
  );
}

function isAboutInvitation(error: unknown): boolean {
  return error instanceof Problem && error.code.startsWith("invitation_");
}
