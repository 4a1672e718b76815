import { useMemo, useState } from "react";
import type { WarrenEvent } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Icon } from "../../components/Icon";
import { Link, workspacePlace } from "../../routes/router";
import { principalName, usePeopleNames } from "../people/names";
import { useWorkspaceName, useWorkspaceNames } from "../workspaces/names";
import { describe } from "./describe";

interface EventListProps {
  events: readonly WarrenEvent[];
  /** Whether each line names its workspace; inside a workspace's own page it need not. */
  isGlobal: boolean;
}

export function EventList({ events, isGlobal }: EventListProps) {
  const past = useMemo(() => namesIn(events), [events]);
  return (
    <ol className="events" aria-label="Events, newest first">
      {events.map((event) => (
        <EventLine key={event.seq} event={event} isGlobal={isGlobal} past={past} />
      ))}
    </ol>
  );
}

/** What workspaces were called that are gone: their first and last events say it. */
function namesIn(events: readonly WarrenEvent[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { kind, workspace_id, data } of events) {
    if (!kind.startsWith("workspace.lifecycle.")) continue;
    const { name } = data as { name?: unknown };
    if (workspace_id && typeof name === "string" && !names.has(workspace_id)) names.set(workspace_id, name);
  }
  return names;
}

interface EventLineProps {
  event: WarrenEvent;
  isGlobal: boolean;
  past: ReadonlyMap<string, string>;
}

function EventLine({ event, isGlobal, past }: EventLineProps) {
  const [isOpen, setIsOpen] = useState(false);
  const people = usePeopleNames();
  const by = event.principal.kind === "user" ? principalName(event.principal, people) : undefined;
  const { text, tone } = describe(event, by);
  return (
    <li className="event" data-tone={tone} data-seq={event.seq}>
      <span className="event-mark" aria-hidden="true" />
      <div className="event-body">
        <div className="event-line">
          <span className="event-text">
            {event.workspace_id && isGlobal && <WorkspaceName id={event.workspace_id} past={past} />}{" "}
            <span>{event.workspace_id && !isGlobal ? capitalized(text) : text}</span>
            {by && !text.startsWith(by) && (
              <span className="event-by">
                {" · "}
                <bdi>{by}</bdi>
              </span>
            )}
          </span>
          <span className="event-when">
            <Ago at={event.at} />
          </span>
          <button
            type="button"
            className="event-more"
            aria-label={`Details of event ${event.seq}`}
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            <Icon name="chevron" className="tree-chevron" />
          </button>
        </div>
        {isOpen && <Details event={event} />}
      </div>
    </li>
  );
}

function Details({ event }: { event: WarrenEvent }) {
  const people = usePeopleNames();
  const workspaces = useWorkspaceNames();
  return (
    <dl className="facts">
      <dt>Kind</dt>
      <dd>
        <code>{event.kind}</code>
      </dd>
      <dt>Sequence</dt>
      <dd>{event.seq}</dd>
      <dt>By</dt>
      <dd>
        <bdi>{principalName(event.principal, people, workspaces)}</bdi>{" "}
        <span className="tag">{event.principal.kind === "user" ? "person" : event.principal.kind}</span>
      </dd>
      <dt>Data</dt>
      <dd>
        <code>{JSON.stringify(event.data)}</code>
      </dd>
    </dl>
  );
}

function WorkspaceName({ id, past }: { id: string; past: ReadonlyMap<string, string> }) {
  const name = useWorkspaceName(id);
  if (name) {
    return (
      <Link to={workspacePlace(id, "activity")} className="event-workspace">
        {name}
      </Link>
    );
  }
  return <span className="event-workspace">{past.get(id) ?? `workspace ${id.slice(-6)}`}</span>;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
