// Begins a session: with a stored agent, or with one that is made here from a few fields.
import { type FormEvent, useId, useState } from "react";
import type { AgentSummary, Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useDraft } from "../../components/draft";
import { Loading, ProblemPanel } from "../../components/States";
import { sessionPlace, useRouter } from "../../routes/router";
import { type AgentDraft, AgentFields, definitionOf, emptyAgent } from "../agents/AgentFields";
import { useAgents, useStoreAgent } from "../agents/queries";
import { useBegin } from "./queries";

const NEW_AGENT = "";

interface NewSessionDialogProps {
  workspace: Workspace;
  onClose: () => void;
}

export function NewSessionDialog({ workspace, onClose }: NewSessionDialogProps) {
  const agents = useAgents();
  return (
    <Dialog title="New session" onClose={onClose}>
      {agents.isPending ? (
        <Loading what="agents" />
      ) : agents.data ? (
        <NewSessionForm workspace={workspace} agents={agents.data} onClose={onClose} />
      ) : (
        <div className="form">
          <ProblemPanel error={agents.error} onRetry={() => void agents.refetch()} />
        </div>
      )}
    </Dialog>
  );
}

interface NewSessionFormProps extends NewSessionDialogProps {
  agents: readonly AgentSummary[];
}

function NewSessionForm({ workspace, agents, onClose }: NewSessionFormProps) {
  const [chosen, setChosen] = useDraft("new-session.agent", agents[0]?.name ?? NEW_AGENT);
  const [kept, setKept, forgetAgent] = useDraft("new-session.new", JSON.stringify(emptyAgent));
  const [text, setText, forgetText] = useDraft("new-session.text");
  // The same key for every try of this form: a second try finds what the first one began.
  const [key] = useState(() => crypto.randomUUID());
  const store = useStoreAgent();
  const begin = useBegin();
  const { navigate } = useRouter();
  const agentId = useId();
  const textId = useId();
  const known = agents.find(({ name }) => name === chosen);
  const draft = JSON.parse(kept) as AgentDraft;
  const isNew = !known;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      if (isNew) await store.mutateAsync(definitionOf(draft));
      const session = await begin.mutateAsync({
        workspaceId: workspace.id,
        agent: isNew ? draft.name.trim() : chosen,
        text: text.trim() || undefined,
        key,
      });
      forgetAgent();
      forgetText();
      onClose();
      navigate(sessionPlace(session.workspace_id, session.name));
    } catch {
      // Shown below.
    }
  };
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <div className="field">
        <label htmlFor={agentId}>Agent</label>
        <select
          id={agentId}
          data-autofocus
          value={known ? chosen : NEW_AGENT}
          onChange={(event) => setChosen(event.target.value)}
        >
          {agents.map(({ name, model }) => (
            <option key={name} value={name}>
              {name} ({model})
            </option>
          ))}
          <option value={NEW_AGENT}>A new agent…</option>
        </select>
        {known?.description && <p className="hint">{known.description}</p>}
      </div>
      {isNew && (
        <AgentFields
          draft={draft}
          isKnownName={agents.some(({ name }) => name === draft.name.trim())}
          onChange={(next) => setKept(JSON.stringify(next))}
        />
      )}
      <div className="field">
        <label htmlFor={textId}>First message (optional)</label>
        <textarea id={textId} rows={3} value={text} onChange={(event) => setText(event.target.value)} />
      </div>
      {store.isError && <ProblemPanel error={store.error} what="The agent was not stored." />}
      {begin.isError && <ProblemPanel error={begin.error} what="The session was not begun." />}
      <footer className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone="primary" isBusy={store.isPending || begin.isPending}>
          Begin
        </Button>
      </footer>
    </form>
  );
}
