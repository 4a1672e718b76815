// Renaming and moving, and removing for good.
import { type FormEvent, useId, useState } from "react";
import type { PatchWorkspace, Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { ProblemPanel } from "../../components/States";
import { useRouter } from "../../routes/router";
import { asTree } from "./order";
import { outside, ParentSelect } from "./ParentSelect";
import { useDeleteWorkspace, usePatchWorkspace, useWorkspaces } from "./queries";

interface DialogProps {
  workspace: Workspace;
  onClose: () => void;
}

export function EditDialog({ workspace, onClose }: DialogProps) {
  const [name, setName] = useState(workspace.name);
  const [parent, setParent] = useState(workspace.parent_id ?? "");
  const patch = usePatchWorkspace(workspace.id);
  const notify = useNotify();
  const nameId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // Only what was changed is sent: what is absent stays as somebody else may have set it meanwhile.
    const body: PatchWorkspace = {};
    if (name !== workspace.name) body.name = name;
    if (parent !== (workspace.parent_id ?? "")) body.parent_id = parent || null;
    if (Object.keys(body).length === 0) {
      onClose();
      return;
    }
    patch.mutate(body, {
      onSuccess: () => {
        notify("Saved");
        onClose();
      },
    });
  };
  return (
    <Dialog title={`Edit ${workspace.name}`} onClose={onClose}>
      <form onSubmit={submit} className="form">
        <div className="field">
          <label htmlFor={nameId}>Name</label>
          <input
            id={nameId}
            data-autofocus
            autoComplete="off"
            maxLength={100}
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        <ParentSelect value={parent} onChange={setParent} except={workspace.id} />
        {patch.isError && <ProblemPanel error={patch.error} />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={patch.isPending} disabled={!name.trim()}>
            Save
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

export function DeleteDialog({ workspace, onClose }: DialogProps) {
  const [typed, setTyped] = useState("");
  const notify = useNotify();
  const { navigate } = useRouter();
  const remove = useDeleteWorkspace(workspace.id, () => {
    notify(`Deleted ${workspace.name}`);
    onClose();
    navigate({ page: "overview" });
  });
  const inputId = useId();
  const below = useBelow(workspace.id);
  const isConfirmed = typed.trim() === workspace.name.trim();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isConfirmed) remove.mutate();
  };
  return (
    <Dialog title="Delete workspace" onClose={onClose}>
      <form onSubmit={submit} className="form">
        <p>
          This removes <strong>{workspace.name}</strong>
          {below > 0 && ` with the ${below === 1 ? "workspace" : `${below} workspaces`} below it`} and all
          files in {below > 0 ? "them" : "it"}. It cannot be undone.
        </p>
        <div className="field">
          <label htmlFor={inputId}>Type the workspace’s name to confirm</label>
          <input
            id={inputId}
            data-autofocus
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            placeholder={workspace.name}
          />
        </div>
        {remove.isError && <ProblemPanel error={remove.error} />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="danger" icon="trash" isBusy={remove.isPending} disabled={!isConfirmed}>
            Delete for good
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** How many workspaces go with this one when it is removed. */
function useBelow(id: string): number {
  const { data } = useWorkspaces();
  const tree = asTree(data ?? []);
  return Math.max(0, tree.length - outside(tree, id).length - 1);
}
