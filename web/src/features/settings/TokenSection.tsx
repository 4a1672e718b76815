// Tokens by which programs come in: made here, shown once, and ended with what was made with them.
import { type FormEvent, useId, useState } from "react";
import type { CreateToken, Token } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { formatMoment } from "../../components/format";
import { useNotify } from "../../components/Notices";
import { ShownOnce } from "../../components/ShownOnce";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { principalName, usePeopleNames } from "../people/names";
import { NotAllowed, useMay, useMe } from "../signIn/me";
import { useWorkspaceNames } from "../workspaces/names";
import { useCreateToken, useMadeWith, useRevokeToken, useTokens } from "./queries";
import { isKept, PURPOSES, type Purpose, scopesFor } from "./words";

const DAY_SECONDS = 86_400;

export function TokenSection() {
  const mayRead = useMay("tokens:read");
  const mayWrite = useMay("tokens:write");
  const [isMaking, setIsMaking] = useState(false);
  const titleId = useId();
  return (
    <section className="people-section" aria-labelledby={titleId}>
      <div className="people-head">
        <h2 id={titleId}>Tokens</h2>
        {mayWrite && (
          <Button icon="plus" onClick={() => setIsMaking(true)}>
            New token
          </Button>
        )}
      </div>
      <p className="hint">
        With a token a program or the command line comes in as you: <code>WARREN_TOKEN</code>. It never may
        more than you.
      </p>
      {mayRead ? <TokenList /> : <NotAllowed what="having tokens" />}
      {isMaking && <TokenDialog onClose={() => setIsMaking(false)} />}
    </section>
  );
}

function TokenList() {
  const query = useTokens();
  if (query.isPending) return <Loading what="tokens" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const items = query.data.items.filter(isKept);
  return (
    <>
      <StaleNote query={query} />
      {items.length === 0 ? (
        <p className="hint">None yet.</p>
      ) : (
        <ul className="people" aria-label="Tokens">
          {items.map((token) => (
            <TokenRow key={token.id} token={token} />
          ))}
        </ul>
      )}
      {query.data.isPartial && (
        <p className="hint">Only the first are shown. The command line lists them all.</p>
      )}
    </>
  );
}

function TokenRow({ token }: { token: Token }) {
  const people = usePeopleNames();
  const workspaces = useWorkspaceNames();
  const mayWrite = useMay("tokens:write");
  const [isEnding, setIsEnding] = useState(false);
  const of = token.workspace_id ? workspaces.get(token.workspace_id) : undefined;
  return (
    <li className="person">
      <div className="person-who">
        <strong>
          <bdi>{token.name}</bdi>
        </strong>
        <code>{token.prefix}…</code>
        <span className="tag">{token.kind}</span>
        {of && <span className="hint">of {of}</span>}
        {token.scopes.length > 0 && <span className="hint">{token.scopes.join(", ")}</span>}
      </div>
      <span className="hint">
        <bdi>{principalName(token.owner, people, workspaces)}</bdi>,{" "}
        {token.last_used_at ? (
          <>
            used <Ago at={token.last_used_at} />
          </>
        ) : (
          "never used"
        )}
        {token.expires_at && `, until ${formatMoment(token.expires_at)}`}
      </span>
      {mayWrite && (
        <div className="actions">
          <Button
            icon="trash"
            aria-label={`Revoke the token ${token.name}`}
            onClick={() => setIsEnding(true)}
          >
            Revoke
          </Button>
        </div>
      )}
      {isEnding && <RevokeDialog token={token} onClose={() => setIsEnding(false)} />}
    </li>
  );
}

function RevokeDialog({ token, onClose }: { token: Token; onClose: () => void }) {
  const made = useMadeWith(token.id);
  const [keep, setKeep] = useState(false);
  const notify = useNotify();
  const revoke = useRevokeToken(token.id, () => {
    notify(`Revoked ${token.name}`);
    onClose();
  });
  const count = made.data?.items.length ?? 0;
  return (
    <Dialog title={`Revoke ${token.name}?`} onClose={onClose}>
      <div className="form">
        <p>Whoever comes with it is refused from now on. It cannot be undone.</p>
        {made.isPending && <Loading what="what was made with it" />}
        {made.isError && <ProblemPanel error={made.error} onRetry={() => void made.refetch()} />}
        {count > 0 && (
          <>
            <p>With it {count === 1 ? "was made:" : `were made ${count} things:`}</p>
            <ul className="plain-list">
              {made.data?.items.slice(0, 10).map((one) => (
                <li key={one.id}>
                  {one.kind} <bdi>{one.name}</bdi>
                </li>
              ))}
            </ul>
            <label className="choice">
              <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.target.checked)} />
              <span>Let what was made with it go on</span>
            </label>
          </>
        )}
        {revoke.isError && <ProblemPanel error={revoke.error} what="It was not revoked." />}
        <footer className="dialog-foot">
          <Button onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button tone="danger" icon="trash" isBusy={revoke.isPending} onClick={() => revoke.mutate(keep)}>
            Revoke
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}

function TokenDialog({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const [name, setName] = useState("");
  const [purpose, setPurpose] = useState<Purpose>("work");
  const [days, setDays] = useState("90");
  const create = useCreateToken();
  const nameId = useId();
  const daysId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body: CreateToken = { kind: "user", name: name.trim(), scopes: scopesFor(purpose, me.scopes) };
    if (days) body.expires_in_seconds = Number(days) * DAY_SECONDS;
    create.mutate(body);
  };
  if (create.data) return <MadeToken secret={create.data.secret} name={name} onClose={onClose} />;
  return (
    <Dialog title="New token" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <div className="field">
          <label htmlFor={nameId}>Name</label>
          <input
            id={nameId}
            data-autofocus
            required
            maxLength={100}
            autoComplete="off"
            placeholder="laptop"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        <fieldset className="field choices">
          <legend>What it may do</legend>
          {(Object.keys(PURPOSES) as Purpose[]).map((one) => (
            <label key={one} className="choice">
              <input type="radio" name="purpose" checked={purpose === one} onChange={() => setPurpose(one)} />
              <span>
                <strong>{PURPOSES[one].word}</strong>
                <span className="choice-note">{PURPOSES[one].note}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <div className="field">
          <label htmlFor={daysId}>Good for</label>
          <select id={daysId} value={days} onChange={(event) => setDays(event.target.value)}>
            <option value="1">1 day</option>
            <option value="30">30 days</option>
            <option value="90">90 days</option>
            <option value="365">a year</option>
            <option value="">ever</option>
          </select>
        </div>
        {create.isError && <ProblemPanel error={create.error} what="There is no token." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={create.isPending} disabled={!name.trim()}>
            Make the token
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function MadeToken({ secret, name, onClose }: { secret: string; name: string; onClose: () => void }) {
  return (
    <Dialog title={`The token ${name} is made`} onClose={onClose}>
      <div className="form">
        <div className="field one-time-link">
          <ShownOnce label="Token, shown once" value={secret} what="token" />
          <p className="hint">
            Use it as <code>export WARREN_TOKEN=…</code> or as <code>Authorization: Bearer …</code>. It is
            stored nowhere: who loses it makes another.
          </p>
        </div>
        <footer className="dialog-foot">
          <Button onClick={onClose}>Done</Button>
        </footer>
      </div>
    </Dialog>
  );
}
