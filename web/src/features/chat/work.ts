// What became of the work that a message asked for, in words.

import type { ChatMessage, QueuedMessage, Task, Workspace } from "../../api/types";
import { gist } from "./parts";

export interface Work {
  task: Task;
  word: string;
  /** What else there is to say. */
  note: string | undefined;
  tone: "good" | "bad" | "warn" | "busy" | "quiet";
  /** It goes on, and can be stopped. */
  isOpen: boolean;
  /** It came to nothing; the same said once more may not. */
  canBeSaidAgain?: boolean;
}

const REASON_CHARS = 200;

export function workOf(task: Task, waiting: readonly QueuedMessage[], status: Workspace["status"]): Work {
  switch (task.state) {
    case "submitted":
      return { task, word: "Queued", note: placeOf(task, waiting, status), tone: "busy", isOpen: true };
    case "working":
      return { task, word: "Working", note: undefined, tone: "busy", isOpen: true };
    case "input_required":
      return { task, word: "Waits for your answer", note: undefined, tone: "warn", isOpen: true };
    case "auth_required":
      return { task, word: "Waits to be let in", note: undefined, tone: "warn", isOpen: true };
    case "completed":
      return { task, word: "Answered", note: undefined, tone: "good", isOpen: false };
    case "failed":
      return { task, word: "Failed", note: reasonOf(task), tone: "bad", isOpen: false, canBeSaidAgain: true };
    case "rejected":
      return {
        task,
        word: "Refused",
        note: reasonOf(task),
        tone: "bad",
        isOpen: false,
        canBeSaidAgain: true,
      };
    case "cancelled":
      return { task, word: "Cancelled", note: undefined, tone: "quiet", isOpen: false, canBeSaidAgain: true };
  }
}

/** Why it came to nothing, in the words of whoever ended it. */
function reasonOf({ status_message: said }: Task): string | undefined {
  return said ? gist(said.parts, REASON_CHARS) || undefined : undefined;
}

/** Where in the queue it stands. The server takes turns between senders, so this is the order of now. */
function placeOf(
  task: Task,
  waiting: readonly QueuedMessage[],
  status: Workspace["status"],
): string | undefined {
  if (status === "hibernated") return "the workspace is being woken";
  if (status !== "online" && status !== "degraded") {
    return `the workspace is ${status.replaceAll("_", " ")}`;
  }
  const before = waiting.find((one) => one.task_id === task.id)?.position;
  if (before == null) return undefined;
  return before === 0 ? "next in line" : `${before} before it`;
}

/** Without its reason where that stands in the conversation already, as a message. */
export function saidOnce(work: Work, answered: ReadonlySet<string>): Work {
  return work.tone === "bad" && answered.has(work.task.id) ? { ...work, note: undefined } : work;
}

/** The message at which the state of each task is told: the last that asked something of it. */
export function askingMessages(messages: readonly ChatMessage[]): ReadonlyMap<string, string> {
  const asking = new Map<string, string>();
  for (const { id, role, task_id } of messages) {
    if (role === "user" && task_id) asking.set(task_id, id);
  }
  return asking;
}
