// What an event makes stale, as data: the decision apart from the query layer that carries it out.
import type { WarrenEvent } from "../../api/types";

export interface Staleness {
  /** Workspaces whose row is to be read again. */
  workspaces: ReadonlySet<string>;
  /** Workspaces whose files are to be read again. */
  files: ReadonlySet<string>;
  /** Workspaces whose processes are to be listed again. */
  processes: ReadonlySet<string>;
}

export const nothingStale: Staleness = {
  workspaces: new Set(),
  files: new Set(),
  processes: new Set(),
};

export function madeStale(stale: Staleness, event: WarrenEvent): Staleness {
  const id = event.workspace_id;
  if (!id) return stale;
  switch (event.kind) {
    case "workspace.file.changed":
      return { ...stale, files: new Set(stale.files).add(id) };
    case "workspace.command.finished":
      // A command may have written anything, and may have been one of the processes.
      return {
        ...stale,
        files: new Set(stale.files).add(id),
        processes: new Set(stale.processes).add(id),
      };
    case "workspace.process.started":
      return { ...stale, processes: new Set(stale.processes).add(id) };
    case "workspace.status.changed":
      // What could not be read while it was away can be read now, or the other way round.
      return {
        workspaces: new Set(stale.workspaces).add(id),
        files: new Set(stale.files).add(id),
        processes: new Set(stale.processes).add(id),
      };
    case "workspace.tool.refused":
      return stale;
    default:
      // A kind this page does not know yet may concern the row; reading it once more does no harm.
      return { ...stale, workspaces: new Set(stale.workspaces).add(id) };
  }
}
