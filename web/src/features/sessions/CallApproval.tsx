// A call that waits for a person (A30): approve it, deny it with a reason, approve it with other
// arguments, or allow such calls once and for all.
import { useId, useState } from "react";
import type { Approval, RememberDecision, Session } from "../../api/types";
import { Button } from "../../components/Button";
import { useDraft } from "../../components/draft";
import { formatMoment } from "../../components/format";
import { useNotify } from "../../components/Notices";
import { ProblemPanel } from "../../components/States";
import { visibleText } from "../../components/visibleText";
import { NotAllowed, useMay } from "../signIn/me";
import { ALWAYS_IN_WORKSPACE } from "../toolRules/queries";
import { Preformatted } from "./CallRow";
import { isOver, useDecideCall } from "./queries";
import { asText } from "./words";

interface CallApprovalProps {
  session: Pick<Session, "id" | "workspace_id">;
  approval: Approval;
}

export function CallApproval({ session, approval }: CallApprovalProps) {
  const proposed = asText(approval.call?.arguments ?? {});
  const [note, setNote, forgetNote] = useDraft(`approval.${approval.id}`);
  const [edited, setEdited, forgetEdited] = useDraft(`approval-edit.${approval.id}`, proposed);
  const [isEditing, setIsEditing] = useState(edited !== proposed);
  const [wrong, setWrong] = useState<string>();
  const notify = useNotify();
  const decide = useDecideCall(session.workspace_id, session.id, ({ decision, remember }) => {
    forgetNote();
    forgetEdited();
    if (remember) notify(`Approved, and ${tool} is always allowed in this workspace`);
    else notify(decision === "approve" ? "Approved" : "Denied");
  });
  const mayDecide = useMay("approvals:decide");
  const titleId = useId();
  const noteId = useId();
  const editId = useId();
  const tool = approval.call?.tool ?? approval.action;
  const say = (decision: "approve" | "deny", remember?: RememberDecision) => {
    let changed: Record<string, unknown> | undefined;
    if (decision === "approve" && isEditing && edited !== proposed) {
      const parsed = readObject(edited);
      if (!parsed) {
        setWrong("These arguments are not a JSON object. Mend them, or leave them as they were proposed.");
        return;
      }
      changed = parsed;
    }
    setWrong(undefined);
    decide.mutate({ approvalId: approval.id, decision, note: note.trim(), edited: changed, remember });
  };
  return (
    <li className="approval" aria-labelledby={titleId}>
      <p className="approval-head">
        <strong id={titleId}>
          May the agent call <code>{tool}</code>?
        </strong>
        <span className="approval-when">until {formatMoment(approval.expires_at)}</span>
      </p>
      {approval.reason && <p>{visibleText(approval.reason)}</p>}
      {isEditing && mayDecide ? (
        <div className="field">
          <label htmlFor={editId}>Arguments, as JSON</label>
          <textarea
            id={editId}
            rows={Math.min(12, edited.split("\n").length + 1)}
            spellCheck={false}
            value={edited}
            aria-invalid={wrong ? true : undefined}
            onChange={(event) => {
              setEdited(event.target.value);
              setWrong(undefined);
            }}
          />
        </div>
      ) : (
        <Preformatted text={proposed} />
      )}
      {wrong && (
        <p className="composer-refusal" role="alert">
          {wrong}
        </p>
      )}
      {decide.isError && (
        <ProblemPanel
          error={decide.error}
          what={isOver(decide.error) ? "Somebody was quicker: this is decided." : "It was not decided."}
        />
      )}
      {!mayDecide ? (
        <NotAllowed what="deciding" />
      ) : (
        <div className="approval-foot">
          <label htmlFor={noteId} className="visually-hidden">
            Note to the agent about {tool}
          </label>
          <input
            id={noteId}
            placeholder="Note or reason (optional)"
            maxLength={1_000}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
          <Button
            icon={isEditing ? "close" : "pencil"}
            aria-label={`${isEditing ? "As proposed: the arguments of" : "Edit the arguments of"} ${tool}`}
            disabled={decide.isPending}
            onClick={() => {
              if (isEditing) forgetEdited();
              setWrong(undefined);
              setIsEditing(!isEditing);
            }}
          >
            {isEditing ? "As proposed" : "Edit"}
          </Button>
          <Button
            icon="close"
            aria-label={`Deny ${tool}`}
            disabled={decide.isPending}
            onClick={() => say("deny")}
          >
            Deny
          </Button>
          <Button
            icon="save"
            aria-label={`Always allow ${tool} in this workspace`}
            disabled={decide.isPending}
            onClick={() => say("approve", ALWAYS_IN_WORKSPACE)}
          >
            Always allow
          </Button>
          <Button
            tone="primary"
            icon="save"
            aria-label={`Approve ${tool}`}
            isBusy={decide.isPending}
            onClick={() => say("approve")}
          >
            Approve
          </Button>
        </div>
      )}
    </li>
  );
}

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
