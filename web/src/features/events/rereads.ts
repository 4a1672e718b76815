// Reads again what is shown: one reading at a time for each key, and one more for whatever came meanwhile. A flood of
// events thus costs as many readings as the server can answer, and the last one always begins after the last event.
import type { QueryClient, QueryKey } from "@tanstack/react-query";

export class Rereads {
  /** Keys that are being read; true: to be read once more. */
  private readonly running = new Map<string, boolean>();

  constructor(private readonly queries: QueryClient) {}

  again(queryKey: QueryKey): void {
    const name = JSON.stringify(queryKey);
    const isRunning = this.running.has(name);
    this.running.set(name, isRunning);
    if (!isRunning) void this.run(queryKey, name);
  }

  private async run(queryKey: QueryKey, name: string): Promise<void> {
    do {
      // A first reading is never cut short, and it may have begun before the event: it does not count.
      const active = this.queries.getQueryCache().findAll({ queryKey, type: "active" });
      const hasFirst = active.some(
        ({ state }) => state.data === undefined && state.fetchStatus === "fetching",
      );
      this.running.set(name, hasFirst);
      await this.queries.invalidateQueries({ queryKey });
    } while (this.running.get(name));
    this.running.delete(name);
  }
}
