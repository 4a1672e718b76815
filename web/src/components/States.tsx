// The states every view has besides its content: loading, empty, and failed with what to do about it.
import type { ReactNode } from "react";
import { asProblem, isPassing } from "../api/problem";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";

export function Loading({ what }: { what: string }) {
  return (
    <div className="state state-loading" role="status">
      <span className="spinner" aria-hidden="true" /> Loading {what}…
    </div>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  children?: ReactNode;
}

export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div className="state state-empty">
      <span className="state-icon">
        <Icon name={icon} />
      </span>
      <p className="state-title">{title}</p>
      {children}
    </div>
  );
}

interface ProblemPanelProps {
  error: unknown;
  /** What was being tried, as in “The workspaces could not be loaded”. */
  what?: string;
  onRetry?: () => void;
}

export function ProblemPanel({ error, what, onRetry }: ProblemPanelProps) {
  const problem = asProblem(error);
  // The server speaks of tokens; whoever looks at a page is a person with a role.
  const isForbidden = problem.code === "forbidden";
  const title = isForbidden ? "You may not do that." : problem.title;
  const remedy = isForbidden ? "Ask an operator of your org, or who runs this Warren." : problem.remedy;
  return (
    <div className="problem" role="alert" data-code={problem.code}>
      <Icon name="warning" />
      <div className="problem-body">
        {what && <p className="problem-what">{what}</p>}
        <p className="problem-title">{title}</p>
        {problem.detail && <p className="problem-detail">{problem.detail}</p>}
        <p className="problem-remedy">
          <WithCode text={remedy} />
        </p>
        <p className="problem-meta">
          <code>{problem.code}</code>
          {problem.requestId && (
            <>
              {" · request "}
              <code>{problem.requestId}</code>
            </>
          )}
        </p>
        {onRetry && (
          <Button icon="refresh" onClick={onRetry}>
            {isPassing(problem) ? "Try now" : "Try again"}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Content that was read before and could not be read again: it stays, and is not passed off as fresh. */
export function StaleNote({ query }: { query: { isRefetchError: boolean; error: unknown } }) {
  if (!query.isRefetchError) return null;
  const problem = asProblem(query.error);
  return (
    <p className="stale-note" role="status" data-code={problem.code}>
      <Icon name="warning" /> This is as last read. {problem.title}
    </p>
  );
}

/** The server's sentences put commands between backticks. */
export function WithCode({ text }: { text: string }) {
  const parts = text.split("`");
  // An odd number of backticks is not ours to interpret.
  if (parts.length % 2 === 0) return text;
  return parts.map((part, index) =>
    // The parts of one sentence never move, so their position is their identity.
    // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  );
}
