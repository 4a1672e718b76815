// The sessions of a workspace: which there are and what they wait for, and the one that is open.
import { useState } from "react";
import type { Session, SessionStatus, Workspace } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Empty, Loading, ProblemPanel, StaleNote } from "../../components/States";
import { Link, sessionPlace } from "../../routes/router";
import { GuidedButton } from "../agents/GuidedButton";
import { RealModelForm } from "../agents/RealModelPanel";
import { useMay } from "../signIn/me";
import { ToolRuleList } from "../toolRules/ToolRuleList";
import { NewSessionDialog } from "./NewSessionDialog";
import { useRows, useSessions } from "./queries";
import { SessionPage } from "./SessionPage";
import { SessionStatusBadge } from "./SessionStatusBadge";
import { counted, formatCost, formatTokens, SESSION_STATUSES, STATUS_WORD, titleOf, whyOf } from "./words";

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
  const [opened, setOpened] = useState<"new" | "model">();
  const mayUse = useMay("workspaces:use");
  const mayKey = useMay("secrets:write");
  const close = () => setOpened(undefined);
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
        <div className="row">
          {mayKey && (
            <Button icon="spark" onClick={() => setOpened("model")}>
              Use a real model
            </Button>
          )}
          {mayUse && (
            <Button tone="primary" icon="plus" onClick={() => setOpened("new")}>
              New session
            </Button>
          )}
        </div>
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
      <ToolRuleList workspaceId={workspace.id} />
      {opened === "new" && <NewSessionDialog workspace={workspace} onClose={close} />}
      {opened === "model" && (
        <Dialog title="Use a real model" onClose={close}>
          <div className="form">
            <RealModelForm workspace={workspace} />
          </div>
        </Dialog>
      )}
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
      {/* On the host it would work as the user who runs Warren: there it gets a box of its own instead. */}
      <GuidedButton workspace={workspace.provider.kind === "local" ? undefined : workspace} />
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
          {counted(usage.steps, "step")}, {formatTokens(usage.tokens)} tokens, {formatCost(usage.cost_micros)}
        </span>
        <Ago at={session.updated_at} />
      </span>
    </li>
  );
}
