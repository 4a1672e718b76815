import { type FormEvent, useId, useState } from "react";
import type { Session } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { ProblemPanel } from "../../components/States";
import { sessionPlace, useRouter } from "../../routes/router";
import { useBranch, useRewind } from "./queries";

interface HistoryDialogProps {
  session: Session;
  step: number;
  onClose: () => void;
}

export function BranchDialog({ session, step, onClose }: HistoryDialogProps) {
  const branch = useBranch(session.workspace_id, session.id);
  const { navigate } = useRouter();
  const [name, setName] = useState("");
  const nameId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    branch.mutate(
      { step, name: name.trim() || null },
      { onSuccess: (made) => navigate(sessionPlace(made.workspace_id, made.name)) },
    );
  };
  return (
    <Dialog title={`Branch from step ${step}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p>
          A new session begins with the steps up to {step}. This one stays as it is. The files of the
          workspace are shared by both.
        </p>
        <div className="field">
          <label htmlFor={nameId}>Name of the new session (optional)</label>
          <input
            id={nameId}
            data-autofocus
            autoComplete="off"
            maxLength={128}
            pattern="[A-Za-z0-9._:\-]+"
            title="Letters, digits and . _ : -"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        {branch.isError && <ProblemPanel error={branch.error} what="There is no branch." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" icon="branch" isBusy={branch.isPending}>
            Branch
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

export function RewindDialog({ session, step, onClose }: HistoryDialogProps) {
  const rewind = useRewind(session.workspace_id, session.id);
  const notify = useNotify();
  return (
    <Dialog title={`Go back to step ${step}?`} onClose={onClose}>
      <div className="form">
        <p>
          The model no longer sees what came after step {step}. Files and what commands did are not undone. To
          keep both, branch instead.
        </p>
        {rewind.isError && <ProblemPanel error={rewind.error} what="Nothing was changed." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            tone="danger"
            icon="rewind"
            isBusy={rewind.isPending}
            onClick={() =>
              rewind.mutate(step, {
                onSuccess: () => {
                  notify(`Back at step ${step}`);
                  onClose();
                },
              })
            }
          >
            Rewind
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
