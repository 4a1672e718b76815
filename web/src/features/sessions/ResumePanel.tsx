// A session that stands still and that a person can let go on (A14, A15, A32).
import { type FormEvent, useId, useState } from "react";
import type { RunLimits, Session, SessionStatus } from "../../api/types";
import { Button } from "../../components/Button";
import { ProblemPanel } from "../../components/States";
import { useResume } from "./queries";
import { forPeople, LIMITS, raisedLimits } from "./words";

interface ResumePanelProps {
  session: Session;
  status: SessionStatus;
  reason: string | undefined;
}

/** Shows nothing where there is nothing to resume. Keyed by run and status where it is used. */
export function ResumePanel({ session, status, reason }: ResumePanelProps) {
  const resume = useResume(session.workspace_id, session.id);
  const by = session.suspension?.by;
  const titleId = useId();
  const sentence = sentenceOf(session, status);
  if (!sentence) return null;
  return (
    <section className="session-resume" aria-labelledby={titleId}>
      <h3 id={titleId}>{sentence}</h3>
      {reason && <p>{forPeople(reason)}</p>}
      {resume.isError && <ProblemPanel error={resume.error} what="It does not go on." />}
      {status === "suspended" && (by === "budget" || by === "stuck") ? (
        <LimitsForm session={session} isBusy={resume.isPending} onGo={(limits) => resume.mutate(limits)} />
      ) : (
        <Button tone="primary" icon="play" isBusy={resume.isPending} onClick={() => resume.mutate(undefined)}>
          {status === "failed" ? "Try again" : "Resume"}
        </Button>
      )}
    </section>
  );
}

function sentenceOf(session: Session, status: SessionStatus): string | undefined {
  if (status === "interrupted") return "The run was stopped. It can go on where it was.";
  if (status === "failed") {
    // Why it failed stands above, where it happened.
    const word = session.failure?.kind === "aborted" ? "aborted" : "ended by a failure";
    return session.last_step > 0 ? `The run was ${word}. The model can be asked once more.` : undefined;
  }
  if (status !== "suspended") return undefined;
  switch (session.suspension?.by as string | undefined) {
    case "budget":
      return "The budget of this run is used up.";
    case "stuck":
      return "The agent goes in circles.";
    case "timer":
      return "The agent waits for a time.";
    case "workspace":
      return "The agent waits for its workspace.";
    default:
      return undefined;
  }
}

interface LimitsFormProps {
  session: Session;
  isBusy: boolean;
  onGo: (limits: RunLimits) => void;
}

const MICROS = 1_000_000;

function LimitsForm({ session, isBusy, onGo }: LimitsFormProps) {
  const [limits, setLimits] = useState(() => raisedLimits(session));
  const id = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onGo(limits);
  };
  const unit = (name: keyof RunLimits) => (name === "cost_micros" ? MICROS : 1);
  return (
    <form className="limits" onSubmit={submit}>
      {LIMITS.map(({ name, word }) => {
        const value = limits[name];
        return (
          <div key={name} className="field">
            <label htmlFor={`${id}${name}`}>{word}</label>
            <input
              id={`${id}${name}`}
              type="number"
              min={name === "cost_micros" ? 0 : 1}
              step={name === "cost_micros" ? "any" : 1}
              placeholder="no limit"
              value={value == null ? "" : value / unit(name)}
              onChange={(event) => {
                const typed = event.target.value;
                const next = typed === "" ? null : Math.round(Number(typed) * unit(name));
                setLimits((now) => ({ ...now, [name]: next }));
              }}
            />
          </div>
        );
      })}
      <Button type="submit" tone="primary" icon="play" isBusy={isBusy}>
        Go on with these limits
      </Button>
    </form>
  );
}
