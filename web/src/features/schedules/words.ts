// Schedules and their runs, in words.
import type { CreateSchedule, Schedule, ScheduleRun } from "../../api/types";
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

/** What the form has: a number with a unit, or a cron line with its zone. */
export interface TimesForm {
  way: "every" | "cron";
  count: string;
  unit: string;
  cron: string;
  zone: string;
}

export type Times = Pick<CreateSchedule, "cron" | "every_seconds" | "time_zone">;

export const UNITS: readonly [string, number][] = [
  ["minutes", 60],
  ["hours", 3_600],
  ["days", 86_400],
];

/** As the server takes it; nothing while what is typed means nothing. */
export function timesFrom({ way, count, unit, cron, zone }: TimesForm): Times | undefined {
  if (way === "cron") {
    const line = cron.trim();
    return line ? { cron: line, time_zone: zone.trim() || "UTC" } : undefined;
  }
  const size = UNITS.find(([word]) => word === unit)?.[1] ?? 60;
  const seconds = Number(count) * size;
  return Number.isInteger(seconds) && seconds > 0 ? { every_seconds: seconds } : undefined;
}

export function formOf(schedule: Schedule | undefined): TimesForm {
  const zone = schedule?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
  const seconds = schedule?.every_seconds ?? 3_600;
  const [unit, size] = [...UNITS].reverse().find(([, size]) => seconds % size === 0) ?? ["minutes", 60];
  return {
    way: schedule?.cron != null ? "cron" : "every",
    count: String(seconds / size),
    unit,
    cron: schedule?.cron ?? "0 9 * * 1-5",
    zone,
  };
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
