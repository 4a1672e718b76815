import type { ServerInfo, Workspace } from "../api/types";
import { Empty, Loading, ProblemPanel } from "../components/States";
import { STATUS_WORDS, StatusBadge, StatusDot } from "../components/StatusBadge";
import { GuidedButton } from "../features/agents/GuidedButton";
import { useFeedState } from "../features/events/context";
import { EventList } from "../features/events/EventList";
import { useEventLog } from "../features/events/history";
import { NotAllowed, useMay } from "../features/signIn/me";
import { CreateButton } from "../features/workspaces/CreateButton";
import { countByStatus, needingAttention } from "../features/workspaces/order";
import { useServerInfo, useWorkspaces } from "../features/workspaces/queries";
import { Link, workspacePlace } from "./router";

const RECENT = 8;

export function OverviewPage() {
  const query = useWorkspaces();
  const info = useServerInfo();
  if (query.isPending) return <Loading what="workspaces" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <div className="page">
      {query.data.length === 0 ? <FirstSteps /> : <Fleet workspaces={query.data} />}
      {info.data && <Server info={info.data} />}
    </div>
  );
}

function FirstSteps() {
  if (!useMay("workspaces:write")) {
    return (
      <Empty icon="home" title="There is no workspace yet">
        <NotAllowed what="making one" />
      </Empty>
    );
  }
  return (
    <section className="welcome" aria-labelledby="welcome-title">
      <h1 id="welcome-title">Places for agents to work</h1>
      <p>
        See an agent at work first: it gets a box of its own, writes a file, runs a command, asks you for an
        approval, and finishes. It answers from a script, so it needs no key and costs nothing.
      </p>
      <GuidedButton />
      <ol className="steps">
        <li>
          <strong>Watch</strong> each step as it happens.
        </li>
        <li>
          <strong>Decide</strong> what it may do: approve, deny, or change the arguments.
        </li>
        <li>
          <strong>Go on</strong> with a real model: one field for a key.
        </li>
      </ol>
      <div className="welcome-other">
        <p className="hint">Or begin with an empty place with files and a shell:</p>
        <CreateButton label="Create your first workspace" tone="plain" />
      </div>
    </section>
  );
}

function Fleet({ workspaces }: { workspaces: readonly Workspace[] }) {
  const counts = countByStatus(workspaces);
  const attention = needingAttention(workspaces);
  const mayWrite = useMay("workspaces:write");
  return (
    <>
      <header className="page-head">
        <h1>Overview</h1>
      </header>
      <ul className="tiles" aria-label="Workspaces by status">
        <li className="tile">
          <span className="tile-count">{workspaces.length}</span>
          <span className="tile-word">{workspaces.length === 1 ? "Workspace" : "Workspaces"}</span>
        </li>
        {[...counts].map(([status, count]) => (
          <li key={status} className="tile">
            <span className="tile-count">{count}</span>
            <span className="tile-word">
              <StatusDot status={status} /> {STATUS_WORDS[status]}
            </span>
          </li>
        ))}
      </ul>
      <section className="card" aria-labelledby="attention-title">
        <h2 id="attention-title">Needs attention</h2>
        {attention.length === 0 ? (
          <p className="hint">Nothing. No workspace is failed, degraded or offline.</p>
        ) : (
          <ul className="attention">
            {attention.map((workspace) => (
              <li key={workspace.id}>
                <StatusBadge status={workspace.status} />
                <Link to={workspacePlace(workspace.id, "health")}>{workspace.name}</Link>
                <span className="hint">{workspace.reason ?? "No reason was given."}</span>
              </li>
            ))}
          </ul>
        )}
      </section>
      {mayWrite && (
        <section className="card" aria-labelledby="guided-title">
          <h2 id="guided-title">An agent at work</h2>
          <p className="hint guided-hint">
            The guided agent writes a file, runs a command and asks for an approval, in a box of its own. It
            needs no key.
          </p>
          <GuidedButton tone="plain" />
        </section>
      )}
      <RecentEvents />
    </>
  );
}

function RecentEvents() {
  const { events, isPending } = useEventLog();
  const { phase } = useFeedState();
  return (
    <section className="card" aria-labelledby="recent-title">
      <h2 id="recent-title">
        Recent events {phase === "live" && <span className="live-mark">live</span>}
        <Link to={{ page: "events" }} className="card-link">
          All events
        </Link>
      </h2>
      {isPending ? <Loading what="events" /> : <EventList events={events.slice(0, RECENT)} isGlobal />}
    </section>
  );
}

function Server({ info }: { info: ServerInfo }) {
  return (
    <footer className="server-line">
      <span>Warren {info.version}</span>
      <span>{info.database}</span>
      <span>{info.durability}</span>
      <span>providers: {info.providers.map((provider) => provider.kind).join(", ")}</span>
    </footer>
  );
}
