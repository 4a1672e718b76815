// How workspaces are ordered and found, as plain functions over rows.
import type { Status, Workspace } from "../../api/types";

export interface Branch {
  workspace: Workspace;
  depth: number;
}

/** Children beneath their parents, siblings by name. A row whose parent is not shown stands as a root. */
export function asTree(rows: readonly Workspace[]): Branch[] {
  const known = new Set(rows.map((row) => row.id));
  const children = new Map<string, Workspace[]>();
  for (const row of rows) {
    const parent = row.parent_id && known.has(row.parent_id) ? row.parent_id : "";
    const siblings = children.get(parent);
    if (siblings) siblings.push(row);
    else children.set(parent, [row]);
  }
  const branches: Branch[] = [];
  const walk = (parent: string, depth: number) => {
    const siblings = children.get(parent) ?? [];
    // Each list is walked once: a cycle the server should have refused cannot hang the page.
    children.delete(parent);
    siblings.sort(byName);
    for (const workspace of siblings) {
      branches.push({ workspace, depth });
      walk(workspace.id, depth + 1);
    }
  };
  walk("", 0);
  return branches;
}

/** Every word of the search is found in the name, the status, the reason, the provider or the id. */
export function matches(row: Workspace, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [row.name, row.status.replace("_", " "), row.reason ?? "", providerKind(row), row.id]
    .join("\n")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

export function providerKind(row: Workspace): string {
  const kind = (row.provider as { kind?: unknown }).kind;
  return typeof kind === "string" ? kind : "unknown";
}

const ATTENTION: readonly Status[] = ["failed", "degraded", "offline"];

/** What somebody should look at, worst first. */
export function needingAttention(rows: readonly Workspace[]): Workspace[] {
  return rows
    .filter((row) => ATTENTION.includes(row.status))
    .sort((a, b) => ATTENTION.indexOf(a.status) - ATTENTION.indexOf(b.status) || byName(a, b));
}

export function countByStatus(rows: readonly Workspace[]): Map<Status, number> {
  const counts = new Map<Status, number>();
  for (const row of rows) counts.set(row.status, (counts.get(row.status) ?? 0) + 1);
  return counts;
}

function byName(a: Workspace, b: Workspace): number {
  return a.name.localeCompare(b.name, undefined, { numeric: true }) || a.id.localeCompare(b.id);
}
