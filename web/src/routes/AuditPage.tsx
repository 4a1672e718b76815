// Who did what in the org (F35), for its operators: the newest first, and as far back as the log goes.
import { useId, useState } from "react";
import type { AuditEntry } from "../api/types";
import { Ago } from "../components/Ago";
import { Button } from "../components/Button";
import { formatMoment } from "../components/format";
import { Empty, Loading, ProblemPanel } from "../components/States";
import { visibleText } from "../components/visibleText";
import { type AuditFilter, useAudit } from "../features/audit/queries";
import { actionOf, factsOf, TARGET_KINDS, targetOf } from "../features/audit/words";
import { principalName, usePeopleNames } from "../features/people/names";
import { useUsers } from "../features/people/queries";
import { inOrder } from "../features/people/words";
import { NotAllowed, useMay } from "../features/signIn/me";
import { useWorkspaceNames } from "../features/workspaces/names";

const NO_FILTER: AuditFilter = { principal: "", target_kind: "", action: "" };

export default function AuditPage() {
  const [filter, setFilter] = useState(NO_FILTER);
  if (!useMay("org:operate")) {
    return (
      <Empty icon="list" title="The audit log is for operators">
        <NotAllowed what="reading it" />
      </Empty>
    );
  }
  return (
    <div className="page">
      <header className="page-head">
        <h1>Audit log</h1>
      </header>
      <Filter filter={filter} onChange={setFilter} />
      <Entries filter={filter} onAction={(action) => setFilter({ ...filter, action })} />
    </div>
  );
}

function Filter({ filter, onChange }: { filter: AuditFilter; onChange: (filter: AuditFilter) => void }) {
  const { data } = useUsers();
  const whoId = useId();
  const kindId = useId();
  return (
    <div className="filters">
      <label htmlFor={whoId}>Who</label>
      <select
        id={whoId}
        value={filter.principal}
        onChange={(event) => onChange({ ...filter, principal: event.target.value })}
      >
        <option value="">Everybody</option>
        {inOrder(data?.items ?? []).map(({ id, display_name }) => (
          <option key={id} value={`user:${id}`}>
            {display_name}
          </option>
        ))}
      </select>
      <label htmlFor={kindId}>What it was done to</label>
      <select
        id={kindId}
        value={filter.target_kind}
        onChange={(event) => onChange({ ...filter, target_kind: event.target.value })}
      >
        <option value="">Anything</option>
        {TARGET_KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {kind}
          </option>
        ))}
      </select>
      {filter.action && (
        <Button icon="close" onClick={() => onChange({ ...filter, action: "" })}>
          Only {actionOf(filter.action)}
        </Button>
      )}
    </div>
  );
}

interface EntriesProps {
  filter: AuditFilter;
  onAction: (action: string) => void;
}

function Entries({ filter, onAction }: EntriesProps) {
  const query = useAudit(filter);
  if (query.isPending) return <Loading what="the audit log" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const entries = query.data.pages.flatMap(({ items }) => items);
  if (entries.length === 0) return <Empty icon="list" title="Nothing like that was done" />;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <section className="table-box" tabIndex={0} aria-label="Entries">
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">What</th>
              <th scope="col">To what</th>
              <th scope="col">More</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <Row key={entry.seq} entry={entry} onAction={onAction} />
            ))}
          </tbody>
        </table>
      </section>
      {query.hasNextPage && (
        <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Load older
        </Button>
      )}
    </>
  );
}

function Row({ entry, onAction }: { entry: AuditEntry; onAction: (action: string) => void }) {
  const people = usePeopleNames();
  const workspaces = useWorkspaceNames();
  const nameOf = (kind: string, id: string) =>
    kind === "user" ? people.get(id) : kind === "workspace" ? workspaces.get(id) : undefined;
  const facts = factsOf(entry);
  return (
    <tr data-outcome={entry.outcome}>
      <td title={formatMoment(entry.at)}>
        <Ago at={entry.at} />
      </td>
      <td>
        <bdi>{whoOf(entry, people, workspaces)}</bdi>
        {entry.token_prefix && (
          <>
            {" "}
            <code title="The token that was used">{entry.token_prefix}…</code>
          </>
        )}
      </td>
      <td>
        <button
          type="button"
          className="link-button"
          title={`Only ${actionOf(entry.action)}`}
          onClick={() => onAction(entry.action)}
        >
          {actionOf(entry.action)}
        </button>
        {entry.outcome !== "done" && <span className="tag tag-bad">{entry.outcome}</span>}
      </td>
      <td>
        <bdi title={entry.target.id}>{visibleText(targetOf(entry, nameOf))}</bdi>
      </td>
      <td>
        {facts.length > 0 && (
          <details>
            <summary>
              {facts.length} {facts.length === 1 ? "fact" : "facts"}
            </summary>
            <dl className="audit-facts">
              {facts.map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{visibleText(value)}</dd>
                </div>
              ))}
            </dl>
          </details>
        )}
      </td>
    </tr>
  );
}

/** As whoever did it was called at that time; where the entry does not say, as they are called now. */
function whoOf(
  { principal, details }: AuditEntry,
  people: ReadonlyMap<string, string>,
  workspaces: ReadonlyMap<string, string>,
): string {
  const by = (details as Record<string, unknown>).by;
  if (typeof by === "string") return by;
  const at = principal.indexOf(":");
  return principalName(
    { kind: principal.slice(0, at), id: principal.slice(at + 1), name: null },
    people,
    workspaces,
  );
}
