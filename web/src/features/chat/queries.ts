// Conversations, their messages and the work behind them, through the query layer.
import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer, type Client } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import { Problem } from "../../api/problem";
import type { ChatMessage, Conversation, MessagePart } from "../../api/types";
import { emptyThread, type Thread, withEarlier, withLater, withNewest, withPosted } from "./thread";

/** Conversations in the list; older ones are found by search. */
export const SHOWN_CONVERSATIONS = 100;
const FIRST_MESSAGES = 50;
const LATER_MESSAGES = 100;
/** Who was away for longer than this many pages starts again at the newest. */
const LATER_PAGES = 5;
const SHOWN_TASKS = 50;
const SHOWN_QUEUE = 100;
export const FOUND_MESSAGES = 50;

export function useConversations(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.conversations(id),
    queryFn: async () => {
      const query = { limit: SHOWN_CONVERSATIONS };
      const path = "/api/v1/workspaces/{id}/conversations";
      const page = await answer(api.GET(path, { params: { path: { id }, query } }));
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

/** One by itself: where it is too old for the list or not in it yet, and where its session is wanted. */
export function useConversation(id: string, conversation: string, isWanted: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: keys.conversation(id, conversation),
    enabled: isWanted,
    queryFn: () => {
      const route = "/api/v1/workspaces/{id}/conversations/{conversation}";
      return answer(api.GET(route, { params: { path: { id, conversation } } }));
    },
  });
}

export function useThread(id: string, conversation: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useQuery({
    queryKey: keys.thread(id, conversation),
    queryFn: () => readThread(api, queries, { id, conversation }),
  });
}

interface Where {
  id: string;
  conversation: string;
}

/** Reads what lies behind the last that is known. Posts may come in meanwhile, so each page is put into what is there then. */
async function readThread(api: Client, queries: QueryClient, where: Where): Promise<Thread> {
  const known = () => queries.getQueryData<Thread>(keys.thread(where.id, where.conversation)) ?? emptyThread;
  const later: ChatMessage[] = [];
  let cursor = known().readTo;
  for (let page = 0; cursor && page < LATER_PAGES; page += 1) {
    const next = await readMessages(api, where, { cursor, limit: LATER_MESSAGES });
    later.push(...next.items);
    if (!next.next_cursor) return withLater(known(), later);
    cursor = next.next_cursor;
  }
  const newest = await readMessages(api, where, { order: "newest", limit: FIRST_MESSAGES });
  return withNewest(known(), newest.items, newest.next_cursor != null);
}

function readMessages(api: Client, path: Where, query: { order?: "newest"; cursor?: string; limit: number }) {
  const route = "/api/v1/workspaces/{id}/conversations/{conversation}/messages";
  return answer(api.GET(route, { params: { path, query } }));
}

export function useEarlier(id: string, conversation: string) {
  const api = useApi();
  const queries = useQueryClient();
  const key = keys.thread(id, conversation);
  return useMutation({
    mutationFn: async () => {
      const cursor = queries.getQueryData<Thread>(key)?.messages[0]?.id;
      const page = await readMessages(
        api,
        { id, conversation },
        { order: "newest", cursor, limit: FIRST_MESSAGES },
      );
      queries.setQueryData<Thread>(
        key,
        (thread) => thread && withEarlier(thread, page.items, page.next_cursor != null),
      );
    },
  });
}

/** The work of a conversation, the youngest first. */
export function useTasks(id: string, conversation: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.tasks(id, conversation),
    queryFn: async () => {
      const query = { context_id: conversation, limit: SHOWN_TASKS };
      const page = await answer(
        api.GET("/api/v1/workspaces/{id}/tasks", { params: { path: { id }, query } }),
      );
      return page.items;
    },
  });
}

/** The youngest work of the workspace, whoever asked for it. */
export function useWork(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.work(id),
    queryFn: async () => {
      const query = { limit: SHOWN_TASKS };
      const page = await answer(
        api.GET("/api/v1/workspaces/{id}/tasks", { params: { path: { id }, query } }),
      );
      return page.items;
    },
  });
}

