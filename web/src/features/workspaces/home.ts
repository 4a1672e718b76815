// Where a workspace opens.
import type { Workspace } from "../../api/types";
import type { WorkspaceTab } from "../../routes/router";

/** Whether messages to it are answered: a hosted one has to name a stored agent or a model. */
export function hasAgent({ runtime, agent }: Pick<Workspace, "runtime" | "agent">): boolean {
  if (runtime !== "hosted") return true;
  const { name, model } = (agent ?? {}) as { name?: string | null; model?: string | null };
  return Boolean(name || model);
}

/** One that has an agent, or waits for one, is there to be talked to; the others are files and commands. */
export function homeTab(workspace: Pick<Workspace, "runtime" | "agent">): WorkspaceTab {
  return hasAgent(workspace) ? "chat" : "files";
}

/** The tab to go on with in another workspace: the one that somebody chose, not the one that was there by itself. */
export function chosenTab(
  tab: WorkspaceTab | undefined,
  workspace: Pick<Workspace, "runtime" | "agent"> | undefined,
): WorkspaceTab | undefined {
  return workspace && tab === homeTab(workspace) ? undefined : tab;
}
