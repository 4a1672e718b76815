// Who works on what, of all workspaces, as rows.
import type { Session, Workspace } from "../../api/types";

export interface WorkRow {
  key: string;
  workspaceId: string;
  workspace: string;
  /** By name, where it is one. */
  session: string | undefined;
  who: string;
  what: string;
  state: string;
  since: string | undefined;
  spent: string;
}

const MICROS = 1_000_000;

/** Sessions first, those that wait for somebody on top; then programs that say that they have work. */
export function atWork(workspaces: readonly Workspace[], sessions: readonly Session[]): WorkRow[] {
  const names = new Map(workspaces.map(({ id, name }) => [id, name]));
  const waits = (one: Session) => Number(one.status !== "suspended");
  const ofSessions = [...sessions]
    .sort((a, b) => waits(a) - waits(b) || b.updated_at.localeCompare(a.updated_at))
    .map(
      (one): WorkRow => ({
        key: one.id,
        workspaceId: one.workspace_id,
        workspace: names.get(one.workspace_id) ?? `workspace ${one.workspace_id.slice(-6)}`,
        session: one.name,
        who: one.agent,
        what: one.title || one.name,
        state: one.status === "suspended" ? `waits for ${waitsFor(one)}` : one.status,
        since: one.updated_at,
        spent: moneyOf(one.total_usage.cost_micros),
      }),
    );
  const ofPrograms = workspaces
    .filter(({ vitals }) => vitals && vitals.active_tasks > 0)
    .map(
      ({ id, name, vitals, role }): WorkRow => ({
        key: id,
        workspaceId: id,
        workspace: name,
        session: undefined,
        who: role ?? "its agent",
        what:
          vitals?.current_task ?? (vitals?.active_tasks === 1 ? "1 task" : `${vitals?.active_tasks} tasks`),
        state: "working",
        since: vitals?.last_task_at ?? vitals?.last_progress_at ?? undefined,
        spent: "–",
      }),
    );
  return [...ofSessions, ...ofPrograms];
}

function waitsFor({ suspension }: Session): string {
  const by = (suspension as { by?: string } | null | undefined)?.by;
  return by === "approval" ? "an approval" : (by?.replaceAll("_", " ") ?? "somebody");
}

function moneyOf(micros: number): string {
  return micros === 0 ? "–" : (micros / MICROS).toFixed(micros < 10_000 ? 4 : 2);
}
