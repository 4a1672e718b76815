// What an event makes stale, as data: the decision apart from the query layer that carries it out.
import type { WarrenEvent } from "../../api/types";

export interface Staleness {
  /** Workspaces whose row is to be read again. */
  workspaces: ReadonlySet<string>;
  /** Workspaces whose files are to be read again. */
  files: ReadonlySet<string>;
  /** Workspaces whose processes are to be listed again. */
  processes: ReadonlySet<string>;
  /** Workspaces whose conversations and work are to be read again. */
  chats: ReadonlySet<string>;
  /** Workspaces whose progress is to be read again. */
  progress: ReadonlySet<string>;
  /** Workspaces whose schedules are to be read again. */
  schedules: ReadonlySet<string>;
  /** Workspaces whose sessions are to be read again. */
  sessions: ReadonlySet<string>;
  /** Workspaces whose rules about tool calls are to be read again. */
  toolRules: ReadonlySet<string>;
  /** Whether questions to people are to be read again; they are one list for all workspaces. */
  approvals: boolean;
  /** Whether people, and who one is oneself, are to be read again. */
  people: boolean;
}

export const nothingStale: Staleness = {
  workspaces: new Set(),
  files: new Set(),
  processes: new Set(),
  chats: new Set(),
  progress: new Set(),
  schedules: new Set(),
  sessions: new Set(),
  toolRules: new Set(),
  approvals: false,
  people: false,
};

export function madeStale(stale: Staleness, event: WarrenEvent): Staleness {
  const id = event.workspace_id;
  if (event.kind.startsWith("identity.user.")) return { ...stale, people: true };
  if (!id) return stale;
  const also = (known: ReadonlySet<string>) => new Set(known).add(id);
  const progress = also(stale.progress);
  switch (event.kind) {
    case "workspace.file.changed":
      return { ...stale, files: also(stale.files), progress };
    case "workspace.command.finished":
      // A command may have written anything, and may have been one of the processes.
      return { ...stale, files: also(stale.files), processes: also(stale.processes), progress };
    case "workspace.process.started":
      return { ...stale, processes: also(stale.processes), progress };
    case "workspace.status.changed":
      // What could not be read while it was away can be read now, or the other way round.
      return {
        ...stale,
        workspaces: also(stale.workspaces),
        files: also(stale.files),
        processes: also(stale.processes),
      };
    case "workspace.tool.refused":
    case "exchange.task.progressed":
    case "exchange.delegation.changed":
    case "exchange.delegation.completed":
      return { ...stale, progress };
    case "exchange.task.submitted":
    case "exchange.task.changed":
    case "exchange.delivery.requeued":
      return { ...stale, chats: also(stale.chats), progress };
    case "chat.conversation.created":
    case "chat.conversation.changed":
    case "chat.conversation.removed":
    case "chat.message.posted":
      return { ...stale, chats: also(stale.chats) };
    case "exchange.approval.requested":
    case "exchange.approval.decided":
      // A question may be about a call of a session, which waits for the answer.
      return { ...stale, approvals: true, sessions: also(stale.sessions), progress };
    case "agent.session.changed":
      return { ...stale, sessions: also(stale.sessions) };
    case "agent.tool_rule.created":
    case "agent.tool_rule.revoked":
      return { ...stale, toolRules: also(stale.toolRules) };
    case "exchange.schedule.changed":
    case "exchange.schedule.fired":
    case "exchange.schedule.skipped":
    case "exchange.schedule.failed":
      return { ...stale, schedules: also(stale.schedules) };
    default:
      // A kind this page does not know yet may concern the row; reading it once more does no harm.
      return { ...stale, workspaces: also(stale.workspaces) };
  }
}
