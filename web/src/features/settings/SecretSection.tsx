// Secrets of the org or of a workspace: names only, since no value comes out again (F32).
import { type FormEvent, useId, useState } from "react";
import type { Secret } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { principalName, usePeopleNames } from "../people/names";
import { NotAllowed, useMay } from "../signIn/me";
import { useRemoveSecret, useSecrets, useSetSecret } from "./queries";
import { isSecretName, SECRET_PATTERN } from "./words";

interface SecretSectionProps {
  /** Absent: those of the org, which all its workspaces have. */
  workspaceId?: string;
}

export function SecretSection({ workspaceId }: SecretSectionProps) {
  const mayRead = useMay("secrets:read");
  const mayWrite = useMay("secrets:write");
  const [dialog, setDialog] = useState<{ name?: string }>();
  const titleId = useId();
  return (
    <section className="people-section" aria-labelledby={titleId}>
      <div className="people-head">
        <h2 id={titleId}>Secrets</h2>
        {mayWrite && (
          <Button icon="plus" onClick={() => setDialog({})}>
            New secret
          </Button>
        )}
      </div>
      <p className="hint">
        {workspaceId
          ? "Variables of this workspace’s commands, besides those of the org."
          : "Variables of the commands of all workspaces of the org. Keys of model providers are read by Warren alone."}{" "}
        A value is sealed and never shown again.
      </p>
      {mayRead ? (
        <SecretList workspaceId={workspaceId} onReplace={(name) => setDialog({ name })} />
      ) : (
        <NotAllowed what="seeing names of secrets" />
      )}
      {dialog && (
        <SecretDialog workspaceId={workspaceId} name={dialog.name} onClose={() => setDialog(undefined)} />
      )}
    </section>
  );
}

interface SecretListProps extends SecretSectionProps {
  onReplace: (name: string) => void;
}

function SecretList({ workspaceId, onReplace }: SecretListProps) {
  const query = useSecrets(workspaceId);
  if (query.isPending) return <Loading what="secrets" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const items = query.data.items.filter((one) => !workspaceId || one.workspace_id === workspaceId);
  return (
    <>
      <StaleNote query={query} />
      {items.length === 0 ? (
        <p className="hint">None yet.</p>
      ) : (
        <ul className="people" aria-label="Secrets">
          {items.map((secret) => (
            <SecretRow key={secret.name} secret={secret} workspaceId={workspaceId} onReplace={onReplace} />
          ))}
        </ul>
      )}
      {query.data.isPartial && <p className="hint">Only the first {items.length} are shown.</p>}
    </>
  );
}

function SecretRow({ secret, workspaceId, onReplace }: SecretListProps & { secret: Secret }) {
  const mayWrite = useMay("secrets:write");
  const names = usePeopleNames();
  const notify = useNotify();
  const [isAsking, setIsAsking] = useState(false);
  const remove = useRemoveSecret(workspaceId, () => notify(`Removed ${secret.name}`));
  return (
    <li className="person">
      <div className="person-who">
        <code>{secret.name}</code>
        {!secret.is_readable && <span className="tag tag-bad">its key is missing</span>}
      </div>
      <span className="hint">
        set <Ago at={secret.updated_at} /> by <bdi>{principalName(secret.updated_by, names)}</bdi>
      </span>
      {mayWrite && (
        <div className="actions">
          <Button
            icon="pencil"
            aria-label={`Replace the value of ${secret.name}`}
            onClick={() => onReplace(secret.name)}
          >
            Replace
          </Button>
          {isAsking ? (
            <Button
              tone="danger"
              icon="trash"
              isBusy={remove.isPending}
              onClick={() => remove.mutate(secret.name)}
            >
              Remove for good
            </Button>
          ) : (
            <Button
              icon="trash"
              aria-label={`Remove ${secret.name}`}
              title="Remove"
              onClick={() => setIsAsking(true)}
            />
          )}
        </div>
      )}
      {remove.isError && <ProblemPanel error={remove.error} what="It was not removed." />}
    </li>
  );
}

interface SecretDialogProps extends SecretSectionProps {
  /** Absent: a new one. */
  name: string | undefined;
  onClose: () => void;
}

/** The value is kept nowhere in the page: not as a draft, and not once it is sent. */
function SecretDialog({ workspaceId, name: known, onClose }: SecretDialogProps) {
  const [name, setName] = useState(known ?? "");
  const [value, setValue] = useState("");
  const notify = useNotify();
  const save = useSetSecret(workspaceId, () => {
    notify(`Stored ${name}`);
    onClose();
  });
  const nameId = useId();
  const valueId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ name, value });
  };
  return (
    <Dialog title={known ? `New value of ${known}` : "New secret"} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        {!known && (
          <div className="field">
            <label htmlFor={nameId}>Name</label>
            <input
              id={nameId}
              className="mono"
              data-autofocus
              required
              autoComplete="off"
              spellCheck={false}
              pattern={SECRET_PATTERN}
              title="Letters, digits and _, not beginning with a digit"
              placeholder="GITHUB_TOKEN"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </div>
        )}
        <div className="field">
          <label htmlFor={valueId}>Value</label>
          <textarea
            id={valueId}
            className="mono secret-value"
            data-autofocus={known ? true : undefined}
            required
            rows={2}
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
          <p className="hint">
            Workspaces that have it are brought up anew, so that their commands see the new value.
          </p>
        </div>
        {save.isError && <ProblemPanel error={save.error} what="It was not stored." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            tone="primary"
            isBusy={save.isPending}
            disabled={!isSecretName(name) || value === ""}
          >
            Store
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
