// What a session is doing, as a dot and a word: never by colour alone.
import type { SessionStatus } from "../../api/types";
import { STATUS_WORD } from "./words";

const LOOKS: Record<SessionStatus, string> = {
  idle: "offline",
  running: "provisioning",
  suspended: "degraded",
  completed: "online",
  failed: "failed",
  interrupted: "paused",
};

export function SessionStatusBadge({ status }: { status: SessionStatus }) {
  const look = LOOKS[status] ?? "offline";
  return (
    <span className="badge" data-status={look} data-session-status={status}>
      <span className="dot" data-status={look} aria-hidden="true" />
      {STATUS_WORD[status] ?? status}
    </span>
  );
}
