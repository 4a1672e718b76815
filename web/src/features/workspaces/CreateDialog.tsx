// A new workspace: where it is, who works in it, and what it may use.
import { type FormEvent, useId, useState } from "react";
import type { ProviderInfo, ServerInfo } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useDraft } from "../../components/draft";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel, WithCode } from "../../components/States";
import { useRouter, workspacePlace } from "../../routes/router";
import { useAgents } from "../agents/queries";
import { useTemplates } from "../settings/queries";
import { isSecretName } from "../settings/words";
import { useMay } from "../signIn/me";
import { homeTab } from "./home";
import {
  emptyForm,
  firstProvider,
  hasLimits,
  inOrder,
  missing,
  type NewWorkspaceForm,
  requestOf,
  type Worker,
} from "./newWorkspace";
import { ParentSelect } from "./ParentSelect";
import { type NewSecret, useCreateWorkspace, useServerInfo } from "./queries";

const NAME_LENGTH = 100;

export function CreateDialog({ onClose }: { onClose: () => void }) {
  const info = useServerInfo();
  return (
    <Dialog title="New workspace" onClose={onClose}>
      {info.isPending ? (
        <Loading what="providers" />
      ) : info.data ? (
        <CreateForm info={info.data} onClose={onClose} />
      ) : (
        <ProblemPanel error={info.error} onRetry={() => void info.refetch()} />
      )}
    </Dialog>
  );
}

/** Kept as one draft. Values of secrets are no part of it: they are kept nowhere. */
function useForm(info: ServerInfo) {
  const [kept, keep, forget] = useDraft("create");
  const first = { ...emptyForm, kind: firstProvider(info) };
  const form: NewWorkspaceForm = { ...first, ...(kept && (JSON.parse(kept) as NewWorkspaceForm)) };
  const change = (fields: Partial<NewWorkspaceForm>) => keep(JSON.stringify({ ...form, ...fields }));
  return { form, change, forget };
}

function CreateForm({ info, onClose }: { info: ServerInfo; onClose: () => void }) {
  const { form, change, forget } = useForm(info);
  const [secrets, setSecrets] = useState<readonly NewSecret[]>([]);
  const maySetSecrets = useMay("secrets:write");
  const create = useCreateWorkspace();
  const notify = useNotify();
  const { navigate } = useRouter();
  const nameId = useId();
  const roleId = useId();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = secrets.filter(({ name, value }) => name && value);
    create.mutate(
      { body: requestOf(form), secrets: given },
      {
        onSuccess: ({ workspace, unset }) => {
          forget();
          notify(
            unset.length === 0
              ? `Created ${workspace.name}`
              : `Created ${workspace.name}, without the secrets ${unset.join(", ")}`,
          );
          onClose();
          navigate(workspacePlace(workspace.id, homeTab(workspace)));
        },
      },
    );
  };
  const lack = missing(form);

  return (
    <form onSubmit={submit} className="form">
      <div className="field">
        <label htmlFor={nameId}>Name</label>
        <input
          id={nameId}
          data-autofocus
          autoComplete="off"
          maxLength={NAME_LENGTH}
          required
          value={form.name}
          onChange={(event) => change({ name: event.target.value })}
          placeholder="research-assistant"
        />
      </div>
      <TemplateField form={form} onChange={change} />
      {!form.template && (
        <>
          <ProviderField providers={info.providers} kind={form.kind} onChange={(kind) => change({ kind })} />
          <WorkerField form={form} onChange={change} />
        </>
      )}
      <details className="more-fields">
        <summary>More: parent, what it is for, limits, secrets</summary>
        <ParentSelect value={form.parent} onChange={(parent) => change({ parent })} />
        <div className="field">
          <label htmlFor={roleId}>What it is there for</label>
          <input
            id={roleId}
            autoComplete="off"
            maxLength={100}
            placeholder="reviews changes"
            value={form.role}
            onChange={(event) => change({ role: event.target.value })}
          />
        </div>
        {!form.template && hasLimits(form.kind) && <LimitFields form={form} onChange={change} />}
        {maySetSecrets && <SecretFields secrets={secrets} onChange={setSecrets} />}
      </details>
      {create.isError && <ProblemPanel error={create.error} />}
      <footer className="dialog-foot">
        {form.name.trim() !== "" && lack && <p className="hint dialog-note">{lack}</p>}
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone="primary" isBusy={create.isPending} disabled={lack !== undefined}>
          Create workspace
        </Button>
      </footer>
    </form>
  );
}

interface FieldProps {
  form: NewWorkspaceForm;
  onChange: (fields: Partial<NewWorkspaceForm>) => void;
}

