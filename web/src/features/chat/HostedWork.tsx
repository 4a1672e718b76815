// What the agent of a hosted workspace is doing for a conversation: Warren runs it in a session, and what happens there
// shows below the messages until the answer stands among them: words as they come, tool calls, and what it asks of people.
import { useMemo } from "react";
import { Problem } from "../../api/problem";
import type { Workspace } from "../../api/types";
import { Link, sessionPlace } from "../../routes/router";
import { conversationOf, statusOf, waitsFor } from "../sessions/conversation";
import { PendingPanels } from "../sessions/PendingPanels";
import { type FullSnapshot, useSnapshot, useStream } from "../sessions/queries";
import { ResumePanel } from "../sessions/ResumePanel";
import { StepItem } from "../sessions/StepItem";
import type { ShownStep } from "../sessions/transcript";
import { useMay } from "../signIn/me";

interface HostedWorkProps {
  workspace: Workspace;
  /** The session in which the conversation takes place. */
  session: string;
}

export default function HostedWork({ workspace, session }: HostedWorkProps) {
  const query = useSnapshot(workspace.id, session);
  const isNone = query.error instanceof Problem && query.error.code === "session_not_found";
  if (!query.data || isNone) return null;
  return <Work workspace={workspace} snapshot={query.data} />;
}

function Work({ workspace, snapshot }: { workspace: Workspace; snapshot: FullSnapshot }) {
  const { session } = snapshot;
  const { transcript } = useStream(workspace.id, session.name);
  const status = statusOf(snapshot, transcript);
  const steps = useMemo(() => {
    const items = conversationOf(transcript, snapshot, new Map());
    const said = items.findLastIndex(({ kind }) => kind === "message");
    return items.slice(said + 1).filter((item): item is ShownStep => item.kind === "step");
  }, [transcript, snapshot]);
  const mayUse = useMay("workspaces:use");
  const isOver = status === "completed" || status === "idle";
  return (
    <section className="hosted-work" aria-label="What the agent does">
      {!isOver && steps.length > 0 && (
        <ol className="session-turns">
          {steps.map((step) => (
            <StepItem key={step.number} step={step} agent={session.agent} />
          ))}
        </ol>
      )}
      <PendingPanels snapshot={snapshot} />
      {!isOver && mayUse && (
        <ResumePanel
          key={`${session.run}.${status}`}
          session={session}
          status={status}
          reason={waitsFor(snapshot, transcript)}
        />
      )}
      <p className="hint">
        <Link to={sessionPlace(workspace.id, session.name)}>All steps of this conversation</Link>
      </p>
    </section>
  );
}
