import { useState } from "react";
import type { Schedule, Workspace } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { Icon } from "../../components/Icon";
import { useNotify } from "../../components/Notices";
import { Empty, Loading, ProblemPanel, StaleNote } from "../../components/States";
import { chatPlace, Link, taskConversation } from "../../routes/router";
import { NotAllowed, useMay } from "../signIn/me";
import { hasAgent } from "../workspaces/home";
import { useRuns, useScheduleAction, useSchedules } from "./queries";
import { RemoveScheduleDialog, ScheduleDialog } from "./ScheduleDialog";
import { nextOf, runOf, timesOf } from "./words";

/** What is said to the workspace's agent at set times (X40), and what became of it. */
export function SchedulesTab({ workspace }: { workspace: Workspace }) {
  const query = useSchedules(workspace.id);
  const mayWrite = useMay("workspaces:write");
  const [isMaking, setIsMaking] = useState(false);
  if (query.isPending) return <Loading what="schedules" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const { items, isPartial } = query.data;
  return (
    <>
      <StaleNote query={query} />
      {mayWrite && items.length > 0 && (
        <div className="tab-bar">
          <Button icon="plus" onClick={() => setIsMaking(true)}>
            New schedule
          </Button>
        </div>
      )}
      {items.length === 0 ? (
        <Empty icon="clock" title="Nothing is said to this workspace at set times">
          <p className="hint">
            {hasAgent(workspace)
              ? "A schedule says something to its agent, every so often or at set times."
              : "It has no agent that would answer. Give it one first, on its Chat tab."}
          </p>
          {mayWrite ? (
            <Button tone="primary" icon="plus" onClick={() => setIsMaking(true)}>
              New schedule
            </Button>
          ) : (
            <NotAllowed what="making a schedule" />
          )}
        </Empty>
      ) : (
        <ul className="schedules" aria-label="Schedules">
          {items.map((schedule) => (
            <ScheduleCard key={schedule.id} schedule={schedule} />
          ))}
        </ul>
      )}
      {isPartial && <p className="hint">Only the first {items.length} are shown.</p>}
      {isMaking && <ScheduleDialog workspaceId={workspace.id} onClose={() => setIsMaking(false)} />}
    </>
  );
}

function ScheduleCard({ schedule }: { schedule: Schedule }) {
  const action = useScheduleAction(schedule.workspace_id, schedule.id);
  const notify = useNotify();
  const [isOpen, setIsOpen] = useState(false);
  const [dialog, setDialog] = useState<"change" | "remove">();
  const close = () => setDialog(undefined);
  const mayWrite = useMay("workspaces:write");
  const mayUse = useMay("workspaces:use");
  const { name, is_paused } = schedule;
  return (
    <li className="schedule">
      <div className="schedule-head">
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <code>{timesOf(schedule)}</code>
        <span className="schedule-next" data-paused={is_paused || undefined}>
          {nextOf(schedule)}
        </span>
        {mayWrite && (
          <Button
            icon={is_paused ? "play" : "pause"}
            aria-label={`${is_paused ? "Resume" : "Pause"} ${name}`}
            disabled={action.isPending}
            onClick={() => action.mutate(is_paused ? "resume" : "pause")}
          >
            {is_paused ? "Resume" : "Pause"}
          </Button>
        )}
        {mayUse && (
          <Button
            icon="send"
            aria-label={`Run now: ${name}`}
            disabled={action.isPending}
            onClick={() => action.mutate("run", { onSuccess: () => notify(`${name} runs now`) })}
          >
            Run now
          </Button>
        )}
        {mayWrite && (
          <>
            {schedule.problem == null && (
              <Button icon="pencil" aria-label={`Change ${name}`} onClick={() => setDialog("change")}>
                Change
              </Button>
            )}
            <Button
              icon="trash"
              aria-label={`Remove ${name}`}
              title="Remove"
              onClick={() => setDialog("remove")}
            />
          </>
        )}
      </div>
      <p className="message-text" dir="auto">
        {schedule.prompt}
      </p>
      {schedule.problem != null && (
        <p className="composer-refusal" role="alert">
          It does not fire: another version of Warren wrote it, and this one cannot read it (
          {schedule.problem}). Go back to that version, or remove it and make it anew.
        </p>
      )}
      {action.isError && <ProblemPanel error={action.error} what="Nothing was changed." />}
      <button
        type="button"
        className="schedule-more"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <Icon name="chevron" className="tree-chevron" /> What became of it
      </button>
      {isOpen && <Runs schedule={schedule} />}
      {dialog === "change" && (
        <ScheduleDialog workspaceId={schedule.workspace_id} schedule={schedule} onClose={close} />
      )}
      {dialog === "remove" && <RemoveScheduleDialog schedule={schedule} onClose={close} />}
    </li>
  );
}

function Runs({ schedule }: { schedule: Schedule }) {
  const query = useRuns(schedule.workspace_id, schedule.id, true);
  if (query.isPending) return <Loading what="runs" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  if (query.data.length === 0) return <p className="hint">It has not fired yet.</p>;
  return (
    <ol className="schedule-runs" aria-label={`Runs of ${schedule.name}, newest first`}>
      {query.data.map((run) => (
        <li key={run.id} data-state={run.state}>
          <Ago at={run.slot ?? run.created_at} /> <span>{runOf(run)}</span>
          {run.task_id && (
            <>
              {" · "}
              <Link to={chatPlace(schedule.workspace_id, taskConversation(run.task_id))}>
                what was answered
              </Link>
            </>
          )}
        </li>
      ))}
    </ol>
  );
}
