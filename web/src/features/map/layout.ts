// Where each workspace stands on the map, as plain geometry: a parent above the block of its children, blocks
// packed into shelves, so that a thousand roots make a rectangle rather than a line.
import type { Workspace } from "../../api/types";

export interface Point {
  x: number;
  y: number;
}

export const NODE_WIDTH = 216;
export const NODE_HEIGHT = 88;
const GAP_X = 28;
const GAP_Y = 56;

interface Block {
  width: number;
  height: number;
  places: Map<string, Point>;
}

export function layout(rows: readonly Workspace[]): Map<string, Point> {
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
    return stand(id, shelves(below.map(block)));
  };
  const roots = children.get("") ?? [];
  children.delete("");
  return shelves(roots.map(block)).places;
}

/** A node centred above the block of its children. */
function stand(id: string, below: Block): Block {
  const width = Math.max(NODE_WIDTH, below.width);
  const places = new Map<string, Point>([[id, { x: (width - NODE_WIDTH) / 2, y: 0 }]]);
  const dx = (width - below.width) / 2;
  const dy = NODE_HEIGHT + GAP_Y;
  for (const [child, { x, y }] of below.places) places.set(child, { x: x + dx, y: y + dy });
  return { width, height: below.height === 0 ? NODE_HEIGHT : dy + below.height, places };
}

/** Blocks side by side, in rows about as wide as a screen is to its height. */
function shelves(blocks: readonly Block[]): Block {
  const area = blocks.reduce((sum, one) => sum + (one.width + GAP_X) * (one.height + GAP_Y), 0);
  const widest = Math.max(4 * (NODE_WIDTH + GAP_X), Math.sqrt(area) * 1.5);
  const places = new Map<string, Point>();
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
    for (const [id, point] of one.places) places.set(id, { x: x + point.x, y: y + point.y });
    width = Math.max(width, x + one.width);
    rowHeight = Math.max(rowHeight, one.height);
    x += one.width + GAP_X;
  }
  return { width, height: blocks.length === 0 ? 0 : y + rowHeight, places };
}
