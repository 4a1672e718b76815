// The workspaces as a map. Loaded on demand: the library that draws it is as large as the rest of the page.
import "@xyflow/react/dist/style.css";
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  Controls,
  type Edge,
  Handle,
  MiniMap,
  type Node,
  type NodeChange,
  type NodeProps,
  Panel,
  Position,
  ReactFlow,
  type ReactFlowState,
  useStore,
} from "@xyflow/react";
import { memo, useCallback, useEffect, useMemo, useState } from "react";
import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { STATUS_WORDS, StatusBadge } from "../../components/StatusBadge";
import { Link, workspacePlace } from "../../routes/router";
import { useMay } from "../signIn/me";
import { homeTab } from "../workspaces/home";
import { providerKind } from "../workspaces/order";
import { layout, NODE_HEIGHT, NODE_WIDTH, type Point } from "./layout";
import { readMoved, writeMoved } from "./moved";
import { NestDialog } from "./NestDialog";

type WorkspaceNode = Node<{ workspace: Workspace }, "workspace">;

const nodeTypes = { workspace: memo(WorkspaceCard) };

export default function WorkspaceMap({ workspaces }: { workspaces: readonly Workspace[] }) {
  const [moved, setMoved] = useState(readMoved);
  const [nodes, setNodes] = useState<WorkspaceNode[]>([]);
  const [nesting, setNesting] = useState<{ child: Workspace; parent: Workspace }>();
  const mayWrite = useMay("workspaces:write");
  const places = useMemo(() => layout(workspaces), [workspaces]);
  const edges = useMemo(() => edgesOf(workspaces), [workspaces]);

  useEffect(() => {
    setNodes((shown) => nodesOf(workspaces, places, moved, shown));
  }, [workspaces, places, moved]);

  const onNodesChange = useCallback((changes: NodeChange<WorkspaceNode>[]) => {
    setNodes((shown) => applyNodeChanges(changes, shown));
  }, []);
  const onNodeDragStop = useCallback(
    (_: unknown, node: WorkspaceNode) => {
      const target = nodes.find((other) => other.id !== node.id && holdsCentre(other, node));
      if (mayWrite && target && target.id !== node.data.workspace.parent_id) {
        setNesting({ child: node.data.workspace, parent: target.data.workspace });
      }
      setMoved((before) => {
        const after = { ...before, [node.id]: node.position };
        writeMoved(after);
        return after;
      });
    },
    [nodes, mayWrite],
  );
  const tidy = () => {
    writeMoved({});
    setMoved({});
  };
  const forget = (id: string) =>
    setMoved(({ [id]: _, ...rest }) => {
      writeMoved(rest);
      return rest;
    });

  return (
    <div className="map">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        onNodesChange={onNodesChange}
        onNodeDragStop={onNodeDragStop}
        nodesFocusable={false}
        edgesFocusable={false}
        nodesConnectable={false}
        deleteKeyCode={null}
        onlyRenderVisibleElements
        fitView
        fitViewOptions={{ padding: 0.2, maxZoom: 1 }}
        minZoom={0.05}
        maxZoom={1.6}
      >
        <Background variant={BackgroundVariant.Dots} gap={22} size={1.4} />
        <Controls showInteractive={false} />
        <MiniMap pannable zoomable nodeClassName={statusClass} ariaLabel="Overview of the map" />
        <Panel position="top-right">
          <Button onClick={tidy} disabled={Object.keys(moved).length === 0}>
            Tidy up
          </Button>
        </Panel>
      </ReactFlow>
      {nesting && (
        <NestDialog
          {...nesting}
          onClose={() => {
            forget(nesting.child.id);
            setNesting(undefined);
          }}
        />
      )}
    </div>
  );
}

/** From afar only colour can be read, and a thousand nodes are in sight: they are drawn as plain blocks. */
const FAR_ZOOM = 0.3;
const isFar = (state: ReactFlowState) => state.transform[2] < FAR_ZOOM;

function WorkspaceCard({ data: { workspace } }: NodeProps<WorkspaceNode>) {
  const far = useStore(isFar);
  return (
    <div className="map-node" data-status={workspace.status} data-far={far || undefined}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <Link
        to={workspacePlace(workspace.id, homeTab(workspace))}
        className="map-node-link"
        label={far ? `${workspace.name}, ${STATUS_WORDS[workspace.status]}` : undefined}
      >
        {!far && <CardText workspace={workspace} />}
      </Link>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
}

function CardText({ workspace }: { workspace: Workspace }) {
  return (
    <>
      <span className="map-node-line">
        <span className="map-node-name">{workspace.name}</span>
        <span className="tag">{providerKind(workspace)}</span>
      </span>
      <StatusBadge status={workspace.status} />
      {workspace.reason && <span className="map-node-reason">{workspace.reason}</span>}
    </>
  );
}

function nodesOf(
  workspaces: readonly Workspace[],
  places: ReadonlyMap<string, Point>,
  moved: Record<string, Point>,
  shown: readonly WorkspaceNode[],
): WorkspaceNode[] {
  const before = new Map(shown.map((node) => [node.id, node]));
  return workspaces.map((workspace) => ({
    // What the library measured and selected stays; what we know replaces the rest.
    ...before.get(workspace.id),
    id: workspace.id,
    type: "workspace" as const,
    position: moved[workspace.id] ?? places.get(workspace.id) ?? { x: 0, y: 0 },
    data: { workspace },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
  }));
}

function edgesOf(workspaces: readonly Workspace[]): Edge[] {
  const known = new Set(workspaces.map((row) => row.id));
  return workspaces.flatMap(({ id, parent_id }) =>
    parent_id && known.has(parent_id)
      ? [{ id: `${parent_id}-${id}`, source: parent_id, target: id, type: "smoothstep", selectable: false }]
      : [],
  );
}

function holdsCentre(target: WorkspaceNode, node: WorkspaceNode): boolean {
  const x = node.position.x + NODE_WIDTH / 2 - target.position.x;
  const y = node.position.y + NODE_HEIGHT / 2 - target.position.y;
  return x > 0 && x < NODE_WIDTH && y > 0 && y < NODE_HEIGHT;
}

function statusClass(node: WorkspaceNode): string {
  return `map-mini map-mini-${node.data.workspace.status}`;
}
