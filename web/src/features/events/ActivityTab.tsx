import type { Workspace } from "../../api/types";
import { Empty, Loading, ProblemPanel } from "../../components/States";
import { EventList } from "./EventList";
import { useWorkspaceEvents } from "./history";

export function ActivityTab({ workspace }: { workspace: Workspace }) {
  const { history, events } = useWorkspaceEvents(workspace.id);
  if (history.isPending) return <Loading what="activity" />;
  return (
    <>
      {history.isError && (
        <ProblemPanel
          error={history.error}
          what="Earlier activity could not be loaded."
          onRetry={() => void history.refetch()}
        />
      )}
      {events.length === 0 ? (
        <Empty icon="activity" title="Nothing happened here yet" />
      ) : (
        <EventList events={events} isGlobal={false} />
      )}
    </>
  );
}
