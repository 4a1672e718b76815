// The workspaces as a map. Loaded on demand: the library that draws it is as large as the rest of the page.
import "@xyflow/react/dist/style.css";
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  BaseEdge,
  Controls,
  type Edge,
  type EdgeProps,
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
import { matches, providerKind } from "../workspaces/order";
import { layout, linePath, NODE_HEIGHT, NODE_WIDTH, type Point, type Spot } from "./layout";
import { readMoved, writeMoved } from "./moved";
import { NestDialog } from "./NestDialog";

interface CardData extends Record<string, unknown> {
  workspace: Workspace;
  /** How many stand directly below it. */
  below: number;
  /** It is not what is looked for. */
  isDim: boolean;
}
type WorkspaceNode = Node<CardData, "workspace">;
type LineEdge = Edge<{ entry: Spot["entry"] }, "line">;

const nodeTypes = { workspace: memo(WorkspaceCard) };
const edgeTypes = { line: Line };

export default function WorkspaceMap({ workspaces }: { workspaces: readonly Workspace[] }) {
  const [moved, setMoved] = useState(readMoved);
  const [nodes, setNodes] = useState<WorkspaceNode[]>([]);
  const [nesting, setNesting] = useState<{ child: Workspace; parent: Workspace }>();
  const mayWrite = useMay("workspaces:write");
  const [sought, setSought] = useState("");
  const places = useMemo(() => layout(workspaces), [workspaces]);
  const edges = useMemo(() => edgesOf(workspaces, places, moved), [workspaces, places, moved]);
  const found = useMemo(
    () => (sought.trim() ? workspaces.filter((one) => matches(one, sought)).length : undefined),
    [workspaces, sought],
  );

  useEffect(() => {
    setNodes((shown) => nodesOf(workspaces, places, moved, sought.trim(), shown));
  }, [workspaces, places, moved, sought]);

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
        edgeTypes={edgeTypes}
        onNodesChange={onNodesChange}
        onNodeDragStop={onNodeDragStop}
        nodesFocusable={false}
        edgesFocusable={false}
        nodesConnectable={false}
        deleteKeyCode={null}
        onlyRenderVisibleElements
        fitView
        fitViewOptions={{ padding: 0.08, maxZoom: 1 }}
        minZoom={0.05}
        maxZoom={1.6}
      >
        <Background variant={BackgroundVariant.Dots} gap={22} size={1.4} />
        <Controls showInteractive={false} />
        <MiniMap pannable zoomable nodeClassName={statusClass} ariaLabel="Overview of the map" />
        <Panel position="top-left" className="map-find">
          <input
            type="search"
            aria-label="Find on the map"
            placeholder="Find on the map"
            value={sought}
            onChange={(event) => setSought(event.target.value)}
          />
          <span role="status" className="hint">
            {found !== undefined && `${found} found`}
          </span>
        </Panel>
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

/** From afar there is room for less: first for the name alone, in large letters, then for those of teams. */
type Distance = "near" | "middle" | "far" | "farthest";
const distanceOf = ({ transform: [, , zoom] }: ReactFlowState): Distance => {
  if (zoom >= 0.6) return "near";
  if (zoom >= 0.3) return "middle";
  return zoom >= 0.13 ? "far" : "farthest";
};

function WorkspaceCard({ data: { workspace, below, isDim } }: NodeProps<WorkspaceNode>) {
  const distance = useStore(distanceOf);
  return (
    <div
      className="map-node"
      data-status={workspace.status}
      data-distance={distance}
      data-team={below > 0 || undefined}
      data-dim={isDim || undefined}
    >
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <Handle id="side" type="target" position={Position.Left} isConnectable={false} />
      <Link
        to={workspacePlace(workspace.id, homeTab(workspace))}
        className="map-node-link"
        label={distance === "near" ? undefined : `${workspace.name}, ${STATUS_WORDS[workspace.status]}`}
      >
        {distance === "near" ? (
          <CardText workspace={workspace} below={below} />
        ) : (
          (distance !== "farthest" || below > 0) && <span className="map-node-name">{workspace.name}</span>
        )}
      </Link>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
}

function Line({ id, sourceX, sourceY, targetX, targetY, data }: EdgeProps<LineEdge>) {
  const path = linePath({ x: sourceX, y: sourceY }, { x: targetX, y: targetY }, data?.entry ?? "top");
  return <BaseEdge id={id} path={path} />;
}

function CardText({ workspace, below }: { workspace: Workspace; below: number }) {
  const { vitals, role, reason } = workspace;
  const doing = vitals?.current_task ?? (vitals?.active_tasks ? "at work" : undefined);
  const line = reason ?? doing ?? role ?? (below > 0 ? `${below} below it` : undefined);
  return (
    <>
      <span className="map-node-line">
        <span className="map-node-name">{workspace.name}</span>
        <span className="tag">{providerKind(workspace)}</span>
      </span>
      <StatusBadge status={workspace.status} />
      {line && <span className="map-node-reason">{line}</span>}
    </>
  );
}

function nodesOf(
  workspaces: readonly Workspace[],
  places: ReadonlyMap<string, Spot>,
  moved: Record<string, Point>,
  sought: string,
  shown: readonly WorkspaceNode[],
): WorkspaceNode[] {
  const below = new Map<string, number>();
  for (const { parent_id } of workspaces) {
    if (parent_id) below.set(parent_id, (below.get(parent_id) ?? 0) + 1);
  }
  const before = new Map(shown.map((node) => [node.id, node]));
  return workspaces.map((workspace) => ({
    // What the library measured and selected stays; what we know replaces the rest.
    ...before.get(workspace.id),
    id: workspace.id,
    type: "workspace" as const,
    position: moved[workspace.id] ?? pointOf(places.get(workspace.id)),
    data: {
      workspace,
      below: below.get(workspace.id) ?? 0,
      isDim: sought !== "" && !matches(workspace, sought),
    },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
  }));
}

function edgesOf(
  workspaces: readonly Workspace[],
  places: ReadonlyMap<string, Spot>,
  moved: Record<string, Point>,
): LineEdge[] {
  const known = new Set(workspaces.map((row) => row.id));
  return workspaces.flatMap(({ id, parent_id }) => {
    if (!parent_id || !known.has(parent_id)) return [];
    // What somebody put elsewhere is reached from above, wherever that is.
    const entry = moved[id] ? "top" : (places.get(id)?.entry ?? "top");
    return [
      {
        id: `${parent_id}-${id}`,
        source: parent_id,
        target: id,
        targetHandle: entry === "side" ? "side" : null,
        type: "line" as const,
        data: { entry },
        selectable: false,
      },
    ];
  });
}

function pointOf(spot: Spot | undefined): Point {
  return { x: spot?.x ?? 0, y: spot?.y ?? 0 };
}

function holdsCentre(target: WorkspaceNode, node: WorkspaceNode): boolean {
  const x = node.position.x + NODE_WIDTH / 2 - target.position.x;
  const y = node.position.y + NODE_HEIGHT / 2 - target.position.y;
  return x > 0 && x < NODE_WIDTH && y > 0 && y < NODE_HEIGHT;
}

function statusClass(node: WorkspaceNode): string {
  return `map-mini map-mini-${node.data.workspace.status}`;
}
