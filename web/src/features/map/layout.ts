// Where each workspace stands on the map, as plain geometry. What hangs below one stands side by side in one row, so that no
// line runs behind somebody else's node; many leaves stand in columns, with their lines in the gap beside them; and
// what has no parent is packed into shelves, so that a thousand roots make a rectangle rather than a line.
import type { Workspace } from "../../api/types";

export interface Point {
  x: number;
  y: number;
}

/** Where a node is, and where the line from its parent comes in. */
export interface Spot extends Point {
  entry: "top" | "side";
}

export const NODE_WIDTH = 216;
export const NODE_HEIGHT = 88;
export const GAP_X = 28;
export const GAP_Y = 56;
/** Between leaves of a column. */
const GAP_LEAF = 20;
/** So many leaves stand side by side; more stand in columns. */
const ROW_LEAVES = 4;

interface Block {
  width: number;
  height: number;
  /** Whether it is one node with nothing below. */
  isLeaf: boolean;
  places: Map<string, Spot>;
}

export function layout(rows: readonly Workspace[]): Map<string, Spot> {
  const known = new Set(rows.map((row) => row.id));
  const children = new Map<string, string[]>();
  for (const row of rows) {
    const parent = row.parent_id && known.has(row.parent_id) ? row.parent_id : "";
    const siblings = children.get(parent);
    if (siblings) siblings.push(row.id);
    else children.set(parent, [row.id]);
  }
  const block = (id: string): Block => {
    const below = children.get(id) ?? [];
    // Each list is used once, so that a cycle cannot recurse for ever.
    children.delete(id);
    return stand(id, beneath(below.map(block)));
  };
  const roots = children.get("") ?? [];
  children.delete("");
  const blocks = roots.map(block);
  // Teams first, and below them those who stand alone.
  const teams = shelves(blocks.filter(({ isLeaf }) => !isLeaf));
  const widest = Math.max(teams.width, 4 * (NODE_WIDTH + GAP_X));
  const alone = shelves(
    blocks.filter(({ isLeaf }) => isLeaf),
    teams.height > 0 ? widest : undefined,
  );
  const down = teams.height > 0 ? teams.height + GAP_Y : 0;
  for (const [id, spot] of alone.places) teams.places.set(id, { ...spot, y: spot.y + down });
  return teams.places;
}

/** A node centred above the block of its children. */
function stand(id: string, below: Block): Block {
  const width = Math.max(NODE_WIDTH, below.width);
  const spot: Spot = { x: (width - NODE_WIDTH) / 2, y: 0, entry: "top" };
  const places = new Map<string, Spot>([[id, spot]]);
  const dx = (width - below.width) / 2;
  const dy = NODE_HEIGHT + GAP_Y;
  for (const [child, { x, y, entry }] of below.places) places.set(child, { x: x + dx, y: y + dy, entry });
  const isLeaf = below.height === 0;
  return { width, height: isLeaf ? NODE_HEIGHT : dy + below.height, isLeaf, places };
}

/** Children in one row: each with what it has below; then leaves, in columns where there are many. */
function beneath(blocks: readonly Block[]): Block {
  const leaves = blocks.filter(({ isLeaf }) => isLeaf);
  if (leaves.length <= ROW_LEAVES) return row(blocks);
  return row([...blocks.filter(({ isLeaf }) => !isLeaf), columns(leaves)]);
}

function row(blocks: readonly Block[]): Block {
  const places = new Map<string, Spot>();
  let x = 0;
  for (const one of blocks) {
    for (const [id, spot] of one.places) places.set(id, { ...spot, x: x + spot.x });
    x += one.width + GAP_X;
  }
  const height = Math.max(0, ...blocks.map((one) => one.height));
  return { width: Math.max(0, x - GAP_X), height, isLeaf: false, places };
}

/** Leaves below each other, in about as many columns as make a rectangle of a screen's shape. */
function columns(leaves: readonly Block[]): Block {
  const stepX = NODE_WIDTH + 2 * GAP_X;
  const stepY = NODE_HEIGHT + GAP_LEAF;
  const perColumn = Math.max(ROW_LEAVES, Math.ceil(Math.sqrt((leaves.length * stepX) / stepY / 1.4)));
  const places = new Map<string, Spot>();
  leaves.forEach(({ places: own }, at) => {
    const x = GAP_X + Math.floor(at / perColumn) * stepX;
    const y = (at % perColumn) * stepY;
    for (const id of own.keys()) places.set(id, { x, y, entry: "side" });
  });
  const count = Math.ceil(leaves.length / perColumn);
  const height = Math.min(perColumn, leaves.length) * stepY - GAP_LEAF;
  return { width: GAP_X + count * stepX - 2 * GAP_X, height, isLeaf: false, places };
}

/** Blocks side by side, in rows about as wide as a screen is to its height. No line leads from one to another. */
function shelves(blocks: readonly Block[], asWideAs?: number): Block {
  const area = blocks.reduce((sum, one) => sum + (one.width + GAP_X) * (one.height + GAP_Y), 0);
  const broad = blocks.reduce((most, one) => Math.max(most, one.width), Math.sqrt(area) * 1.5);
  const widest = asWideAs ?? Math.max(4 * (NODE_WIDTH + GAP_X), broad);
  const places = new Map<string, Spot>();
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  let width = 0;
  for (const one of blocks) {
    if (x > 0 && x + one.width > widest) {
      x = 0;
      y += rowHeight + GAP_Y;
      rowHeight = 0;
    }
    for (const [id, spot] of one.places) places.set(id, { ...spot, x: x + spot.x, y: y + spot.y });
    width = Math.max(width, x + one.width);
    rowHeight = Math.max(rowHeight, one.height);
    x += one.width + GAP_X;
  }
  return { width, height: blocks.length === 0 ? 0 : y + rowHeight, isLeaf: false, places };
}

/** The line from a parent to a child: along the gap below the parent, then to its top, or down beside it to its side. */
export function linePath(from: Point, to: Point, entry: Spot["entry"]): string {
  const turn = from.y + (entry === "side" ? GAP_Y / 2 : Math.max(GAP_Y / 2, (to.y - from.y) / 2));
  if (entry === "top") return `M ${from.x} ${from.y} V ${turn} H ${to.x} V ${to.y}`;
  return `M ${from.x} ${from.y} V ${turn} H ${to.x - GAP_X / 2} V ${to.y} H ${to.x}`;
}
