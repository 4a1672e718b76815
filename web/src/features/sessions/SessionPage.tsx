// One session: what was said and done, live, and what it waits for; or its steps as a timeline.
import { useMemo } from "react";
import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Icon } from "../../components/Icon";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { Link, sessionPlace } from "../../routes/router";
import { RealModelPanel } from "../agents/RealModelPanel";
import { NotAllowed, useMay } from "../signIn/me";
import { Conversation } from "./Conversation";
import { conversationOf, earlierMessages, statusOf, waitsFor } from "./conversation";
import { PendingPanels } from "./PendingPanels";
import { type FullSnapshot, useEarlierMessages, useSnapshot, useStream } from "./queries";
import { ResumePanel } from "./ResumePanel";
import { SessionComposer } from "./SessionComposer";
import { SessionStatusBadge } from "./SessionStatusBadge";
import { StopButtons } from "./StopButtons";
import type { StreamState } from "./stream";
import { Timeline } from "./Timeline";
import { counted, formatCost, formatTokens, isBusy, titleOf } from "./words";

interface SessionPageProps {
  workspace: Workspace;
  /** Or its id. */
  name: string;
  view: "timeline" | undefined;
}

/** Keyed by name where it is used: another session is another view. */
export function SessionPage({ workspace, name, view }: SessionPageProps) {
  const query = useSnapshot(workspace.id, name);
  const stream = useStream(workspace.id, name);
  if (query.isPending) return <Loading what="the session" />;
  if (!query.data || stream.phase === "gone") {
    return (
      <>
        <ProblemPanel error={query.error ?? stream.problem} onRetry={() => void query.refetch()} />
        <Link to={sessionPlace(workspace.id)}>All sessions</Link>
      </>
    );
  }
  return (
    <>
      <StaleNote query={query} />
      <Opened workspace={workspace} snapshot={query.data} stream={stream} view={view} />
    </>
  );
}

interface OpenedProps {
  workspace: Workspace;
  snapshot: FullSnapshot;
  stream: StreamState & { tryNow: () => void };
  view: "timeline" | undefined;
}

function Opened({ workspace, snapshot, stream, view }: OpenedProps) {
  const { session, steps } = snapshot;
  const { transcript } = stream;
  const status = statusOf(snapshot, transcript);
  const model = steps.findLast((step) => step.model)?.model;
  const mayUse = useMay("workspaces:use");
  const isFresh = stream.phase === "live";
  return (
    <section className="session" aria-label={titleOf(session)} data-stale={isFresh ? undefined : true}>
      <header className="session-head">
        <Link to={sessionPlace(workspace.id)} className="session-back" label="All sessions">
          <Icon name="chevron" />
        </Link>
        <h2>
          <bdi>{titleOf(session)}</bdi>
        </h2>
        <SessionStatusBadge status={status} />
        <StreamMark stream={stream} />
        <nav className="session-views" aria-label="Views of the session">
          <Link to={sessionPlace(workspace.id, session.name)} isCurrent={view === undefined}>
            Conversation
          </Link>
          <Link to={sessionPlace(workspace.id, session.name, "timeline")} isCurrent={view === "timeline"}>
            Timeline
          </Link>
        </nav>
        {mayUse && <StopButtons session={session} status={status} />}
      </header>
      <p className="session-facts">
        <span className="tag">{session.agent}</span>
        {model && <span>{model}</span>}
        <span>
          {counted(session.total_usage.steps, "step")}, {counted(session.total_usage.tool_calls, "tool call")}
          , {formatTokens(session.total_usage.tokens)} tokens, {formatCost(session.total_usage.cost_micros)}
        </span>
        {session.branched_from && (
          <span>
            branched from step {session.branched_from.step} of{" "}
            <Link to={sessionPlace(workspace.id, session.branched_from.session_id)}>another session</Link>
          </span>
        )}
        <code title="The session’s name">{session.name}</code>
      </p>
      {view === "timeline" ? (
        <Timeline session={session} steps={steps} isBusy={isBusy(status)} />
      ) : (
        <Talk workspace={workspace} snapshot={snapshot} stream={stream} />
      )}
    </section>
  );
}

function StreamMark({ stream }: { stream: OpenedProps["stream"] }) {
  const words = {
    live: "Live",
    connecting: "Connecting…",
    waiting: "Reconnecting…",
    asleep: "Asleep",
    gone: "Gone",
  };
  return (
    <span className="live" data-stream={stream.phase} role="status">
      <span className="live-dot" aria-hidden="true" />
      {words[stream.phase]}
      {stream.phase === "waiting" && (
        <Button tone="quiet" onClick={stream.tryNow}>
          Try now
        </Button>
      )}
    </span>
  );
}

function Talk({ workspace, snapshot, stream }: Omit<OpenedProps, "view">) {
  const { session } = snapshot;
  const { transcript } = stream;
  const wanted = useMemo(() => earlierMessages(transcript, snapshot), [transcript, snapshot]);
  // A history that is still on its way is not asked for message by message.
  const isRead = transcript.sequence >= session.latest_sequence;
  const earlier = useEarlierMessages(isRead ? wanted : []);
  const items = useMemo(() => conversationOf(transcript, snapshot, earlier), [transcript, snapshot, earlier]);
  const status = statusOf(snapshot, transcript);
  const mayUse = useMay("workspaces:use");
  const mayKey = useMay("secrets:write");
  const isTour = snapshot.steps.at(-1)?.model === "scripted/tour";
  return (
    <>
      <Conversation
        items={items}
        agent={session.agent}
        status={status}
        workspaceId={workspace.id}
        isEmpty={items.length === 0 && session.latest_sequence === 0}
      >
        <PendingPanels snapshot={snapshot} />
        {mayUse && (
          <ResumePanel
            key={`${session.run}.${status}`}
            session={session}
            status={status}
            reason={waitsFor(snapshot, transcript)}
          />
        )}
        {status === "completed" && isTour && mayKey && <RealModelPanel workspace={workspace} />}
      </Conversation>
      {mayUse ? (
        <SessionComposer key={session.id} snapshot={snapshot} status={status} />
      ) : (
        <NotAllowed what="writing to an agent" />
      )}
    </>
  );
}
