// Renaming and moving, and removing for good.
import { type FormEvent, useId, useState } from "react";
import type { PatchWorkspace, Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { ProblemPanel } from "../../components/States";
import { useRouter } from "../../routes/router";
import { useAgents } from "../agents/queries";
import { wordsOf } from "./newWorkspace";
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
  const [role, setRole] = useState(workspace.role ?? "");
  const named = (workspace.agent as { name?: string | null } | null | undefined)?.name ?? "";
  const [agent, setAgent] = useState(named);
  const [program, setProgram] = useState("");
  const agents = useAgents();
  const patch = usePatchWorkspace(workspace.id);
  const notify = useNotify();
  const nameId = useId();
  const roleId = useId();
  const agentId = useId();
  const programId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // Only what was changed is sent: what is absent stays as somebody else may have set it meanwhile.
    const body: PatchWorkspace = {};
    if (name !== workspace.name) body.name = name;
    if (parent !== (workspace.parent_id ?? "")) body.parent_id = parent || null;
    if (role.trim() !== (workspace.role ?? "")) body.role = role.trim() || null;
    if (workspace.runtime === "hosted" && agent !== named) body.agent = agent || null;
    if (workspace.runtime === "resident" && program.trim()) body.command = wordsOf(program);
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
        <div className="field">
          <label htmlFor={roleId}>What it is there for</label>
          <input
            id={roleId}
            autoComplete="off"
            maxLength={100}
            value={role}
            onChange={(event) => setRole(event.target.value)}
          />
        </div>
        {workspace.runtime === "hosted" && (
          <div className="field">
            <label htmlFor={agentId}>Agent</label>
            <select id={agentId} value={agent} onChange={(event) => setAgent(event.target.value)}>
              <option value="">None</option>
              {named && !agents.data?.some(({ name: one }) => one === named) && (
                <option value={named}>{named}</option>
              )}
              {agents.data?.map(({ name: one, model }) => (
                <option key={one} value={one}>
                  {one} ({model})
                </option>
              ))}
            </select>
          </div>
        )}
        {workspace.runtime === "resident" && (
          <div className="field">
            <label htmlFor={programId}>Another program and its arguments</label>
            <input
              id={programId}
              className="mono"
              autoComplete="off"
              spellCheck={false}
              placeholder="as it is"
              value={program}
              onChange={(event) => setProgram(event.target.value)}
            />
            <p className="hint">It counts from the next start of its runner: restart the workspace after.</p>
          </div>
        )}
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
