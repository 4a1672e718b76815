import { useState } from "react";
import type { Workspace } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { ProblemPanel } from "../../components/States";
import { StatusBadge } from "../../components/StatusBadge";
import { Link, workspacePlace } from "../../routes/router";
import { useMay } from "../signIn/me";
import { DeleteDialog, EditDialog } from "./ChangeDialogs";
import { useWorkspaceName } from "./names";
import { providerKind } from "./order";
import { usePatchWorkspace, useResetWorkspace, useRestartWorkspace } from "./queries";

export function WorkspaceHeader({ workspace }: { workspace: Workspace }) {
  const [dialog, setDialog] = useState<"edit" | "delete">();
  const patch = usePatchWorkspace(workspace.id);
  const reset = useResetWorkspace(workspace.id);
  const restart = useRestartWorkspace(workspace.id);
  const close = () => setDialog(undefined);
  const isPaused = workspace.desired === "paused" || workspace.desired === "hibernated";
  const mayWrite = useMay("workspaces:write");
  const mayReset = useMay("org:operate");
  const isRemoved = workspace.status === "removed";
  return (
    <header className="workspace-head">
      <div className="workspace-head-line">
        <h1>{workspace.name}</h1>
        <StatusBadge status={workspace.status} />
        {!isRemoved && mayWrite && (
          <div className="actions">
            {workspace.status === "failed" && mayReset && (
              <Button icon="refresh" isBusy={reset.isPending} onClick={() => reset.mutate()}>
                Retry
              </Button>
            )}
            {!isPaused && workspace.status !== "failed" && (
              <Button
                icon="refresh"
                isBusy={restart.isPending}
                title="Bring it up anew: what runs in it ends, files stay"
                onClick={() => restart.mutate()}
              >
                Restart
              </Button>
            )}
            <Button
              icon={isPaused ? "play" : "pause"}
              isBusy={patch.isPending}
              onClick={() => patch.mutate({ desired: isPaused ? "running" : "paused" })}
            >
              {workspace.desired === "hibernated" ? "Wake" : isPaused ? "Resume" : "Pause"}
            </Button>
            {!isPaused && (
              <Button
                icon="moon"
                isBusy={patch.isPending}
                title="Let it sleep until something is asked of it: what runs in it ends, files stay"
                onClick={() => patch.mutate({ desired: "hibernated" })}
              >
                Hibernate
              </Button>
            )}
            <Button icon="pencil" onClick={() => setDialog("edit")}>
              Edit
            </Button>
            <Button
              icon="trash"
              aria-label="Delete workspace"
              title="Delete"
              onClick={() => setDialog("delete")}
            />
          </div>
        )}
      </div>
      {workspace.reason && <p className="workspace-reason">{workspace.reason}</p>}
      <p className="workspace-meta">
        {workspace.role && <span>{workspace.role}</span>}
        <span className="tag">{providerKind(workspace)}</span>
        {workspace.tier !== "basic" && (
          <span className="tag" title="It is given more than its own box">
            {workspace.tier}
          </span>
        )}
        {workspace.capabilities.map((capability) => (
          <span key={capability} className="tag">
            {capability}
          </span>
        ))}
        {workspace.parent_id && <ParentLink id={workspace.parent_id} />}
        <span>
          created <Ago at={workspace.created_at} />
        </span>
        <code title="The workspace’s id">{workspace.id}</code>
      </p>
      {patch.isError && <ProblemPanel error={patch.error} />}
      {reset.isError && <ProblemPanel error={reset.error} />}
      {restart.isError && <ProblemPanel error={restart.error} />}
      {dialog === "edit" && <EditDialog workspace={workspace} onClose={close} />}
      {dialog === "delete" && <DeleteDialog workspace={workspace} onClose={close} />}
    </header>
  );
}

function ParentLink({ id }: { id: string }) {
  const name = useWorkspaceName(id);
  return (
    <span>
      under <Link to={workspacePlace(id)}>{name ?? id}</Link>
    </span>
  );
}
