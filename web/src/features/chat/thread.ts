// What is shown of one conversation, as data. Messages never change and are put under their id, so that the answer
// to a post, a live event and a reload all lead to the same list.
import type { ChatMessage } from "../../api/types";

export interface Thread {
  /** By id, which is the order in which they were said. */
  messages: readonly ChatMessage[];
  /** Read without a gap up to this id; absent: nothing was read yet. Posted ones may lie behind it. */
  readTo: string | undefined;
  /** There are older ones than the first here. */
  hasEarlier: boolean;
}

export const emptyThread: Thread = { messages: [], readTo: undefined, hasEarlier: false };

/** The messages with others put in their places; one that is there already stays once. */
export function upsert(
  messages: readonly ChatMessage[],
  others: readonly ChatMessage[],
): readonly ChatMessage[] {
  const known = new Set(messages.map(({ id }) => id));
  const fresh = others.filter(({ id }) => !known.has(id) && known.add(id));
  return fresh.length === 0 ? messages : [...messages, ...fresh].sort(byId);
}

/** The newest page, read when nothing was. What lies before a gap is left out: it can be read as earlier ones. */
export function withNewest(thread: Thread, page: readonly ChatMessage[], hasEarlier: boolean): Thread {
  const ordered = [...page].sort(byId);
  const first = ordered[0]?.id ?? "";
  const known = hasEarlier ? thread.messages.filter(({ id }) => id >= first) : thread.messages;
  return { messages: upsert(known, ordered), readTo: ordered.at(-1)?.id, hasEarlier };
}

/** The next page after `readTo`. */
export function withLater(thread: Thread, page: readonly ChatMessage[]): Thread {
  const readTo = [thread.readTo, ...page.map(({ id }) => id)].reduce(later);
  return { ...thread, messages: upsert(thread.messages, page), readTo };
}

/** The page before the first one. */
export function withEarlier(thread: Thread, page: readonly ChatMessage[], hasEarlier: boolean): Thread {
  return { ...thread, messages: upsert(thread.messages, page), hasEarlier };
}

/** One that was just posted. Others may have been said before it and not be read yet, so `readTo` stays. */
export function withPosted(thread: Thread, message: ChatMessage): Thread {
  return { ...thread, messages: upsert(thread.messages, [message]) };
}

function byId(one: ChatMessage, other: ChatMessage): number {
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

function later(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one > other ? one : other;
}
