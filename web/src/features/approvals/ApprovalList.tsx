import { useId } from "react";
import type { Approval, RememberDecision } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { useDraft } from "../../components/draft";
import { formatMoment } from "../../components/format";
import { useNotify } from "../../components/Notices";
import { ProblemPanel } from "../../components/States";
import { visibleText } from "../../components/visibleText";
import { Link, sessionPlace, workspacePlace } from "../../routes/router";
import { NotAllowed, useMay } from "../signIn/me";
import { ALWAYS_IN_WORKSPACE } from "../toolRules/queries";
import { useWorkspaceName } from "../workspaces/names";
import { useDecide, usePendingApprovals } from "./queries";

interface ApprovalListProps {
  workspaceId: string;
  /** Leaves out what sessions ask about their calls. */
  isWithoutCalls?: boolean;
}

/** What one workspace asks, beside its chat. Shows nothing while it asks nothing. */
export function ApprovalList({ workspaceId, isWithoutCalls = false }: ApprovalListProps) {
  const { data } = usePendingApprovals();
  const mine = (data?.items ?? []).filter(
    (one) => one.workspace_id === workspaceId && !(isWithoutCalls && one.call),
  );
  if (mine.length === 0) return null;
  return (
    <ul className="approvals" aria-label="Waiting for a decision">
      {mine.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} isGlobal={false} />
      ))}
    </ul>
  );
}

interface ApprovalCardProps {
  approval: Approval;
  /** Whether it names its workspace; inside a workspace's own page it need not. */
  isGlobal: boolean;
}

export function ApprovalCard({ approval, isGlobal }: ApprovalCardProps) {
  const [note, setNote, forget] = useDraft(`approval.${approval.id}`);
  const notify = useNotify();
  const tool = approval.call?.tool;
  const decide = useDecide(({ is, remember }) => {
    forget();
    if (remember) notify(`Approved, and ${tool} is always allowed in this workspace`);
    else notify(is === "approve" ? "Approved" : "Denied");
  });
  const mayDecide = useMay("approvals:decide");
  const titleId = useId();
  const noteId = useId();
  const hasContext = Object.keys(approval.context).length > 0;
  const say = (is: "approve" | "deny", remember?: RememberDecision) =>
    decide.mutate({ approval, is, note: note.trim(), remember });
  return (
    <li className="approval" aria-labelledby={titleId}>
      <p className="approval-head">
        {isGlobal && <Asker id={approval.workspace_id} />}
        <span className="tag">asks</span>
        <strong id={titleId}>
          <bdi>{visibleText(approval.action)}</bdi>
        </strong>
        <span className="approval-when">
          <Ago at={approval.created_at} />, until {formatMoment(approval.expires_at)}
        </span>
      </p>
      <p className="message-text" dir="auto">
        {visibleText(approval.reason)}
      </p>
      {approval.call && (
        <div className="approval-call">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
          <pre className="message-code" tabIndex={0}>
            {visibleText(JSON.stringify(approval.call.arguments, null, 2))}
          </pre>
          <Link to={sessionPlace(approval.workspace_id, approval.call.session_id)}>
            Open the session, to see what led to it or to change the arguments
          </Link>
        </div>
      )}
      {hasContext && (
        <details className="message-data">
          <summary>Context</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
          <pre className="message-code" tabIndex={0}>
            {visibleText(JSON.stringify(approval.context, null, 2))}
          </pre>
        </details>
      )}
      {decide.isError && <ProblemPanel error={decide.error} what="It was not decided." />}
      {!mayDecide ? (
        <NotAllowed what="deciding" />
      ) : (
        <div className="approval-foot">
          <label htmlFor={noteId} className="visually-hidden">
            Note to the agent about {approval.action}
          </label>
          <input
            id={noteId}
            placeholder="Note to the agent (optional)"
            maxLength={1_000}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
          <Button
            icon="close"
            disabled={decide.isPending}
            aria-label={`Deny ${approval.action}`}
            onClick={() => say("deny")}
          >
            Deny
          </Button>
          {tool && (
            <Button
              icon="save"
              disabled={decide.isPending}
              aria-label={`Always allow ${tool} in its workspace`}
              onClick={() => say("approve", ALWAYS_IN_WORKSPACE)}
            >
              Always allow
            </Button>
          )}
          <Button
            tone="primary"
            icon="save"
            isBusy={decide.isPending}
            aria-label={`Approve ${approval.action}`}
            onClick={() => say("approve")}
          >
            Approve
          </Button>
        </div>
      )}
    </li>
  );
}

function Asker({ id }: { id: string }) {
  const name = useWorkspaceName(id);
  return (
    <Link to={workspacePlace(id, "chat")} className="event-workspace">
      {name ?? `workspace ${id.slice(-6)}`}
    </Link>
  );
}
