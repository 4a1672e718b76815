// Where a workspace opens.
import type { Workspace } from "../../api/types";
import type { WorkspaceTab } from "../../routes/router";

/** One that has an agent, or waits for one, is there to be talked to; the others are files and commands. */
export function homeTab(workspace: Pick<Workspace, "runtime" | "agent">): WorkspaceTab {
  return workspace.runtime !== "hosted" || workspace.agent ? "chat" : "files";
}

/** The tab to go on with in another workspace: the one that somebody chose, not the one that was there by itself. */
export function chosenTab(
  tab: WorkspaceTab | undefined,
  workspace: Pick<Workspace, "runtime" | "agent"> | undefined,
): WorkspaceTab | undefined {
  return workspace && tab === homeTab(workspace) ? undefined : tab;
}
