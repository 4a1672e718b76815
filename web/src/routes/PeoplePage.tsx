import { useState } from "react";
import { Button } from "../components/Button";
import { InviteDialog } from "../features/people/dialogs";
import { InvitationList } from "../features/people/InvitationList";
import { NewOrgButton, OrgList } from "../features/people/OrgList";
import { UserList } from "../features/people/UserList";
import { useMay, useMe } from "../features/signIn/me";

/** Who is in the org (F9), who was invited, and for who runs this Warren, its orgs. */
export function PeoplePage() {
  const me = useMe();
  const mayOperate = useMay("org:operate");
  const [isInviting, setIsInviting] = useState(false);
  return (
    <div className="page">
      <header className="page-head">
        <h1>
          People of <bdi>{me.org.name}</bdi>
        </h1>
        {mayOperate && (
          <Button tone="primary" icon="plus" onClick={() => setIsInviting(true)}>
            Invite
          </Button>
        )}
      </header>
      <UserList />
      {mayOperate && (
        <section aria-labelledby="invitations-title" className="people-section">
          <h2 id="invitations-title">Invitations</h2>
          <InvitationList />
        </section>
      )}
      {me.is_admin && (
        <section aria-labelledby="orgs-title" className="people-section">
          <header className="people-head">
            <h2 id="orgs-title">Orgs</h2>
            <NewOrgButton />
          </header>
          <OrgList />
        </section>
      )}
      {isInviting && <InviteDialog onClose={() => setIsInviting(false)} />}
    </div>
  );
}
