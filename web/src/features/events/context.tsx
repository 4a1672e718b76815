// The feed in the tree: started with the page, read by whoever shows something live.
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from "react";
import { useApi } from "../../api/context";
import { signedOut, useSignInState } from "../signIn/signIn";
import { Feed } from "./feed";
import { type FeedState, isStale } from "./feedState";
import { Refresher } from "./refresher";

const FeedContext = createContext<Feed | undefined>(undefined);

export function FeedProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const api = useApi();
  const isSignedIn = Boolean(useSignInState().data?.signIn);
  const [feed] = useState(() => {
    const refresher = new Refresher(queries, api);
    return new Feed({
      onEvent: (event) => refresher.take(event),
      onCaughtUp: () => refresher.all(),
      onSignedOut: () => signedOut(queries),
    });
  });
  useEffect(() => feed.start(), [feed]);
  useEffect(() => {
    // After signing in again the feed goes on where it was; before that, asking would be refused.
    if (isSignedIn) feed.tryNow();
  }, [feed, isSignedIn]);
  return <FeedContext value={feed}>{children}</FeedContext>;
}

export function useFeed(): Feed {
  const feed = useContext(FeedContext);
  if (!feed) throw new Error("useFeed needs a FeedProvider above it");
  return feed;
}

export function useFeedState(): FeedState {
  const feed = useFeed();
  return useSyncExternalStore(feed.subscribe, feed.snapshot);
}

export function useIsStale(): boolean {
  const feed = useFeed();
  return useSyncExternalStore(feed.subscribe, () => isStale(feed.snapshot()));
}
