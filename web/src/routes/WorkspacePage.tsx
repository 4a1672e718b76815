import { lazy, Suspense, useEffect, useRef } from "react";
import { Problem } from "../api/problem";
import type { Workspace } from "../api/types";
import { Icon, type IconName } from "../components/Icon";
import { Loading, ProblemPanel, StaleNote } from "../components/States";
import { ChatTab } from "../features/chat/ChatTab";
import { RunTab } from "../features/commands/RunTab";
import { ActivityTab } from "../features/events/ActivityTab";
import { FilesTab } from "../features/files/FilesTab";
import { SchedulesTab } from "../features/schedules/SchedulesTab";
import { TerminalTab } from "../features/terminal/TerminalTab";
import { HealthTab } from "../features/workspaces/HealthTab";
import { homeTab } from "../features/workspaces/home";
import { JoinPanel } from "../features/workspaces/JoinPanel";
import { useWorkspace } from "../features/workspaces/queries";
import { WorkspaceHeader } from "../features/workspaces/WorkspaceHeader";
import {
  Link,
  useRouter,
  WORKSPACE_TABS,
  type WorkspacePlace,
  type WorkspaceTab,
  workspacePlace,
} from "./router";

const SessionsTab = lazy(() => import("../features/sessions/SessionsTab"));

const TABS: Record<WorkspaceTab, { word: string; icon: IconName }> = {
  chat: { word: "Chat", icon: "chat" },
  sessions: { word: "Sessions", icon: "session" },
  files: { word: "Files", icon: "folder" },
  run: { word: "Run", icon: "play" },
  terminal: { word: "Terminal", icon: "terminal" },
  schedules: { word: "Schedules", icon: "clock" },
  activity: { word: "Activity", icon: "activity" },
  health: { word: "Health", icon: "health" },
};

export function WorkspacePage({ place }: { place: WorkspacePlace }) {
  const { id } = place;
  const query = useWorkspace(id);
  const { navigate } = useRouter();
  const home = query.data && homeTab(query.data);
  const tab = place.tab ?? home;
  useEffect(() => {
    // Decided once: an agent that comes or goes must not take away what somebody looks at.
    if (!place.tab && home) navigate({ ...place, tab: home }, { replace: true });
  }, [place, home, navigate]);
  const tabs = useRef<HTMLElement>(null);
  const isThere = query.data !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: where they do not all fit, the one that is open is in sight
  useEffect(() => {
    const current = tabs.current?.querySelector<HTMLElement>("[aria-current]");
    if (tabs.current && current) {
      const { offsetLeft, offsetWidth } = current;
      tabs.current.scrollLeft = offsetLeft - (tabs.current.clientWidth - offsetWidth) / 2;
    }
  }, [tab, isThere]);
  if (query.isPending) return <Loading what="the workspace" />;
  const isGone = query.error instanceof Problem && query.error.status === 404;
  if (!query.data || isGone) {
    return (
      <div className="page">
        <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
        <p>
          <Link to={{ page: "overview" }}>Back to the overview</Link>
        </p>
      </div>
    );
  }
  return (
    <div className="page workspace">
      <StaleNote query={query} />
      <WorkspaceHeader workspace={query.data} />
      {/* Each tab is a place of its own with its own address, so these are links, not a tab widget. */}
      <nav ref={tabs} className="tabs" aria-label="Workspace">
        {WORKSPACE_TABS.map((one) => (
          <Link key={one} to={workspacePlace(id, one)} className="tab" isCurrent={one === tab}>
            <Icon name={TABS[one].icon} /> {TABS[one].word}
          </Link>
        ))}
      </nav>
      {(tab === "chat" || tab === "health") && <JoinPanel key={id} workspace={query.data} />}
      {tab && <TabContent workspace={query.data} place={place} tab={tab} />}
    </div>
  );
}

interface TabContentProps {
  workspace: Workspace;
  place: WorkspacePlace;
  tab: WorkspaceTab;
}

function TabContent({ workspace, place, tab }: TabContentProps) {
  switch (tab) {
    case "chat":
      return (
        <ChatTab
          key={workspace.id}
          workspace={workspace}
          conversation={place.conversation}
          sought={place.message}
        />
      );
    case "sessions":
      return (
        <Suspense fallback={<Loading what="sessions" />}>
          <SessionsTab key={workspace.id} workspace={workspace} session={place.session} view={place.view} />
        </Suspense>
      );
    case "files":
      return <FilesTab key={workspace.id} workspace={workspace} path={place.path} />;
    case "run":
      return <RunTab key={workspace.id} workspace={workspace} />;
    case "terminal":
      return <TerminalTab key={workspace.id} workspace={workspace} />;
    case "schedules":
      return <SchedulesTab key={workspace.id} workspace={workspace} />;
    case "activity":
      return <ActivityTab key={workspace.id} workspace={workspace} />;
    case "health":
      return <HealthTab key={workspace.id} workspace={workspace} />;
  }
}
