import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { Client } from "../api/client";
import { ApiProvider } from "../api/context";
import { isPassing, isSignedOut, type Problem } from "../api/problem";
import { NowProvider } from "../components/Ago";
import { ErrorBoundary } from "../components/ErrorBoundary";
import { NoticeProvider } from "../components/Notices";
import { Empty, Loading } from "../components/States";
import { RunLogsProvider } from "../features/commands/context";
import { FeedProvider } from "../features/events/context";
import { PeopleNamesProvider } from "../features/people/names";
import { MeProvider } from "../features/signIn/me";
import { SignInGate } from "../features/signIn/SignInGate";
import { signedOut } from "../features/signIn/signIn";
import { NamesProvider } from "../features/workspaces/names";
import { ApprovalsPage } from "./ApprovalsPage";
import { EventsPage } from "./EventsPage";
import { MapPage } from "./MapPage";
import { OverviewPage } from "./OverviewPage";
import { PeoplePage } from "./PeoplePage";
import { Link, RouterProvider, useRouter } from "./router";
import { Shell } from "./Shell";
import { WorkspacePage } from "./WorkspacePage";

const AuditPage = lazy(() => import("./AuditPage"));
const SettingsPage = lazy(() => import("./SettingsPage"));
const ApiPage = lazy(() => import("./ApiPage"));

const QUICK_RETRIES = 1;

/** The query layer. Freshness comes from events, so answers do not age by themselves. */
export function createQueries(): QueryClient {
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (isSignedOut(error)) signedOut(queries);
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 30_000,
        refetchOnWindowFocus: false,
        networkMode: "always",
        retry: (count, error) => isPassing(error) && count < QUICK_RETRIES,
        retryDelay: 300,
      },
      mutations: {
        networkMode: "always",
        onError: (error) => {
          if (isSignedOut(error)) signedOut(queries);
        },
      },
    },
  });
  return queries;
}

interface AppProps {
  client: Client;
  /** Of a sign-in link. */
  secret?: string | undefined;
  /** Of an invitation. */
  invitation?: string | undefined;
  /** Why a sign-in by the provider failed, just now. */
  failure?: Problem | undefined;
}

export function App({ client, secret, invitation, failure }: AppProps) {
  const [queries] = useState(createQueries);
  return (
    <ApiProvider client={client}>
      <QueryClientProvider client={queries}>
        <RouterProvider>
          <NowProvider>
            <NoticeProvider>
              <OpenToAll>
                <SignInGate secret={secret} invitation={invitation} failure={failure}>
                  <MeProvider>
                    <FeedProvider>
                      <PeopleNamesProvider>
                        <NamesProvider>
                          <RunLogsProvider>
                            <Shell>
                              <Boundary />
                            </Shell>
                          </RunLogsProvider>
                        </NamesProvider>
                      </PeopleNamesProvider>
                    </FeedProvider>
                  </MeProvider>
                </SignInGate>
              </OpenToAll>
            </NoticeProvider>
          </NowProvider>
        </RouterProvider>
      </QueryClientProvider>
    </ApiProvider>
  );
}

/** The description of the API holds no secret: it is there for whoever comes, signed in or not. */
function OpenToAll({ children }: { children: ReactNode }) {
  const { place } = useRouter();
  if (place.page !== "api") return children;
  return (
    <main id="main" className="api-alone">
      <Suspense fallback={<Loading what="the API" />}>
        <ApiPage />
      </Suspense>
    </main>
  );
}

/** Going elsewhere leaves what was broken behind. */
function Boundary() {
  const { place } = useRouter();
  return (
    <ErrorBoundary key={place.page === "workspace" ? `${place.id}/${place.tab}` : place.page}>
      <Suspense fallback={<Loading what="the page" />}>
        <CurrentPage />
      </Suspense>
    </ErrorBoundary>
  );
}

function CurrentPage() {
  const { place } = useRouter();
  switch (place.page) {
    case "overview":
      return <OverviewPage />;
    case "map":
      return <MapPage />;
    case "events":
      return <EventsPage />;
    case "approvals":
      return <ApprovalsPage />;
    case "people":
      return <PeoplePage />;
    case "audit":
      return <AuditPage />;
    case "settings":
      return <SettingsPage />;
    case "api":
      return <ApiPage />;
    case "workspace":
      return <WorkspacePage place={place} />;
    case "unknown":
      return (
        <Empty icon="search" title="There is no such page">
          <p>
            <code>{place.pathname}</code> leads nowhere.{" "}
            <Link to={{ page: "overview" }}>Go to the overview</Link>
          </p>
        </Empty>
      );
  }
}