export function useTask(id: string, task: string) {
  const api = useApi();
  return useQuery({
    queryKey: [...keys.work(id), task],
    queryFn: () =>
      answer(api.GET("/api/v1/workspaces/{id}/tasks/{task}", { params: { path: { id, task } } })),
  });
}

/** What waits for the workspace; asked for only while something does. */
export function useWaiting(id: string, isWanted: boolean) {
  const api = useApi();
  return useQuery({
    queryKey: keys.queue(id),
    enabled: isWanted,
    queryFn: async () => {
      const query = { state: "queued" as const, limit: SHOWN_QUEUE };
      const page = await answer(
        api.GET("/api/v1/workspaces/{id}/queue", { params: { path: { id }, query } }),
      );
      return page.items;
    },
  });
}

export function useProgress(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.progress(id),
    queryFn: async () => {
      const feed = await answer(api.GET("/api/v1/workspaces/{id}/feed", { params: { path: { id } } }));
      return feed.lines;
    },
  });
}

export function useFound(id: string, words: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.found(id, words),
    enabled: words !== "",
    // What was found for other words stays until the answer comes: the list does not flicker while one types.
    placeholderData: (before) => before,
    queryFn: async () => {
      const query = { q: words, limit: FOUND_MESSAGES };
      const page = await answer(
        api.GET("/api/v1/workspaces/{id}/search", { params: { path: { id }, query } }),
      );
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

export interface Posting {
  /** Absent: it begins a conversation. */
  conversation: string | undefined;
  /** What a conversation that it begins is called. */
  title: string;
  /** Made by the page: the same again is the same message, however often it is sent. */
  messageId: string;
  /** As it was typed. */
  text: string;
  /** What it says; files are uploaded when this is asked for. */
  parts(): Promise<MessagePart[]>;
}

interface PostListener {
  /** Told before the message is sent: a second try must not begin a second conversation. */
  onBegun(conversation: string): void;
  /** Told also when nobody looks at the conversation any more. */
  onPosted(posting: Posting): void;
}

export function usePost(id: string, { onBegun, onPosted }: PostListener) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ conversation, title, messageId, parts }: Posting) => {
      // First of all: a message whose files cannot be taken begins no conversation.
      const said = await parts();
      let known = conversation;
      if (!known) {
        known = (await begin(api, id, title)).id;
        onBegun(known);
      }
      const posted = await answer(
        api.POST("/api/v1/workspaces/{id}/conversations/{conversation}/messages", {
          params: { path: { id, conversation: known } },
          body: { message: { id: messageId, parts: said } },
        }),
      );
      return { conversation: known, posted };
    },
    onSuccess: ({ conversation, posted }, posting) => {
      onPosted(posting);
      queries.setQueryData<Thread>(keys.thread(id, conversation), (thread) =>
        withPosted(thread ?? emptyThread, posted.message),
      );
      // A page that begins with the posted message has still to read what is around it.
      void queries.invalidateQueries({ queryKey: keys.chat(id) });
    },
  });
}

function begin(api: Client, id: string, title: string): Promise<Conversation> {
  const body = title ? { title } : {};
  return answer(api.POST("/api/v1/workspaces/{id}/conversations", { params: { path: { id } }, body }));
}

export function useCancelTask(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (task: string) =>
      answer(api.POST("/api/v1/workspaces/{id}/tasks/{task}/cancel", { params: { path: { id, task } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.chat(id) }),
  });
}

export function useRename(id: string, conversation: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (title: string) =>
      answer(
        api.PATCH("/api/v1/workspaces/{id}/conversations/{conversation}", {
          params: { path: { id, conversation } },
          body: { title },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.chat(id) }),
  });
}

export function useDeleteConversation(id: string, conversation: string, onDeleted: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const route = "/api/v1/workspaces/{id}/conversations/{conversation}";
      await api.DELETE(route, { params: { path: { id, conversation } } });
    },
    onSuccess: () => {
      onDeleted();
      queries.removeQueries({ queryKey: keys.thread(id, conversation) });
      return queries.invalidateQueries({ queryKey: keys.conversations(id) });
    },
  });
}

export function isGone(error: unknown): boolean {
  return error instanceof Problem && error.status === 404;
}
