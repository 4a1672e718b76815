import { type FormEvent, useId, useState } from "react";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { ProblemPanel } from "../../components/States";
import { nameOf } from "./paths";
import { useCreateFolder, useDeletePath, useMovePath, useWriteFile } from "./queries";

interface NewPathDialogProps {
  workspaceId: string;
  folder: string;
  kind: "file" | "folder";
  onClose: () => void;
  onCreated: (path: string) => void;
}

export function NewPathDialog({ workspaceId, folder, kind, onClose, onCreated }: NewPathDialogProps) {
  const [path, setPath] = useState(folder ? `${folder}/` : "");
  const write = useWriteFile(workspaceId);
  const makeFolder = useCreateFolder(workspaceId);
  const pending = kind === "file" ? write : makeFolder;
  const created = () => {
    onClose();
    onCreated(path.trim().replace(/^\/+|\/+$/g, ""));
  };
  const submit = () => {
    if (kind === "file") write.mutate({ path, body: "", isNew: true }, { onSuccess: created });
    else makeFolder.mutate(path, { onSuccess: created });
  };
  return (
    <PathDialog
      title={kind === "file" ? "New file" : "New folder"}
      label="Path inside the workspace"
      action={kind === "file" ? "Create file" : "Create folder"}
      path={path}
      onChange={setPath}
      onSubmit={submit}
      onClose={onClose}
      isBusy={pending.isPending}
      error={pending.error}
    />
  );
}

interface MoveDialogProps {
  workspaceId: string;
  path: string;
  onClose: () => void;
  onMoved: (path: string) => void;
}

export function MoveDialog({ workspaceId, path, onClose, onMoved }: MoveDialogProps) {
  const [to, setTo] = useState(path);
  const move = useMovePath(workspaceId, (moved) => {
    onClose();
    onMoved(moved.trim().replace(/^\/+|\/+$/g, ""));
  });
  const submit = () => move.mutate({ from: path, to });
  return (
    <PathDialog
      title={`Rename ${nameOf(path)}`}
      label="New path"
      action="Rename"
      path={to}
      onChange={setTo}
      onSubmit={submit}
      onClose={onClose}
      isBusy={move.isPending}
      error={move.error}
    />
  );
}

interface PathDialogProps {
  title: string;
  label: string;
  action: string;
  path: string;
  onChange: (path: string) => void;
  onSubmit: () => void;
  onClose: () => void;
  isBusy: boolean;
  error: unknown;
}

function PathDialog(props: PathDialogProps) {
  const id = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    props.onSubmit();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form className="form" onSubmit={submit}>
        <div className="field">
          <label htmlFor={id}>{props.label}</label>
          <input
            id={id}
            data-autofocus
            className="mono"
            autoComplete="off"
            spellCheck={false}
            required
            value={props.path}
            onChange={(event) => props.onChange(event.target.value)}
            placeholder="src/notes.md"
          />
        </div>
        {props.error !== null && <ProblemPanel error={props.error} />}
        <footer className="dialog-foot">
          <Button onClick={props.onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={props.isBusy} disabled={!props.path.trim()}>
            {props.action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

interface DeletePathDialogProps {
  workspaceId: string;
  path: string;
  isFolder: boolean;
  onClose: () => void;
  onDeleted: () => void;
}

export function DeletePathDialog({ workspaceId, path, isFolder, onClose, onDeleted }: DeletePathDialogProps) {
  const notify = useNotify();
  const remove = useDeletePath(workspaceId, () => {
    notify(`Deleted ${path}`);
    onClose();
    onDeleted();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    remove.mutate({ path, isFolder });
  };
  return (
    <Dialog title={isFolder ? "Delete folder" : "Delete file"} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p>
          This deletes <bdi className="mono">{path}</bdi>
          {isFolder ? " and everything in it" : ""}. It cannot be undone.
        </p>
        {remove.isError && <ProblemPanel error={remove.error} />}
        <footer className="dialog-foot">
          <Button data-autofocus onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" tone="danger" icon="trash" isBusy={remove.isPending}>
            Delete
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
