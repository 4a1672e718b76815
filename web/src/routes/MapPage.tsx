import { lazy, Suspense } from "react";
import { Empty, Loading, ProblemPanel } from "../components/States";
import { CreateButton } from "../features/workspaces/CreateButton";
import { useWorkspaces } from "../features/workspaces/queries";

const WorkspaceMap = lazy(() => import("../features/map/Map"));

export function MapPage() {
  const query = useWorkspaces();
  if (query.isPending) return <Loading what="the map" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <>
      <h1 className="visually-hidden">Map</h1>
      {query.data.length === 0 ? (
        <Empty icon="map" title="The map is empty">
          <p className="hint">Workspaces appear here with their status, each beneath its parent.</p>
          <CreateButton />
        </Empty>
      ) : (
        <Suspense fallback={<Loading what="the map" />}>
          <WorkspaceMap workspaces={query.data} />
        </Suspense>
      )}
    </>
  );
}