/** Offered only where there are some. Trees of workspaces are brought in otherwise. */
function TemplateField({ form, onChange }: FieldProps) {
  const { data } = useTemplates();
  const id = useId();
  const templates = data?.items.filter(({ is_tree }) => !is_tree) ?? [];
  if (templates.length === 0) return null;
  const chosen = templates.find(({ name }) => name === form.template);
  return (
    <div className="field">
      <label htmlFor={id}>Template</label>
      <select id={id} value={form.template} onChange={(event) => onChange({ template: event.target.value })}>
        <option value="">None: say it all here</option>
        {templates.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {chosen?.description && (
        <p className="hint">
          <bdi>{chosen.description}</bdi>
        </p>
      )}
    </div>
  );
}

interface ProviderFieldProps {
  providers: readonly ProviderInfo[];
  kind: string;
  onChange: (kind: string) => void;
}

function ProviderField({ providers, kind, onChange }: ProviderFieldProps) {
  return (
    <fieldset className="field choices">
      <legend>Provider</legend>
      {inOrder(providers).map((provider) => (
        <label key={provider.kind} className="choice" data-off={provider.unavailable ? true : undefined}>
          <input
            type="radio"
            name="provider"
            value={provider.kind}
            checked={kind === provider.kind}
            disabled={provider.unavailable != null}
            onChange={() => onChange(provider.kind)}
          />
          <span>
            <strong>{provider.kind}</strong>
            <span className="choice-tags">
              {provider.unavailable ? (
                <span className="tag tag-bad">not here</span>
              ) : (
                provider.capabilities.map((capability) => (
                  <span key={capability} className="tag">
                    {capability}
                  </span>
                ))
              )}
            </span>
            <span className="choice-note">
              <WithCode text={provider.unavailable ?? provider.note} />
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

const WORKERS: { worker: Worker; word: string; note: string }[] = [
  { worker: "none", word: "Nobody yet", note: "Files, commands and sessions. An agent can be given later." },
  { worker: "agent", word: "A stored agent", note: "Warren runs it with a model." },
  { worker: "program", word: "A program in the box", note: "It gets each message and prints the answer." },
  { worker: "elsewhere", word: "A program elsewhere", note: "It registers with a join token." },
];

function WorkerField({ form, onChange }: FieldProps) {
  const agents = useAgents();
  const agentId = useId();
  const programId = useId();
  const stored = agents.data ?? [];
  return (
    <fieldset className="field">
      <legend>Who works in it</legend>
      <div className="choices choices-grid">
        {WORKERS.map(({ worker, word, note }) => (
          <label key={worker} className="choice">
            <input
              type="radio"
              name="worker"
              checked={form.worker === worker}
              onChange={() => onChange({ worker, agent: form.agent || (stored[0]?.name ?? "") })}
            />
            <span>
              <strong>{word}</strong>
              <span className="choice-note">{note}</span>
            </span>
          </label>
        ))}
      </div>
      {form.worker === "agent" && (
        <div className="field">
          <label htmlFor={agentId}>Agent</label>
          {agents.data && stored.length === 0 ? (
            <p className="hint">
              No agent is stored yet. Choose “Nobody yet” and begin a session in the workspace: there you can
              make one.
            </p>
          ) : (
            <select
              id={agentId}
              value={form.agent}
              onChange={(event) => onChange({ agent: event.target.value })}
            >
              {!form.agent && <option value="">Choose one</option>}
              {stored.map(({ name, model }) => (
                <option key={name} value={name}>
                  {name} ({model})
                </option>
              ))}
            </select>
          )}
        </div>
      )}
      {form.worker === "program" && (
        <div className="field">
          <label htmlFor={programId}>Program and its arguments</label>
          <input
            id={programId}
            className="mono"
            autoComplete="off"
            spellCheck={false}
            placeholder="python3 agent.py --verbose"
            value={form.program}
            onChange={(event) => onChange({ program: event.target.value })}
          />
          <p className="hint">
            It is run for each message, with the message on its input. Put its files into the workspace, or
            take an image that has it. Not a shell: for one, write <code>sh -c "…"</code>.
          </p>
        </div>
      )}
    </fieldset>
  );
}

function LimitFields({ form, onChange }: FieldProps) {
  const ids = { memory_mb: useId(), cpus: useId(), disk_mb: useId() };
  const imageId = useId();
  const fields = [
    ["memory_mb", "Memory (MB)", "1"],
    ["cpus", "Processors", "0.1"],
    ["disk_mb", "Files together (MB)", "1"],
  ] as const;
  return (
    <fieldset className="field">
      <legend>Limits; empty: the usual ones</legend>
      <div className="field-row">
        {fields.map(([name, word, step]) => (
          <div key={name} className="field">
            <label htmlFor={ids[name]}>{word}</label>
            <input
              id={ids[name]}
              type="number"
              min={step}
              step={step}
              value={form[name]}
              onChange={(event) => onChange({ [name]: event.target.value })}
            />
          </div>
        ))}
      </div>
      {form.kind === "docker" && (
        <div className="field">
          <label htmlFor={imageId}>Image</label>
          <input
            id={imageId}
            className="mono"
            autoComplete="off"
            spellCheck={false}
            placeholder="the usual one"
            value={form.image}
            onChange={(event) => onChange({ image: event.target.value })}
          />
        </div>
      )}
    </fieldset>
  );
}

interface SecretFieldsProps {
  secrets: readonly NewSecret[];
  onChange: (secrets: readonly NewSecret[]) => void;
}

function SecretFields({ secrets, onChange }: SecretFieldsProps) {
  const put = (at: number, fields: Partial<NewSecret>) =>
    onChange(secrets.map((one, index) => (index === at ? { ...one, ...fields } : one)));
  return (
    <fieldset className="field">
      <legend>Secrets of its own: variables of its commands</legend>
      {secrets.map(({ name, value }, at) => (
        // Rows are added at the end and taken from where they are; none is ever moved.
        // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
        <div key={at} className="field-row">
          <input
            className="mono"
            aria-label={`Name of secret ${at + 1}`}
            aria-invalid={(name !== "" && !isSecretName(name)) || undefined}
            placeholder="NAME"
            autoComplete="off"
            spellCheck={false}
            value={name}
            onChange={(event) => put(at, { name: event.target.value })}
          />
          <input
            type="password"
            aria-label={`Value of secret ${at + 1}`}
            placeholder="value"
            autoComplete="off"
            value={value}
            onChange={(event) => put(at, { value: event.target.value })}
          />
          <Button
            tone="quiet"
            icon="close"
            aria-label={`Leave out secret ${at + 1}`}
            onClick={() => onChange(secrets.filter((_, index) => index !== at))}
          />
        </div>
      ))}
      <div>
        <Button icon="plus" onClick={() => onChange([...secrets, { name: "", value: "" }])}>
          Add a secret
        </Button>
      </div>
    </fieldset>
  );
}
