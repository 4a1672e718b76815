import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ProblemPanel } from "../../components/States";
import { usePatchWorkspace } from "../workspaces/queries";

interface NestDialogProps {
  child: Workspace;
  parent: Workspace;
  onClose: () => void;
}

export function NestDialog({ child, parent, onClose }: NestDialogProps) {
  const patch = usePatchWorkspace(child.id);
  return (
    <Dialog title="Move workspace" onClose={onClose}>
      <div className="form">
        <p>
          Put <strong>{child.name}</strong> under <strong>{parent.name}</strong>?
        </p>
        {patch.isError && <ProblemPanel error={patch.error} />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Leave it</Button>
          <Button
            tone="primary"
            data-autofocus
            isBusy={patch.isPending}
            onClick={() => patch.mutate({ parent_id: parent.id }, { onSuccess: onClose })}
          >
            Move
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
