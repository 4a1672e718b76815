// The sessions of a workspace: which there are and what they wait for, and the one that is open.
import { useState } from "react";
import type { Session, SessionStatus, Workspace } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { Empty, Loading, ProblemPanel, StaleNote } from "../../components/States";
import { Link, sessionPlace } from "../../routes/router";
import { GuidedButton } from "../agents/GuidedButton";
import { NewSessionDialog } from "./NewSessionDialog";
import { useRows, useSessions } from "./queries";
import { SessionPage } from "./SessionPage";
import { SessionStatusBadge } from "./SessionStatusBadge";
import { formatCost, formatTokens, SESSION_STATUSES, STATUS_WORD, titleOf, whyOf } from "./words";

interface SessionsTabProps {
  workspace: Workspace;
  session: string | undefined;
  view: "timeline" | undefined;
}

export default function SessionsTab({ workspace, session, view }: SessionsTabProps) {
  return session ? (
    <SessionPage key={session} workspace={workspace} name={session} view={view} />
  ) : (
    <SessionList workspace={workspace} />
  );
}

function SessionList({ workspace }: { workspace: Workspace }) {
  const [status, setStatus] = useState<SessionStatus>();
  const [isOpen, setIsOpen] = useState(false);
  const query = useSessions(workspace.id, status);
  const rows = useRows(query.data?.pages);
  return (
    <section className="sessions" aria-label="Sessions">
      <div className="sessions-bar">
        <label className="sessions-filter">
          Show
          <select
            value={status ?? ""}
            onChange={(event) => setStatus((event.target.value || undefined) as SessionStatus | undefined)}
          >
            <option value="">all sessions</option>
            {SESSION_STATUSES.map((one) => (
              <option key={one} value={one}>
                {STATUS_WORD[one].toLowerCase()}
              </option>
            ))}
          </select>
        </label>
        <Button tone="primary" icon="plus" onClick={() => setIsOpen(true)}>
          New session
        </Button>
      </div>
      {query.isPending ? (
        <Loading what="sessions" />
      ) : !query.data ? (
        <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <>
          <StaleNote query={query} />
          {rows.length === 0 ? (
            <NoSessions workspace={workspace} status={status} />
          ) : (
            <ul className="session-rows" aria-label="Sessions, the newest first">
              {rows.map((one) => (
                <SessionRow key={one.id} session={one} />
              ))}
            </ul>
          )}
          {query.hasNextPage && (
            <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              Show earlier sessions
            </Button>
          )}
        </>
      )}
      {isOpen && <NewSessionDialog workspace={workspace} onClose={() => setIsOpen(false)} />}
    </section>
  );
}

function NoSessions({ workspace, status }: { workspace: Workspace; status: SessionStatus | undefined }) {
  if (status) {
    return (
      <Empty icon="search" title={`No session is ${STATUS_WORD[status].toLowerCase()}`}>
        <p className="hint">Choose “all sessions” to see the others.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="session" title="No session yet">
      <p className="hint">
        A session is a conversation with an agent that works in {workspace.name}. The guided agent needs no
        key and costs nothing.
      </p>
      <GuidedButton workspace={workspace} />
    </Empty>
  );
}

function SessionRow({ session }: { session: Session }) {
  const why = whyOf(session);
  const { total_usage: usage } = session;
  return (
    <li className="session-row">
      <Link to={sessionPlace(session.workspace_id, session.name)} className="session-row-title">
        <bdi>{titleOf(session)}</bdi>
      </Link>
      <SessionStatusBadge status={session.status} />
      {why && <span className="session-row-why">{why}</span>}
      <span className="session-row-meta">
        <span className="tag">{session.agent}</span>
        <span>
          {usage.steps} {usage.steps === 1 ? "step" : "steps"}, {formatTokens(usage.tokens)} tokens,{" "}
          {formatCost(usage.cost_micros)}
        </span>
        <Ago at={session.updated_at} />
      </span>
    </li>
  );
}
