// Says that what is shown may be out of date, since when, and what happens about it.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { Problem } from "../../api/problem";
import { Button } from "../../components/Button";
import { formatClock } from "../../components/format";
import { Icon } from "../../components/Icon";
import { ProblemPanel } from "../../components/States";
import { useFeed, useFeedState } from "./context";
import { type FeedState, isStale } from "./feedState";

const PLATFORM_RETRY_MS = 3_000;

export function ConnectionBanner() {
  const feed = useFeed();
  const state = useFeedState();
  const platform = usePlatformProblem(state);
  return (
    <>
      {/* The region stays in the page, so that screen readers hear it change. */}
      <div className="banner-region" role="status" aria-live="polite">
        {isStale(state) && (
          <div className="banner">
            <Icon name="warning" />
            <span>
              <strong>{sentenceOf(state)}</strong> What you see is from {formatClock(state.staleSince ?? 0)}{" "}
              and may be out of date. What you typed is kept.
            </span>
            {state.phase === "waiting" && (
              <Button tone="plain" onClick={feed.tryNow}>
                Try now
              </Button>
            )}
          </div>
        )}
      </div>
      {platform && <ProblemPanel error={platform} />}
    </>
  );
}

export function sentenceOf(state: FeedState): string {
  if (state.phase === "catching_up") return "Connected again, catching up…";
  return state.problem?.code === "platform_unavailable"
    ? "Warren is waiting for its database."
    : "Connection lost. Reconnecting…";
}

/** A problem of the platform that any view ran into; while there is one, the failed views are asked again. */
function usePlatformProblem(state: FeedState): Problem | undefined {
  const queries = useQueryClient();
  const cache = queries.getQueryCache();
  const failed = useSyncExternalStore(
    (onChange) => cache.subscribe(onChange),
    () => cache.getAll().find((query) => isPlatform(query.state.error))?.state.error ?? undefined,
  );
  const problem = isPlatform(state.problem) ? state.problem : isPlatform(failed) ? failed : undefined;
  const isDown = problem !== undefined;
  useEffect(() => {
    if (!isDown) return;
    const retry = () => void queries.refetchQueries({ predicate: (query) => isPlatform(query.state.error) });
    const timer = setInterval(retry, PLATFORM_RETRY_MS);
    return () => clearInterval(timer);
  }, [isDown, queries]);
  return problem;
}

function isPlatform(error: unknown): error is Problem {
  return error instanceof Problem && error.code === "platform_unavailable";
}
