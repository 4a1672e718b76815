import { useState } from "react";
import type { User } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { useMay, useMe } from "../signIn/me";
import { ChangeDialog, LinkDialog, TakeOutDialog } from "./dialogs";
import { useUsers } from "./queries";
import { hasLeft, inOrder, roleWord } from "./words";

export function UserList() {
  const query = useUsers();
  if (query.isPending) return <Loading what="people" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const { items, isPartial } = query.data;
  return (
    <>
      <StaleNote query={query} />
      <ul className="people" aria-label="People of the org">
        {inOrder(items).map((user) => (
          <UserRow key={user.id} user={user} />
        ))}
      </ul>
      {isPartial && <p className="hint">Only the first {items.length} are shown.</p>}
    </>
  );
}

function UserRow({ user }: { user: User }) {
  const me = useMe();
  const mayOperate = useMay("org:operate");
  const [dialog, setDialog] = useState<"change" | "out" | "link">();
  const close = () => setDialog(undefined);
  const isMe = me.user?.id === user.id;
  const isPast = hasLeft(user);
  // Whoever signs in as somebody that runs this Warren would run it too.
  const mayLink = isMe || me.is_admin || !user.is_admin;
  return (
    <li className="person" data-past={isPast || undefined}>
      <div className="person-who">
        <strong>
          <bdi>{user.display_name}</bdi>
        </strong>
        {isMe && <span className="tag">you</span>}
        <span className="hint">
          <code>{user.name}</code>
          {user.email && <bdi> · {user.email}</bdi>}
        </span>
      </div>
      <span className="tag">{isPast ? "Left" : roleWord(user.role, user.is_admin)}</span>
      <span className="hint">
        {isPast ? "left " : "joined "}
        {(user.left_at ?? user.since) && <Ago at={user.left_at ?? user.since ?? ""} />}
        {!isPast && user.last_seen_at && (
          <>
            , seen <Ago at={user.last_seen_at} />
          </>
        )}
      </span>
      {!isPast && (mayOperate || isMe) && (
        <div className="actions">
          <Button
            icon="pencil"
            aria-label={`Change ${user.display_name}`}
            onClick={() => setDialog("change")}
          >
            Change
          </Button>
          {mayOperate && mayLink && (
            <Button
              icon="link"
              aria-label={`Sign-in link for ${user.display_name}`}
              onClick={() => setDialog("link")}
            >
              Link
            </Button>
          )}
          {mayOperate && user.role && (
            <Button
              icon="trash"
              aria-label={`Take ${user.display_name} out of ${me.org.name}`}
              title="Take out of the org"
              onClick={() => setDialog("out")}
            />
          )}
        </div>
      )}
      {dialog === "change" && <ChangeDialog user={user} onClose={close} />}
      {dialog === "out" && <TakeOutDialog user={user} isMe={isMe} onClose={close} />}
      {dialog === "link" && <LinkDialog user={user} onClose={close} />}
    </li>
  );
}
