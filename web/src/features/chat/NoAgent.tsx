// A hosted workspace that names no agent: messages to it are refused (`no_agent`), and here are the ways out.
import { type FormEvent, useId, useState } from "react";
import type { PatchWorkspace, Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel } from "../../components/States";
import { Link, sessionPlace } from "../../routes/router";
import { useAgents } from "../agents/queries";
import { useMay } from "../signIn/me";
import { usePatchWorkspace } from "../workspaces/queries";

export function NoAgent({ workspace }: { workspace: Workspace }) {
  const [isOpen, setIsOpen] = useState(false);
  const mayWrite = useMay("workspaces:write");
  return (
    <>
      <p className="hint" role="note">
        {workspace.name} has no agent, and messages to it are refused. Give it one that Warren runs, or talk
        to an agent in a session. A workspace made with{" "}
        <code>warren ws create NAME --runtime resident -- PROGRAM</code> runs a program as its agent; with{" "}
        <code>--runtime external</code>, a program that runs elsewhere registers.
      </p>
      <p className="row">
        {mayWrite && (
          <Button icon="session" onClick={() => setIsOpen(true)}>
            Give it an agent
          </Button>
        )}
        <Link to={sessionPlace(workspace.id)} className="button">
          Start a session
        </Link>
      </p>
      {isOpen && <AgentDialog workspace={workspace} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function AgentDialog({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const agents = useAgents();
  const patch = usePatchWorkspace(workspace.id);
  const notify = useNotify();
  const [chosen, setChosen] = useState<string>();
  const agentId = useId();
  const name = chosen ?? agents.data?.[0]?.name;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!name) return;
    patch.mutate({ agent: name } as PatchWorkspace, {
      onSuccess: () => {
        notify(`${workspace.name} has the agent ${name}`);
        onClose();
      },
    });
  };
  return (
    <Dialog title={`An agent for ${workspace.name}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        {agents.isPending ? (
          <Loading what="agents" />
        ) : !agents.data ? (
          <ProblemPanel error={agents.error} onRetry={() => void agents.refetch()} />
        ) : agents.data.length === 0 ? (
          <p>
            No agent is stored yet. <Link to={sessionPlace(workspace.id)}>Begin a session</Link>: there you
            can make one.
          </p>
        ) : (
          <div className="field">
            <label htmlFor={agentId}>Agent</label>
            <select
              id={agentId}
              data-autofocus
              value={name}
              onChange={(event) => setChosen(event.target.value)}
            >
              {agents.data.map(({ name: one, model }) => (
                <option key={one} value={one}>
                  {one} ({model})
                </option>
              ))}
            </select>
          </div>
        )}
        {patch.isError && <ProblemPanel error={patch.error} what="It was given no agent." />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" isBusy={patch.isPending} disabled={!name}>
            Give it this agent
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
