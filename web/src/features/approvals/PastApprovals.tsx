// What was asked before, and who decided it (X51).
import type { Approval } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { Loading, ProblemPanel } from "../../components/States";
import { visibleText } from "../../components/visibleText";
import { Link, sessionPlace, workspacePlace } from "../../routes/router";
import { principalName, usePeopleNames } from "../people/names";
import { useWorkspaceNames } from "../workspaces/names";
import { usePastApprovals } from "./queries";
import { decisionOf } from "./words";

export function PastApprovals() {
  const query = usePastApprovals();
  if (query.isPending) return <Loading what="what was decided" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  if (query.data.length === 0 && !query.hasNextPage) return <p className="hint">Nothing was decided yet.</p>;
  return (
    <>
      <ul className="people" aria-label="Decided before">
        {query.data.map((approval) => (
          <PastApproval key={approval.id} approval={approval} />
        ))}
      </ul>
      {query.hasNextPage && (
        <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Load older
        </Button>
      )}
    </>
  );
}

function PastApproval({ approval }: { approval: Approval }) {
  const people = usePeopleNames();
  const workspaces = useWorkspaceNames();
  const { workspace_id, call, action, decided_by, decided_at, expires_at, note } = approval;
  const name = workspaces.get(workspace_id) ?? `workspace ${workspace_id.slice(-6)}`;
  const by = decided_by ? principalName(decided_by, people, workspaces) : undefined;
  return (
    <li className="person past-approval" data-state={approval.state}>
      <div className="person-who">
        <Link
          to={call ? sessionPlace(workspace_id, call.session_id) : workspacePlace(workspace_id, "chat")}
          className="event-workspace"
        >
          {name}
        </Link>
        <strong>
          <bdi>{visibleText(action)}</bdi>
        </strong>
        {note && (
          <span className="hint">
            “<bdi>{visibleText(note)}</bdi>”
          </span>
        )}
      </div>
      <span className="hint">
        <span className="tag">{decisionOf(approval.state)}</span>
        {by && (
          <>
            {" by "}
            <bdi>{by}</bdi>
          </>
        )}{" "}
        <Ago at={decided_at ?? expires_at} />
      </span>
    </li>
  );
}
