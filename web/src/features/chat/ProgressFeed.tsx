import { formatClock } from "../../components/format";
import { StaleNote } from "../../components/States";
import { useProgress } from "./queries";

/** What the workspace does (X34): the server keeps the last 20 lines and folds repeats; this shows them. */
export function ProgressFeed({ workspaceId }: { workspaceId: string }) {
  const query = useProgress(workspaceId);
  const lines = query.data ?? [];
  return (
    <section className="chat-progress" aria-labelledby="progress-title">
      <h2 id="progress-title">Progress</h2>
      <StaleNote query={query} />
      {lines.length === 0 ? (
        <p className="hint">{query.isPending ? "Reading…" : "Nothing was done here yet."}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        <ol className="progress-lines" tabIndex={0} aria-label="Progress, newest first">
          {lines.toReversed().map((line, index) => (
            // Lines have no ids of their own.
            // biome-ignore lint/suspicious/noArrayIndexKey: drawn anew with each answer, without a state of their own
            <li key={index} className="progress-line">
              <time dateTime={line.at}>{formatClock(line.at)}</time>
              <bdi className="progress-text">{line.text}</bdi>
              {line.count > 1 && (
                <span className="progress-count">
                  <span aria-hidden="true">×{line.count}</span>
                  <span className="visually-hidden">{line.count} times</span>
                </span>
              )}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
