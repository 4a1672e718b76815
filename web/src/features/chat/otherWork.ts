// Work that reached a workspace by itself, from a schedule, another agent or a channel, as conversations of their own.
import type { ChatMessage, Task } from "../../api/types";
import { gist } from "./parts";

const TITLE_CHARS = 60;

/** What nobody wrote in a conversation: it is told nowhere else. */
export function cameByItself(task: Task, conversations: ReadonlySet<string>): boolean {
  return task.author.kind !== "user" && !conversations.has(task.context_id);
}

/** What was asked, in a line. */
export function titleOf(task: Task): string {
  const asked = task.history.find(({ role }) => role === "user") ?? task.history[0];
  return (asked && gist(asked.parts, TITLE_CHARS)) || "Without words";
}

/** What was said, in the order in which it was said: the request, what went to and fro, and what came of it. */
export function messagesOf(task: Task): ChatMessage[] {
  const agent = { kind: "workspace", id: task.workspace_id };
  const said = [...task.history];
  const last = task.status_message;
  if (last && !said.some(({ id }) => id === last.id)) said.push(last);
  const messages = said.map((one) => ({ id: one.id, role: one.role, parts: one.parts }));
  for (const artifact of task.artifacts) {
    messages.push({ id: `artifact-${artifact.id}`, role: "agent", parts: artifact.parts });
  }
  return messages
    .filter(({ parts }) => parts.length > 0)
    .map(({ id, role, parts }, at) => ({
      id,
      role,
      parts,
      author: role === "user" ? task.author : agent,
      conversation_id: task.context_id,
      workspace_id: task.workspace_id,
      task_id: task.id,
      created_at: at === 0 ? task.created_at : task.updated_at,
    })) as ChatMessage[];
}
