// Schedules and their runs, in words.
import type { Schedule, ScheduleRun } from "../../api/types";
import { formatMoment } from "../../components/format";

export function timesOf({ cron, time_zone, every_seconds }: Schedule): string {
  if (cron != null) return `${cron} (${time_zone ?? "UTC"})`;
  return `every ${spanOf(every_seconds ?? 0)}`;
}

function spanOf(seconds: number): string {
  const units: [number, string][] = [
    [86_400, "day"],
    [3_600, "hour"],
    [60, "minute"],
    [1, "second"],
  ];
  const [size, word] = units.find(([unit]) => seconds >= unit && seconds % unit === 0) ?? [1, "second"];
  const count = seconds / size;
  return count === 1 ? word : `${count} ${word}s`;
}

export function runOf(run: ScheduleRun): string {
  const reason = run.reason ? `: ${run.reason.replaceAll("_", " ")}` : "";
  switch (run.state) {
    case "claimed":
      return "is being sent";
    case "waiting":
      return `waits${reason}`;
    case "fired":
      return run.cause === "manual" ? "was sent, since somebody asked" : "was sent";
    case "skipped":
      return `${run.slots > 1 ? `${run.slots} slots were` : "was"} skipped${reason}`;
    case "failed":
      return `could not be sent${reason}`;
  }
}

export function nextOf({ is_paused, next_at, problem }: Schedule): string {
  if (problem != null) return "Broken";
  if (is_paused) return "Paused";
  return next_at ? `Next at ${formatMoment(next_at)}` : "Fires no more";
}
