// Events from before the page was opened, read in pages, as one list with what the live feed brought since.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answer, type Client } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import type { EventPage, WarrenEvent } from "../../api/types";
import { useFeedState } from "./context";
import { mergeNewestFirst } from "./feedState";

const PAGE_SIZE = 200;
/** A workspace's own events are sparse in the log, so they are read from its start, up to this many pages. */
const WORKSPACE_PAGES = 25;

/** The whole log, backwards: each page is the stretch of sequence numbers before the one already here. */
export function useEventLog() {
  const api = useApi();
  const { lastSeq, events: live } = useFeedState();
  // Where the history ends and the feed begins. Fixed by the first answer, so that pages keep their places.
  const head = live[0] ? live[0].seq - 1 : lastSeq;
  const history = useInfiniteQuery({
    queryKey: keys.history(undefined),
    enabled: head !== undefined,
    initialPageParam: undefined as number | undefined,
    queryFn: async ({ pageParam }) => {
      const end = pageParam ?? head ?? 0;
      const after = Math.max(0, end - PAGE_SIZE);
      const page = await readPage(api, { after, limit: PAGE_SIZE });
      return { after, items: page.items };
    },
    getNextPageParam: (last) => (last.after > 0 ? last.after : undefined),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const events = useMemo(
    () => mergeNewestFirst(live, ...(history.data?.pages.map((page) => page.items) ?? [])),
    [live, history.data],
  );
  return { history, isPending: head === undefined || history.isPending, events };
}

/** One workspace's events: its history once, and the live feed's share of it. */
export function useWorkspaceEvents(workspaceId: string) {
  const api = useApi();
  const { events: live } = useFeedState();
  const history = useQuery({
    queryKey: keys.history(workspaceId),
    queryFn: () => readWorkspaceHistory(api, workspaceId),
  });
  const events = useMemo(() => {
    const mine = live.filter((event) => event.workspace_id === workspaceId);
    return mergeNewestFirst(mine, history.data ?? []);
  }, [live, history.data, workspaceId]);
  return { history, events };
}

async function readWorkspaceHistory(api: Client, workspaceId: string): Promise<WarrenEvent[]> {
  const items: WarrenEvent[] = [];
  let after = 0;
  for (let count = 0; count < WORKSPACE_PAGES; count += 1) {
    const page = await readPage(api, { after, limit: PAGE_SIZE, workspace_id: workspaceId });
    items.push(...page.items);
    after = page.next_after;
    if (page.is_last) break;
  }
  return items;
}

/** The route answers by what is accepted; as JSON, that is a page rather than a stream. */
async function readPage(
  api: Client,
  query: { after: number; limit: number; workspace_id?: string },
): Promise<EventPage> {
  const headers = { accept: "application/json" };
  return (await answer(api.GET("/api/v1/events", { params: { query }, headers }))) as EventPage;
}
