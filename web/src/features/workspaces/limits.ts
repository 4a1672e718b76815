// What holds for a workspace, as a provider tells it, in rows that people read.
import { formatBytes, formatDuration } from "../../components/format";

const KNOWN: Record<string, string> = {
  background_output_bytes: "Output kept of a process",
  max_file_mb: "Largest file",
  max_grep_file_mb: "Largest file searched",
  max_output_bytes: "Output kept of a command",
  max_spill_bytes: "Output kept in a file",
  max_timeout_ms: "Longest command",
  pass_env: "Variables of the host",
  isolation: "Isolation",
  path_resolution: "How paths are followed",
  process_cleanup: "How processes end",
  "box.by": "Box by",
  "box.version": "Version",
  "box.capabilities": "Privileges",
  "box.network": "Network",
  "box.seccomp": "System calls filtered",
  "box.user_of_its_own": "A user of its own",
  "box.outer_user": "That user outside",
  "box.landlock_abi": "Landlock",
  "box.not_held": "Does not hold here",
  "box.remark": "Remark",
  "box.limits.cpu": "Processors",
  "box.limits.memory": "Memory",
  "box.limits.disk": "Files together",
  "box.limits.pids": "Processes",
  "box.limits.tmp": "Its /tmp",
};

export interface LimitRow {
  word: string;
  value: string;
  /** By what it is held. */
  note?: string;
}

/** Names the page does not know are shown as they are, with their values in words all the same. */
export function limitRows(limits: Record<string, unknown>, within = ""): LimitRow[] {
  return Object.entries(limits).flatMap(([name, value]): LimitRow[] => {
    const path = within + name;
    if (isObject(value)) {
      const { enforced_by, ...rest } = value;
      if (typeof enforced_by !== "string") return limitRows(value, `${path}.`);
      const shown = Object.entries(rest).map(([unit, amount]) => withUnit(unit, amount));
      return [{ word: wordOf(path), value: shown.join(", "), note: enforced_by }];
    }
    return [{ word: wordOf(path), value: withUnit(name, value) }];
  });
}

function wordOf(path: string): string {
  const known = KNOWN[path];
  if (known) return known;
  const words = (path.split(".").at(-1) ?? path).replace(/_(mb|ms|bytes|seconds)$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function withUnit(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(String).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === null || value === undefined) return "–";
  if (isObject(value)) return JSON.stringify(value);
  if (typeof value !== "number") return String(value);
  if (/(^|_)mb$/.test(name)) return formatBytes(value * 1_000_000);
  if (/(^|_)bytes$/.test(name)) return formatBytes(value);
  if (/(^|_)ms$/.test(name)) return formatDuration(value);
  if (/(^|_)seconds$/.test(name)) return formatDuration(value * 1_000);
  if (name === "files") return `${value.toLocaleString("en")} files`;
  return String(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
