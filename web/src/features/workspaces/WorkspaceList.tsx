import { memo } from "react";
import type { Workspace } from "../../api/types";
import { Empty, Loading, ProblemPanel, StaleNote } from "../../components/States";
import { STATUS_WORDS, StatusDot } from "../../components/StatusBadge";
import { Link, useRouter, type WorkspaceTab, workspacePlace } from "../../routes/router";
import { chosenTab, homeTab } from "./home";
import { SHOWN_WORKSPACES, useWorkspaces } from "./queries";
import { useSearch } from "./search";

export function WorkspaceList() {
  const query = useWorkspaces();
  const { words: search, branches, found: shown, chosen } = useSearch();
  const { place } = useRouter();
  const current = place.page === "workspace" ? place.id : undefined;
  const open = query.data?.find(({ id }) => id === current);
  const tab = place.page === "workspace" ? chosenTab(place.tab, open) : undefined;
  if (query.isPending) return <Loading what="workspaces" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  if (branches.length === 0) return <p className="hint">No workspaces yet.</p>;
  if (shown.length === 0) return <Empty icon="search" title={`Nothing matches “${search}”`} />;
  return (
    <>
      <StaleNote query={query} />
      <ul className="workspace-list" aria-label="Workspaces">
        {shown.map(({ workspace, depth }) => (
          <li key={workspace.id}>
            <Row
              workspace={workspace}
              depth={search ? 0 : depth}
              isCurrent={workspace.id === current}
              isChosen={workspace.id === chosen?.id}
              tab={tab}
            />
          </li>
        ))}
      </ul>
      {query.data.length >= SHOWN_WORKSPACES && (
        <p className="hint">Only the first {SHOWN_WORKSPACES} are shown. The command line lists them all.</p>
      )}
    </>
  );
}

interface RowProps {
  workspace: Workspace;
  depth: number;
  isCurrent: boolean;
  /** Enter in the search box opens it. */
  isChosen: boolean;
  /** Absent: the one that the workspace opens on. */
  tab: WorkspaceTab | undefined;
}

const Row = memo(function Row({ workspace, depth, isCurrent, isChosen, tab }: RowProps) {
  return (
    <Link
      to={workspacePlace(workspace.id, tab ?? homeTab(workspace))}
      className={isChosen ? "workspace-row workspace-row-chosen" : "workspace-row"}
      isCurrent={isCurrent}
    >
      {depth > 0 && <span className="indent" style={{ width: Math.min(depth, 6) * 14 }} aria-hidden="true" />}
      <StatusDot status={workspace.status} />
      <span className="workspace-row-text">
        <span className="workspace-row-name">{workspace.name}</span>
        <span className="workspace-row-status">
          {STATUS_WORDS[workspace.status]}
          {workspace.reason && <span className="workspace-row-reason"> · {workspace.reason}</span>}
        </span>
      </span>
    </Link>
  );
});
