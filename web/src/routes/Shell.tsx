// The frame around every page: navigation, the live list, and the banner that says when things are stale.
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Icon, type IconName, Mark } from "../components/Icon";
import { ThemeButton } from "../components/theme";
import { usePendingApprovals } from "../features/approvals/queries";
import { ConnectionBanner } from "../features/events/ConnectionBanner";
import { useFeedState, useIsStale } from "../features/events/context";
import { WhoAmI } from "../features/people/WhoAmI";
import { CreateButton } from "../features/workspaces/CreateButton";
import { useWorkspaceName } from "../features/workspaces/names";
import { WorkspaceList } from "../features/workspaces/WorkspaceList";
import { Link, type Place, useRouter } from "./router";

const PLACES: { place: Place; word: string; icon: IconName }[] = [
  { place: { page: "overview" }, word: "Overview", icon: "home" },
  { place: { page: "map" }, word: "Map", icon: "map" },
  { place: { page: "approvals" }, word: "Approvals", icon: "hand" },
  { place: { page: "events" }, word: "Events", icon: "activity" },
  { place: { page: "people" }, word: "People", icon: "people" },
];

export function Shell({ children }: { children: ReactNode }) {
  const { place } = useRouter();
  const stale = useIsStale();
  const [search, setSearch] = useState("");
  const main = useRef<HTMLElement>(null);
  const title = useTitle(place);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page starts at its top
  useEffect(() => {
    if (main.current) main.current.scrollTop = 0;
  }, [title]);
  return (
    <div className="shell" data-stale={stale || undefined}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <aside className="side">
        <header className="side-head">
          <Link to={{ page: "overview" }} className="brand" label="Warren, overview">
            <Mark /> Warren
          </Link>
          <LiveMark />
        </header>
        <WhoAmI />
        <nav className="side-nav" aria-label="Pages">
          {PLACES.map(({ place: to, word, icon }) => (
            <Link key={word} to={to} className="side-link" isCurrent={place.page === to.page}>
              <Icon name={icon} /> {word}
              {to.page === "approvals" && <WaitingCount />}
            </Link>
          ))}
        </nav>
        <SearchBox value={search} onChange={setSearch} />
        <div className="side-list">
          <WorkspaceList search={search} />
        </div>
        <footer className="side-foot">
          <CreateButton />
          <ThemeButton />
        </footer>
      </aside>
      <main ref={main} id="main" className="main" tabIndex={-1} data-page={place.page}>
        <ConnectionBanner />
        {children}
      </main>
    </div>
  );
}

/** How many questions wait, beside the way to them. */
function WaitingCount() {
  const { data } = usePendingApprovals();
  if (!data || data.items.length === 0) return null;
  const count = `${data.items.length}${data.isPartial ? "+" : ""}`;
  return (
    <span className="side-count">
      {count} <span className="visually-hidden">waiting</span>
    </span>
  );
}

/** Names the page in the tab and the history, and for those who hear it. */
function useTitle(place: Place): string {
  const workspace = useWorkspaceName(place.page === "workspace" ? place.id : "");
  const word = PLACES.find((one) => one.place.page === place.page)?.word;
  const title =
    place.page === "workspace"
      ? [workspace ?? "Workspace", place.tab].filter(Boolean).join(", ")
      : (word ?? "Not found");
  useEffect(() => {
    document.title = `${title} · Warren`;
  }, [title]);
  return title;
}

function SearchBox({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
  const keyName = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";
  return (
    <div className="search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        aria-label="Search workspaces"
        aria-keyshortcuts="Control+K Meta+K"
        placeholder="Search workspaces"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onChange("");
        }}
      />
      <kbd>{keyName}</kbd>
    </div>
  );
}

function LiveMark() {
  const { phase } = useFeedState();
  const words = {
    live: "Live",
    asleep: "Asleep",
    waiting: "Offline",
    connecting: "Connecting",
    catching_up: "Catching up",
  };
  return (
    <span className="live" data-phase={phase}>
      <span className="live-dot" aria-hidden="true" />
      {words[phase]}
    </span>
  );
}
