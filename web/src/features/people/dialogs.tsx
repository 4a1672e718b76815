// Inviting, changing what somebody may do, and taking them out.
import { type FormEvent, useId, useState } from "react";
import type { CreateInvitation, OrgRole, User } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel } from "../../components/States";
import { useMay, useMe } from "../signIn/me";
import { OneTimeLink } from "./OneTimeLink";
import { useChangeUser, useInvite, useMakeLink, useTakeOut } from "./queries";
import { RoleField } from "./RoleField";
import { isName, NAME_PATTERN, ROLE_WORD, userChange } from "./words";

const DAYS = [1, 7, 30] as const;
const DAY_SECONDS = 86_400;

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const { org } = useMe();
  const [role, setRole] = useState<OrgRole>("member");
  const [email, setEmail] = useState("");
  const [days, setDays] = useState("7");
  const invite = useInvite();
  const emailId = useId();
  const daysId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body: CreateInvitation = { role, expires_in_seconds: Number(days) * DAY_SECONDS };
    if (email.trim()) body.email = email.trim();
    invite.mutate(body);
  };
  if (invite.data) {
    return (
      <Dialog key="made" title="The invitation is made" onClose={onClose}>
        <div className="form">
          <OneTimeLink
            label={`Link into ${org.name}, as ${ROLE_WORD[role].toLowerCase()}`}
            path={invite.data.path}
            expiresAt={invite.data.invitation.expires_at}
          />
          <footer className="dialog-foot">
            <Button onClick={onClose}>Done</Button>
          </footer>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={`Invite somebody into ${org.name}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <RoleField value={role} onChange={setRole} />
        <div className="field">
          <label htmlFor={emailId}>E-mail (optional)</label>
          <input
            id={emailId}
            type="email"
            autoComplete="off"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <p className="hint">
            With an address, only the organisation’s sign-in with that address takes it. Nothing is sent: you
            hand out the link.
          </p>
        </div>
        <div className="field">
          <label htmlFor={daysId}>Good for</label>
          <select id={daysId} value={days} onChange={(event) => setDays(event.target.value)}>
            {DAYS.map((one) => (
              <option key={one} value={one}>
                {one === 1 ? "1 day" : `${one} days`}
              </option>
            ))}
          </select>
        </div>
        {invite.isError && <ProblemPanel error={invite.error} what="Nobody was invited." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={invite.isPending}>
            Make the link
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

interface UserDialogProps {
  user: User;
  onClose: () => void;
}

/** What somebody is called and may do. Those who do not run the org change their own name to be shown. */
export function ChangeDialog({ user, onClose }: UserDialogProps) {
  const me = useMe();
  const mayOperate = useMay("org:operate");
  const [displayName, setDisplayName] = useState(user.display_name);
  const [name, setName] = useState(user.name);
  const [role, setRole] = useState(user.role ?? undefined);
  const [isAdmin, setIsAdmin] = useState(user.is_admin);
  const notify = useNotify();
  const body = userChange(user, { display_name: displayName.trim(), name, role, is_admin: isAdmin });
  const change = useChangeUser(user.id, () => {
    const is = body.role ? `${ROLE_WORD[body.role].toLowerCase()} now` : "changed";
    notify(`${displayName.trim()} is ${is}`);
    onClose();
  });
  const displayId = useId();
  const nameId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (Object.keys(body).length === 0) onClose();
    else change.mutate(body);
  };
  return (
    <Dialog title={`Change ${user.display_name}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <div className="field">
          <label htmlFor={displayId}>Name to be shown</label>
          <input
            id={displayId}
            data-autofocus
            required
            maxLength={80}
            autoComplete="off"
            value={displayName}
            onChange={(event) => setDisplayName(event.target.value)}
          />
        </div>
        {mayOperate && (
          <div className="field">
            <label htmlFor={nameId}>Short name</label>
            <input
              id={nameId}
              className="mono"
              required
              maxLength={63}
              autoComplete="off"
              autoCapitalize="off"
              spellCheck={false}
              pattern={NAME_PATTERN}
              title="Small letters, digits and . _ -"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </div>
        )}
        {mayOperate && role && <RoleField value={role} onChange={setRole} />}
        {me.is_admin && (
          <label className="choice">
            <input type="checkbox" checked={isAdmin} onChange={(event) => setIsAdmin(event.target.checked)} />
            <span>
              <strong>Admin: runs this Warren</strong>
              <span className="choice-note">May do everything in every org, and make orgs.</span>
            </span>
          </label>
        )}
        {change.isError && <ProblemPanel error={change.error} what="Nothing was changed." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            tone="primary"
            isBusy={change.isPending}
            disabled={!displayName.trim() || !isName(name)}
          >
            Save
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

export function TakeOutDialog({ user, isMe, onClose }: UserDialogProps & { isMe: boolean }) {
  const { org } = useMe();
  const [keep, setKeep] = useState(false);
  const notify = useNotify();
  const takeOut = useTakeOut(user.id, () => {
    notify(`${user.display_name} is no longer in ${org.name}`);
    onClose();
  });
  const who = isMe ? "You" : user.display_name;
  return (
    <Dialog title={`Take ${user.display_name} out of ${org.name}?`} onClose={onClose}>
      <div className="form">
        <p>
          <strong>
            <bdi>{who}</bdi>
          </strong>{" "}
          will not come into {org.name} any more: {isMe ? "your" : "their"} tokens and open invitations end,
          and what {isMe ? "you have" : "they have"} open closes. What was said and done stays.
        </p>
        <label className="choice">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.target.checked)} />
          <span>Let schedules, webhooks and channels that act in {isMe ? "your" : "their"} name go on</span>
        </label>
        {takeOut.isError && <ProblemPanel error={takeOut.error} what="Nobody was taken out." />}
        <footer className="dialog-foot">
          <Button onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button tone="danger" icon="trash" isBusy={takeOut.isPending} onClick={() => takeOut.mutate(keep)}>
            Take out
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}

export function LinkDialog({ user, onClose }: UserDialogProps) {
  const make = useMakeLink(user.id);
  return (
    <Dialog title={`Sign-in link for ${user.display_name}`} onClose={onClose}>
      <div className="form">
        {make.data ? (
          <OneTimeLink
            label={`Signs in as ${user.display_name}`}
            path={make.data.path}
            expiresAt={make.data.expires_at}
          />
        ) : make.isPending ? (
          <Loading what="the link" />
        ) : (
          <p>
            Whoever opens the link is signed in as <bdi>{user.display_name}</bdi>. It works once, within ten
            minutes.
          </p>
        )}
        {make.isError && <ProblemPanel error={make.error} what="There is no link." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>{make.data ? "Done" : "Cancel"}</Button>
          {!make.data && (
            <Button tone="primary" icon="link" isBusy={make.isPending} onClick={() => make.mutate()}>
              Make the link
            </Button>
          )}
        </footer>
      </div>
    </Dialog>
  );
}
