// A workspace's status as a dot and a word: never by colour alone.
import type { Status } from "../api/types";

export const STATUS_WORDS: Record<Status, string> = {
  provisioning: "Provisioning",
  awaiting_agent: "Awaiting agent",
  online: "Online",
  degraded: "Degraded",
  offline: "Offline",
  failed: "Failed",
  paused: "Paused",
  hibernated: "Hibernated",
  removed: "Removed",
};

export function StatusDot({ status }: { status: Status }) {
  return <span className="dot" data-status={status} aria-hidden="true" />;
}

export function StatusBadge({ status }: { status: Status }) {
  return (
    <span className="badge" data-status={status}>
      <StatusDot status={status} />
      {STATUS_WORDS[status] ?? status}
    </span>
  );
}
