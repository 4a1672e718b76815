import { type FormEvent, useId, useState } from "react";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ProblemPanel } from "../../components/States";
import { useDeleteConversation, useRename } from "./queries";

interface ConversationDialogProps {
  workspaceId: string;
  conversation: string;
  title: string;
  onClose: () => void;
}

export function RenameDialog({ workspaceId, conversation, title, onClose }: ConversationDialogProps) {
  const [name, setName] = useState(title);
  const rename = useRename(workspaceId, conversation);
  const nameId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    rename.mutate(name.trim(), { onSuccess: onClose });
  };
  return (
    <Dialog title="Rename the conversation" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <div className="field">
          <label htmlFor={nameId}>Title</label>
          <input
            id={nameId}
            data-autofocus
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        {rename.isError && <ProblemPanel error={rename.error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={rename.isPending} disabled={!name.trim()}>
            Rename
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface DeleteProps extends ConversationDialogProps {
  onDeleted: () => void;
}

export function DeleteConversationDialog({
  workspaceId,
  conversation,
  title,
  onClose,
  onDeleted,
}: DeleteProps) {
  const remove = useDeleteConversation(workspaceId, conversation, onDeleted);
  return (
    <Dialog title="Delete the conversation" onClose={onClose}>
      <div className="form">
        <p>
          “<bdi>{title}</bdi>” and all its messages are gone for good. Work that it began goes on.
        </p>
        {remove.isError && <ProblemPanel error={remove.error} />}
        <div className="dialog-foot">
          <Button onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button tone="danger" icon="trash" isBusy={remove.isPending} onClick={() => remove.mutate()}>
            Delete
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
