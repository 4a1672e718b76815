import { useMemo, useState } from "react";
import type { WarrenEvent } from "../api/types";
import { Button } from "../components/Button";
import { Empty, Loading, ProblemPanel } from "../components/States";
import { EventList } from "../features/events/EventList";
import { useEventLog } from "../features/events/history";

const DOMAINS = ["all", "workspace", "identity", "server"] as const;
type Domain = (typeof DOMAINS)[number];

export function EventsPage() {
  const { history, isPending, events } = useEventLog();
  const [domain, setDomain] = useState<Domain>("all");
  const [held, setHeld] = useState<readonly WarrenEvent[]>();
  const shown = useMemo(
    () => (held ?? events).filter((event) => domain === "all" || event.kind.startsWith(`${domain}.`)),
    [events, held, domain],
  );
  return (
    <div className="page">
      <header className="page-head">
        <h1>Events</h1>
        <fieldset className="segments">
          <legend className="visually-hidden">Which events</legend>
          {DOMAINS.map((one) => (
            <label key={one}>
              <input type="radio" name="domain" checked={domain === one} onChange={() => setDomain(one)} />
              <span>{one.charAt(0).toUpperCase() + one.slice(1)}</span>
            </label>
          ))}
        </fieldset>
        <Button icon={held ? "play" : "pause"} onClick={() => setHeld(held ? undefined : events)}>
          {held ? `Go on (${events.length - held.length} new)` : "Hold"}
        </Button>
      </header>
      {isPending ? (
        <Loading what="events" />
      ) : (
        <>
          {history.isError && (
            <ProblemPanel
              error={history.error}
              what="Older events could not be loaded."
              onRetry={() => void history.refetch()}
            />
          )}
          {shown.length === 0 ? (
            <Empty icon="activity" title="No events yet">
              <p className="hint">Everything that happens in Warren appears here as it happens.</p>
            </Empty>
          ) : (
            <EventList events={shown} isGlobal />
          )}
          {history.hasNextPage && (
            <Button isBusy={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
              Load older
            </Button>
          )}
        </>
      )}
    </div>
  );
}
