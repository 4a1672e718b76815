import type { ServerInfo, Workspace } from "../api/types";
import { Loading, ProblemPanel } from "../components/States";
import { STATUS_WORDS, StatusBadge, StatusDot } from "../components/StatusBadge";
import { useFeedState } from "../features/events/context";
import { EventList } from "../features/events/EventList";
import { useEventLog } from "../features/events/history";
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
  return (
    <section className="welcome" aria-labelledby="welcome-title">
      <h1 id="welcome-title">Places for agents to work</h1>
      <p>
        A workspace is a place with files and, if its provider has one, a shell. Make the first; everything
        that happens in it shows up here as it happens.
      </p>
      <CreateButton label="Create your first workspace" />
      <ol className="steps">
        <li>
          <strong>Create</strong> a workspace and see it come online.
        </li>
        <li>
          <strong>Write</strong> a file in its Files tab.
        </li>
        <li>
          <strong>Run</strong> a command and read its output as it comes.
        </li>
      </ol>
    </section>
  );
}

function Fleet({ workspaces }: { workspaces: readonly Workspace[] }) {
  const counts = countByStatus(workspaces);
  const attention = needingAttention(workspaces);
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
