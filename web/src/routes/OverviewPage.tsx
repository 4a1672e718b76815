import type { ServerInfo, Workspace } from "../api/types";
import { Ago } from "../components/Ago";
import { Icon } from "../components/Icon";
import { Empty, Loading, ProblemPanel } from "../components/States";
import { STATUS_WORDS, StatusBadge, StatusDot } from "../components/StatusBadge";
import { visibleText } from "../components/visibleText";
import { GuidedButton } from "../features/agents/GuidedButton";
import { usePendingApprovals } from "../features/approvals/queries";
import { useFeedState } from "../features/events/context";
import { EventList } from "../features/events/EventList";
import { useEventLog } from "../features/events/history";
import { NotAllowed, useMay } from "../features/signIn/me";
import { atWork } from "../features/workspaces/atWork";
import { CreateButton } from "../features/workspaces/CreateButton";
import { useWorkspaceNames } from "../features/workspaces/names";
import { countByStatus, needingAttention } from "../features/workspaces/order";
import { useRunningSessions, useServerInfo, useWorkspaces } from "../features/workspaces/queries";
import { useSearch } from "../features/workspaces/search";
import { Link, sessionPlace, workspacePlace } from "./router";

const RECENT = 8;
const SHOWN_APPROVALS = 5;
const SHOWN_TROUBLE = 10;

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
  const mayWrite = useMay("workspaces:write");
  const { setWords } = useSearch();
  return (
    <>
      <header className="page-head">
        <h1>Overview</h1>
      </header>
      <ul className="tiles" aria-label="Workspaces by status">
        <li>
          <Link to={{ page: "map" }} className="tile">
            <span className="tile-count">{workspaces.length}</span>
            <span className="tile-word">{workspaces.length === 1 ? "Workspace" : "Workspaces"}</span>
          </Link>
        </li>
        {[...counts].map(([status, count]) => (
          <li key={status}>
            <button
              type="button"
              className="tile"
              title={`List those that are ${STATUS_WORDS[status].toLowerCase()}`}
              onClick={() => setWords(status.replaceAll("_", " "))}
            >
              <span className="tile-count">{count}</span>
              <span className="tile-word">
                <StatusDot status={status} /> {STATUS_WORDS[status]}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <Attention workspaces={workspaces} />
      <AtWork workspaces={workspaces} />
      {mayWrite && (
        <section className="card" aria-labelledby="guided-title">
          <h2 id="guided-title">See an agent at work</h2>
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

/** What waits for a person: questions of agents, and workspaces in trouble. */
function Attention({ workspaces }: { workspaces: readonly Workspace[] }) {
  const attention = needingAttention(workspaces);
  const approvals = usePendingApprovals();
  const names = useWorkspaceNames();
  const asked = approvals.data?.items ?? [];
  return (
    <section className="card" aria-labelledby="attention-title">
      <h2 id="attention-title">
        Needs attention
        {asked.length > 0 && (
          <Link to={{ page: "approvals" }} className="card-link">
            All approvals
          </Link>
        )}
      </h2>
      {attention.length === 0 && asked.length === 0 ? (
        <p className="hint">Nothing. No agent asks, and no workspace is failed, degraded or offline.</p>
      ) : (
        <ul className="attention">
          {asked.slice(0, SHOWN_APPROVALS).map(({ id, workspace_id, action, call, created_at }) => (
            <li key={id}>
              <span className="badge badge-asks">
                <Icon name="hand" /> Asks
              </span>
              <Link
                to={call ? sessionPlace(workspace_id, call.session_id) : workspacePlace(workspace_id, "chat")}
              >
                {names.get(workspace_id) ?? `workspace ${workspace_id.slice(-6)}`}
              </Link>
              <span className="hint">
                <bdi>{visibleText(action)}</bdi> · <Ago at={created_at} />
              </span>
            </li>
          ))}
          {asked.length > SHOWN_APPROVALS && (
            <li className="hint">and {asked.length - SHOWN_APPROVALS} more questions</li>
          )}
          {attention.slice(0, SHOWN_TROUBLE).map((workspace) => (
            <li key={workspace.id}>
              <StatusBadge status={workspace.status} />
              <Link to={workspacePlace(workspace.id, "health")}>{workspace.name}</Link>
              <span className="hint">{workspace.reason ?? "No reason was given."}</span>
            </li>
          ))}
          {attention.length > SHOWN_TROUBLE && (
            <li className="hint">and {attention.length - SHOWN_TROUBLE} more workspaces</li>
          )}
        </ul>
      )}
    </section>
  );
}

/** Who works on what: sessions that run or wait, and programs that say that they work. */
function AtWork({ workspaces }: { workspaces: readonly Workspace[] }) {
  const query = useRunningSessions();
  const rows = atWork(workspaces, query.data ?? []);
  return (
    <section className="card" aria-labelledby="at-work-title">
      <h2 id="at-work-title">At work</h2>
      {rows.length === 0 ? (
        <p className="hint">{query.isPending ? "Looking…" : "Nobody works at the moment."}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        <section className="table-box" tabIndex={0} aria-label="Who works on what">
          <table className="rows">
            <thead>
              <tr>
                <th scope="col">Workspace</th>
                <th scope="col">Who</th>
                <th scope="col">On what</th>
                <th scope="col">State</th>
                <th scope="col">Since</th>
                <th scope="col">Spent</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.key}>
                  <td>
                    <Link
                      to={
                        row.session
                          ? sessionPlace(row.workspaceId, row.session)
                          : workspacePlace(row.workspaceId, "chat")
                      }
                    >
                      {row.workspace}
                    </Link>
                  </td>
                  <td>
                    <bdi>{row.who}</bdi>
                  </td>
                  <td>
                    <bdi>{visibleText(row.what)}</bdi>
                  </td>
                  <td>{row.state}</td>
                  <td>{row.since ? <Ago at={row.since} /> : "–"}</td>
                  <td>{row.spent}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
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
      <span>
        Places:{" "}
        {info.providers
          .filter(({ unavailable }) => !unavailable)
          .map(({ kind }) => kind)
          .join(", ")}
      </span>
      <span title={info.durability}>Data in {info.database}</span>
      <Link to={{ page: "api" }}>API</Link>
    </footer>
  );
}
