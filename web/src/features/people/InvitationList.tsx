// For operators: who was invited, and the way to take an invitation back.
import type { Invitation } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { formatMoment } from "../../components/format";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { principalName, usePeopleNames } from "./names";
import { useInvitations, useRevokeInvitation } from "./queries";
import { invitationLine, ROLE_WORD } from "./words";

export function InvitationList() {
  const query = useInvitations();
  if (query.isPending) return <Loading what="invitations" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const open = query.data.items.filter(({ state }) => state === "open");
  const past = query.data.items.filter(({ state }) => state !== "open").reverse();
  return (
    <>
      <StaleNote query={query} />
      {open.length === 0 ? (
        <p className="hint">No invitation is open.</p>
      ) : (
        <ul className="people" aria-label="Open invitations">
          {open.map((one) => (
            <InvitationRow key={one.id} invitation={one} />
          ))}
        </ul>
      )}
      {past.length > 0 && (
        <details className="past-invitations">
          <summary>Earlier invitations ({past.length})</summary>
          <ul className="people" aria-label="Earlier invitations">
            {past.map((one) => (
              <InvitationRow key={one.id} invitation={one} />
            ))}
          </ul>
        </details>
      )}
      {query.data.isPartial && <p className="hint">Only the first {query.data.items.length} are shown.</p>}
    </>
  );
}

function InvitationRow({ invitation }: { invitation: Invitation }) {
  const names = usePeopleNames();
  const notify = useNotify();
  const revoke = useRevokeInvitation(() => notify("The invitation is taken back"));
  const word = ROLE_WORD[invitation.role];
  const line = invitationLine(invitation, (who) => principalName(who, names));
  return (
    <li className="person" data-past={invitation.state === "open" ? undefined : true}>
      <div className="person-who">
        <strong>{word}</strong>
        <span className="hint">
          <bdi>{line}</bdi>
        </span>
      </div>
      <span className="hint">
        by <bdi>{principalName(invitation.invited_by, names)}</bdi> <Ago at={invitation.created_at} />
        {invitation.state === "open" && `, until ${formatMoment(invitation.expires_at)}`}
      </span>
      {invitation.state === "open" && (
        <div className="actions">
          <Button
            icon="trash"
            aria-label={`Take back the invitation as ${word.toLowerCase()}${invitation.email ? ` for ${invitation.email}` : ""}`}
            isBusy={revoke.isPending}
            onClick={() => revoke.mutate(invitation.id)}
          >
            Take back
          </Button>
        </div>
      )}
      {revoke.isError && <ProblemPanel error={revoke.error} what="It was not taken back." />}
    </li>
  );
}
