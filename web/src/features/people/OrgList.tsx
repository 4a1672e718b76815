// For who runs this Warren: its orgs, what they have and what they may have.
import { type FormEvent, useId, useState } from "react";
import type { Org } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { useMe } from "../signIn/me";
import { useChangeOrg, useCreateOrg, useOrgs, useRemoveOrg } from "./queries";
import { fieldsOf, isName, NAME_PATTERN, type QuotaFields, quotasOf, usageRows } from "./words";

export function OrgList() {
  const query = useOrgs();
  if (query.isPending) return <Loading what="orgs" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <>
      <StaleNote query={query} />
      <ul className="people" aria-label="Orgs of this Warren">
        {query.data.items.map((org) => (
          <OrgRow key={org.id} org={org} />
        ))}
      </ul>
      {query.data.isPartial && <p className="hint">Only the first {query.data.items.length} are shown.</p>}
    </>
  );
}

function OrgRow({ org }: { org: Org }) {
  const me = useMe();
  const [dialog, setDialog] = useState<"change" | "remove">();
  const close = () => setDialog(undefined);
  const isHere = me.org.id === org.id;
  return (
    <li className="person org">
      <div className="person-who">
        <strong>
          <bdi>{org.name}</bdi>
        </strong>
        {isHere && <span className="tag">you work here</span>}
      </div>
      <dl className="org-usage">
        {usageRows(org).map(([word, value]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div className="actions">
        <Button icon="pencil" aria-label={`Quotas of ${org.name}`} onClick={() => setDialog("change")}>
          Quotas
        </Button>
        {!isHere && (
          <Button
            icon="trash"
            aria-label={`Remove the org ${org.name}`}
            title="Remove"
            onClick={() => setDialog("remove")}
          />
        )}
      </div>
      {dialog === "change" && <ChangeOrgDialog org={org} onClose={close} />}
      {dialog === "remove" && <RemoveOrgDialog org={org} onClose={close} />}
    </li>
  );
}

export function NewOrgButton() {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button icon="plus" onClick={() => setIsOpen(true)}>
        New org
      </Button>
      {isOpen && <NewOrgDialog onClose={() => setIsOpen(false)} />}
    </>
  );
}

function NewOrgDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [fields, setFields] = useState(() => fieldsOf({ max_tier: "basic" }));
  const notify = useNotify();
  const create = useCreateOrg(() => {
    notify(`Made the org ${name}`);
    onClose();
  });
  const nameId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({ name, quotas: quotasOf(fields) });
  };
  return (
    <Dialog title="New org" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <div className="field">
          <label htmlFor={nameId}>Name</label>
          <input
            id={nameId}
            data-autofocus
            required
            autoComplete="off"
            pattern={NAME_PATTERN}
            title="Small letters, digits and . _ -"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        <QuotaForm fields={fields} onChange={setFields} />
        {create.isError && <ProblemPanel error={create.error} what="There is no new org." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={create.isPending} disabled={!isName(name)}>
            Make the org
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function ChangeOrgDialog({ org, onClose }: { org: Org; onClose: () => void }) {
  const [fields, setFields] = useState(() => fieldsOf(org.quotas));
  const notify = useNotify();
  const change = useChangeOrg(org.id, () => {
    notify("Saved");
    onClose();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ quotas: quotasOf(fields) });
  };
  return (
    <Dialog title={`Quotas of ${org.name}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <QuotaForm fields={fields} onChange={setFields} />
        {change.isError && <ProblemPanel error={change.error} what="Nothing was changed." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={change.isPending}>
            Save
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function RemoveOrgDialog({ org, onClose }: { org: Org; onClose: () => void }) {
  const notify = useNotify();
  const remove = useRemoveOrg(org.id, () => {
    notify(`Removed the org ${org.name}`);
    onClose();
  });
  return (
    <Dialog title={`Remove ${org.name}?`} onClose={onClose}>
      <div className="form">
        <p>Nobody comes into it any more. Only an org without workspaces can be removed.</p>
        {remove.isError && <ProblemPanel error={remove.error} what="It was not removed." />}
        <footer className="dialog-foot">
          <Button onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button
            tone="danger"
            icon="trash"
            isBusy={remove.isPending}
            onClick={() => remove.mutate(undefined)}
          >
            Remove
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}

const NUMBERS: { name: Exclude<keyof QuotaFields, "max_tier">; word: string; step: string }[] = [
  { name: "max_workspaces", word: "Workspaces", step: "1" },
  { name: "max_members", word: "People", step: "1" },
  { name: "max_sessions_running", word: "Sessions at work", step: "1" },
  { name: "monthly_spend", word: "Spending in a month", step: "any" },
];

interface QuotaFormProps {
  fields: QuotaFields;
  onChange: (fields: QuotaFields) => void;
}

function QuotaForm({ fields, onChange }: QuotaFormProps) {
  const id = useId();
  return (
    <fieldset className="quota-fields">
      <legend>At most; what is empty has no limit of its own</legend>
      {NUMBERS.map(({ name, word, step }) => (
        <div key={name} className="field">
          <label htmlFor={`${id}${name}`}>{word}</label>
          <input
            id={`${id}${name}`}
            type="number"
            min={0}
            step={step}
            placeholder="no limit"
            value={fields[name]}
            onChange={(event) => onChange({ ...fields, [name]: event.target.value })}
          />
        </div>
      ))}
      <div className="field">
        <label htmlFor={`${id}tier`}>Highest tier</label>
        <select
          id={`${id}tier`}
          value={fields.max_tier}
          onChange={(event) => onChange({ ...fields, max_tier: event.target.value })}
        >
          <option value="">any</option>
          {["basic", "extended", "privileged"].map((tier) => (
            <option key={tier} value={tier}>
              {tier}
            </option>
          ))}
        </select>
      </div>
    </fieldset>
  );
}
