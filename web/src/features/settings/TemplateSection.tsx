// Templates: descriptions of workspaces, as text that people read and write.
import { type FormEvent, useEffect, useId, useState } from "react";
import type { TemplateSummary } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { useMay } from "../signIn/me";
import { usePutTemplate, useRemoveTemplate, useTemplate, useTemplates } from "./queries";

const EXAMPLE = `description: An agent of Warren's own in a sandbox
provider: {kind: sandbox}
runtime: hosted
model: scripted/echo
prompts:
  system: You answer briefly.
`;

export function TemplateSection() {
  const query = useTemplates();
  const mayWrite = useMay("workspaces:write");
  const [open, setOpen] = useState<{ name?: string }>();
  const titleId = useId();
  return (
    <section className="people-section" aria-labelledby={titleId}>
      <div className="people-head">
        <h2 id={titleId}>Templates</h2>
        {mayWrite && (
          <Button icon="plus" onClick={() => setOpen({})}>
            New template
          </Button>
        )}
      </div>
      <p className="hint">
        A template describes a workspace, or a tree of them. “New workspace” offers those of one workspace.
      </p>
      {query.isPending ? (
        <Loading what="templates" />
      ) : !query.data ? (
        <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <>
          <StaleNote query={query} />
          {query.data.items.length === 0 ? (
            <p className="hint">None yet.</p>
          ) : (
            <ul className="people" aria-label="Templates">
              {query.data.items.map((template) => (
                <TemplateRow
                  key={template.name}
                  template={template}
                  onOpen={() => setOpen({ name: template.name })}
                />
              ))}
            </ul>
          )}
          {query.data.isPartial && (
            <p className="hint">Only the first {query.data.items.length} are shown.</p>
          )}
        </>
      )}
      {open && <TemplateDialog name={open.name} mayWrite={mayWrite} onClose={() => setOpen(undefined)} />}
    </section>
  );
}

function TemplateRow({ template, onOpen }: { template: TemplateSummary; onOpen: () => void }) {
  const mayWrite = useMay("workspaces:write");
  return (
    <li className="person">
      <div className="person-who">
        <strong>
          <bdi>{template.name}</bdi>
        </strong>
        {template.is_tree && <span className="tag">tree</span>}
        {template.description && (
          <span className="hint">
            <bdi>{template.description}</bdi>
          </span>
        )}
      </div>
      <span className="hint">
        changed <Ago at={template.updated_at} />
      </span>
      <div className="actions">
        <Button
          icon={mayWrite ? "pencil" : "file"}
          aria-label={`${mayWrite ? "Change" : "Read"} the template ${template.name}`}
          onClick={onOpen}
        >
          {mayWrite ? "Change" : "Read"}
        </Button>
      </div>
    </li>
  );
}

interface TemplateDialogProps {
  /** Absent: a new one. */
  name: string | undefined;
  mayWrite: boolean;
  onClose: () => void;
}

function TemplateDialog({ name: known, mayWrite, onClose }: TemplateDialogProps) {
  const query = useTemplate(known);
  const [name, setName] = useState(known ?? "");
  const [source, setSource] = useState(known ? undefined : EXAMPLE);
  const [isAsking, setIsAsking] = useState(false);
  const notify = useNotify();
  const done = (word: string) => () => {
    notify(`${word} ${name}`);
    onClose();
  };
  const put = usePutTemplate(done("Stored"));
  const remove = useRemoveTemplate(done("Removed"));
  const nameId = useId();
  const sourceId = useId();
  const stored = query.data?.source;
  useEffect(() => {
    // Read once: what is being written is not overwritten.
    if (stored !== undefined) setSource((now) => now ?? stored);
  }, [stored]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    put.mutate({ name, source: source ?? "", hash: query.data?.hash });
  };
  return (
    <Dialog title={known ? `Template ${known}` : "New template"} onClose={onClose} isWide>
      {query.isError ? (
        <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
      ) : source === undefined ? (
        <Loading what="the template" />
      ) : (
        <form className="form" onSubmit={submit}>
          {!known && (
            <div className="field">
              <label htmlFor={nameId}>Name</label>
              <input
                id={nameId}
                data-autofocus
                required
                autoComplete="off"
                value={name}
                onChange={(event) => setName(event.target.value)}
                placeholder="reviewer"
              />
            </div>
          )}
          <div className="field">
            <label htmlFor={sourceId}>What it describes, in YAML or JSON</label>
            <textarea
              id={sourceId}
              className="mono template-source"
              rows={14}
              spellCheck={false}
              readOnly={!mayWrite}
              value={source}
              onChange={(event) => setSource(event.target.value)}
            />
          </div>
          {put.isError && <ProblemPanel error={put.error} what="It was not stored." />}
          {remove.isError && <ProblemPanel error={remove.error} what="It was not removed." />}
          <footer className="dialog-foot">
            {known && mayWrite && (
              <Button
                tone={isAsking ? "danger" : "plain"}
                icon="trash"
                isBusy={remove.isPending}
                onClick={() => (isAsking ? remove.mutate(known) : setIsAsking(true))}
              >
                {isAsking ? "Remove for good" : "Remove"}
              </Button>
            )}
            <Button onClick={onClose}>{mayWrite ? "Cancel" : "Close"}</Button>
            {mayWrite && (
              <Button
                type="submit"
                tone="primary"
                isBusy={put.isPending}
                disabled={!name.trim() || !source.trim()}
              >
                Store
              </Button>
            )}
          </footer>
        </form>
      )}
    </Dialog>
  );
}
