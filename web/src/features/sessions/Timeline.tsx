// The steps of a session in time: each call of the model with its tools, tokens, cost and duration (S41). From any closed
// step one can look at what the model was shown, branch, or go back.
import { useState } from "react";
import type { Session, SessionStep } from "../../api/types";
import { Button } from "../../components/Button";
import { formatClock, formatDuration, formatMoment } from "../../components/format";
import { Empty } from "../../components/States";
import { useMay } from "../signIn/me";
import { CallRow } from "./CallRow";
import { ContextDialog } from "./ContextDialog";
import { shownStep } from "./conversation";
import { BranchDialog, RewindDialog } from "./historyDialogs";
import { type Bar, barsOf } from "./timelineBars";
import { between, finishWord, formatCost, formatTokens, gistOf } from "./words";

interface TimelineProps {
  session: Session;
  steps: readonly SessionStep[];
  /** A run is under way: going back has to wait. */
  isBusy: boolean;
}

type Opened = { kind: "context" | "branch" | "rewind"; step: number } | undefined;

export function Timeline({ session, steps, isBusy }: TimelineProps) {
  const [opened, setOpened] = useState<Opened>();
  const close = () => setOpened(undefined);
  if (steps.length === 0) {
    return (
      <Empty icon="clock" title="No step yet">
        <p className="hint">A step is one call of the model with the tools that it asked for.</p>
      </Empty>
    );
  }
  const bars = barsOf(steps);
  return (
    <>
      <p className="timeline-legend">
        <span>the model answers</span>
        <span className="of-tool">a tool runs</span>
        <span className="of-wait">waiting, shown shorter than it was</span>
      </p>
      <ol className="timeline" aria-label="Steps">
        {steps.map((step, index) => (
          <TimelineStep
            key={step.number}
            step={step}
            bar={bars[index]}
            isOwn={step.session_id === session.id}
            isLast={step.number === session.last_step}
            isBusy={isBusy}
            onOpen={(kind) => setOpened({ kind, step: step.number })}
          />
        ))}
      </ol>
      {opened?.kind === "context" && <ContextDialog session={session} step={opened.step} onClose={close} />}
      {opened?.kind === "branch" && <BranchDialog session={session} step={opened.step} onClose={close} />}
      {opened?.kind === "rewind" && <RewindDialog session={session} step={opened.step} onClose={close} />}
    </>
  );
}

interface TimelineStepProps {
  step: SessionStep;
  bar: Bar | undefined;
  isOwn: boolean;
  isLast: boolean;
  isBusy: boolean;
  onOpen: (kind: "context" | "branch" | "rewind") => void;
}

function TimelineStep({ step, bar, isOwn, isLast, isBusy, onOpen }: TimelineStepProps) {
  const { number, usage } = step;
  const mayUse = useMay("workspaces:use");
  const isClosed = step.phase === "closed";
  const asked = between(step.started_at, step.answered_at);
  const took = between(step.started_at, step.ended_at);
  const said = step.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");
  const { calls } = shownStep(step);
  return (
    <li className="timeline-step" data-step={number} data-phase={step.phase}>
      <header>
        <h3>Step {number}</h3>
        <time dateTime={step.started_at} title={formatMoment(step.started_at)}>
          {formatClock(step.started_at)}
        </time>
        <span className="hint">run {step.run}</span>
        {!isOwn && <span className="tag">from the session it was branched from</span>}
        {!isClosed && <span className="tag">{doingOf(step)}</span>}
        <span className="timeline-actions">
          <Button
            tone="quiet"
            icon="search"
            aria-label={`Context of step ${number}`}
            onClick={() => onOpen("context")}
          >
            Context
          </Button>
          {isClosed && mayUse && (
            <Button
              tone="quiet"
              icon="branch"
              aria-label={`Branch from step ${number}`}
              onClick={() => onOpen("branch")}
            >
              Branch
            </Button>
          )}
          {isClosed && !isLast && mayUse && (
            <Button
              tone="quiet"
              icon="rewind"
              aria-label={`Rewind to step ${number}`}
              disabled={isBusy}
              title={isBusy ? "A run is under way" : undefined}
              onClick={() => onOpen("rewind")}
            >
              Rewind
            </Button>
          )}
        </span>
      </header>
      {bar && <TimelineBar bar={bar} />}
      <dl className="timeline-facts">
        <Fact word="Model">
          {step.model ?? "no answer yet"}
          {asked !== undefined && `, ${formatDuration(asked)}`}
          {step.attempt > 1 && `, asked ${step.attempt} times`}
        </Fact>
        <Fact word="Tokens">
          {formatTokens(usage.input_tokens)} in
          {usage.cached_input_tokens > 0 && ` (${formatTokens(usage.cached_input_tokens)} from the cache)`},{" "}
          {formatTokens(usage.output_tokens)} out
          {usage.reasoning_tokens > 0 && ` (${formatTokens(usage.reasoning_tokens)} reasoning)`}
        </Fact>
        <Fact word="Cost">{formatCost(step.cost_micros)}</Fact>
        <Fact word="In all">{took === undefined ? "under way" : formatDuration(took)}</Fact>
        {step.stop_reason && <Fact word="Ended because">{finishWord(step.stop_reason)}</Fact>}
      </dl>
      {said && <p className="timeline-said">{gistOf(said, 240)}</p>}
      {calls.map((call) => (
        <CallRow key={call.id} call={call} />
      ))}
    </li>
  );
}

/** What goes on in a step that is not closed. */
function doingOf({ phase, calls }: SessionStep): string {
  if (phase === "asking") return "the model answers";
  return calls.some(({ state }) => state === "started") ? "tools run" : "waits";
}

function Fact({ word, children }: { word: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{word}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Where in the whole session the step was, and how its time was spent. The facts below say the same in words. */
function TimelineBar({ bar }: { bar: Bar }) {
  return (
    <svg className="timeline-bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      <rect className="timeline-ground" x={0} y={0} width={1000} height={10} rx={2} />
      {bar.parts.map((part) => (
        <rect
          key={part.key}
          className={`timeline-${part.kind}`}
          x={part.from}
          y={0}
          width={part.width}
          height={10}
        />
      ))}
    </svg>
  );
}
