// Carries events into the query layer: gathers what became stale for a moment, then reads exactly that again.
import type { QueryClient } from "@tanstack/react-query";
import { answer, type Client } from "../../api/client";
import { keys } from "../../api/keys";
import { Problem } from "../../api/problem";
import type { WarrenEvent, Workspace } from "../../api/types";
import { Rereads } from "./rereads";
import { madeStale, nothingStale } from "./staleness";

const GATHER_MS = 80;
/** Past this many changed rows, one list is cheaper than many single reads. */
const SINGLE_READS = 4;

export class Refresher {
  private stale = nothingStale;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly rereads: Rereads;

  constructor(
    private readonly queries: QueryClient,
    private readonly api: Client,
  ) {
    this.rereads = new Rereads(queries);
  }

  take(event: WarrenEvent): void {
    this.stale = madeStale(this.stale, event);
    if (this.stale === nothingStale) return;
    this.timer ??= setTimeout(() => void this.flush(), GATHER_MS);
  }

  /** Everything that is shown is asked for again; resolves when the answers are there. */
  async all(): Promise<void> {
    // A stream may have ended because one may do something else now, or works elsewhere.
    void this.queries.invalidateQueries({ queryKey: keys.signIn });
    await this.queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== "sign-in" });
  }

  private async flush(): Promise<void> {
    const {
      workspaces,
      files,
      processes,
      chats,
      progress,
      schedules,
      sessions,
      toolRules,
      approvals,
      people,
    } = this.stale;
    this.stale = nothingStale;
    this.timer = undefined;
    for (const id of files) void this.queries.invalidateQueries({ queryKey: keys.files(id) });
    for (const id of processes) void this.queries.invalidateQueries({ queryKey: keys.processes(id) });
    for (const id of chats) this.rereads.again(keys.chat(id));
    for (const id of progress) this.rereads.again(keys.progress(id));
    for (const id of schedules) this.rereads.again(keys.schedules(id));
    for (const id of sessions) {
      this.rereads.again(keys.sessions(id));
      // A conversation gets its session with the first message.
      if (!chats.has(id)) this.rereads.again(keys.openConversations(id));
    }
    if (sessions.size > 0) this.rereads.again(keys.running);
    for (const id of toolRules) this.rereads.again(keys.toolRules(id));
    if (people) {
      this.rereads.again(keys.people);
      this.rereads.again(keys.signIn);
    }
    if (approvals) this.rereads.again(keys.approvals);
    for (const id of workspaces) void this.queries.invalidateQueries({ queryKey: keys.workspace(id) });
    if (workspaces.size > SINGLE_READS || this.queries.isFetching({ queryKey: keys.workspaces }) > 0) {
      await this.queries.invalidateQueries({ queryKey: keys.workspaces });
      return;
    }
    await Promise.all([...workspaces].map((id) => this.readRow(id)));
  }

  private async readRow(id: string): Promise<void> {
    try {
      const row = await answer(
        this.api.GET("/api/v1/workspaces/{id}", {
          params: { path: { id }, query: { include_removed: true } },
        }),
      );
      this.queries.setQueryData<Workspace[]>(keys.workspaces, (rows) => rows && withRow(rows, row));
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.code === "workspace_not_found") {
        this.queries.setQueryData<Workspace[]>(keys.workspaces, (rows) =>
          rows?.filter((row) => row.id !== id),
        );
        return;
      }
      // The list's own query shows what is wrong.
      await this.queries.invalidateQueries({ queryKey: keys.workspaces });
    }
  }
}

/** The list with one row put in its place. An older version never replaces a newer one. */
export function withRow(rows: readonly Workspace[], row: Workspace): Workspace[] {
  const known = rows.find((one) => one.id === row.id);
  if (known && known.version > row.version) return [...rows];
  if (row.status === "removed") return rows.filter((one) => one.id !== row.id);
  if (!known) return [...rows, row];
  return rows.map((one) => (one.id === row.id ? row : one));
}
