// The frame around every page: navigation, the live list, and the banner that says when things are stale.
import {
  type KeyboardEvent as ReactKeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { Button } from "../components/Button";
import { Icon, type IconName, Mark } from "../components/Icon";
import { ThemeButton } from "../components/theme";
import { usePendingApprovals } from "../features/approvals/queries";
import { ConnectionBanner } from "../features/events/ConnectionBanner";
import { useFeedState, useIsStale } from "../features/events/context";
import { WhoAmI } from "../features/people/WhoAmI";
import { useMay } from "../features/signIn/me";
import { CreateButton } from "../features/workspaces/CreateButton";
import { homeTab } from "../features/workspaces/home";
import { useWorkspaceName } from "../features/workspaces/names";
import { SearchProvider, useSearch } from "../features/workspaces/search";
import { WorkspaceList } from "../features/workspaces/WorkspaceList";
import { Link, type Place, useRouter, workspacePlace } from "./router";

const PLACES: { place: Place; word: string; icon: IconName }[] = [
  { place: { page: "overview" }, word: "Overview", icon: "home" },
  { place: { page: "map" }, word: "Map", icon: "map" },
  { place: { page: "approvals" }, word: "Approvals", icon: "hand" },
  { place: { page: "events" }, word: "Events", icon: "activity" },
  { place: { page: "people" }, word: "People", icon: "people" },
  { place: { page: "settings" }, word: "Settings", icon: "key" },
];
const FOR_OPERATORS: typeof PLACES = [{ place: { page: "audit" }, word: "Audit log", icon: "list" }];

export function Shell({ children }: { children: ReactNode }) {
  const { place } = useRouter();
  const stale = useIsStale();
  const [isOpen, setIsOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const title = useTitle(place);
  const places = useMay("org:operate") ? [...PLACES, ...FOR_OPERATORS] : PLACES;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page starts at its top, with the menu out of the way
  useEffect(() => {
    if (main.current) main.current.scrollTop = 0;
    setIsOpen(false);
  }, [title]);
  return (
    <SearchProvider>
      <div className="shell" data-stale={stale || undefined}>
        <a className="skip" href="#main">
          Skip to the content
        </a>
        <aside className="side" data-open={isOpen || undefined}>
          <header className="side-head">
            <Link to={{ page: "overview" }} className="brand" label="Warren, overview">
              <Mark /> Warren
            </Link>
            <LiveMark />
            {/* On narrow screens the rest of the side bar is behind it. */}
            <Button
              className="side-toggle"
              tone="quiet"
              icon={isOpen ? "close" : "menu"}
              aria-label={isOpen ? "Close the menu" : "Menu"}
              aria-expanded={isOpen}
              aria-controls="side-body"
              onClick={() => setIsOpen(!isOpen)}
            />
          </header>
          <div id="side-body" className="side-body">
            <WhoAmI />
            <nav className="side-nav" aria-label="Pages">
              {places.map(({ place: to, word, icon }) => (
                <Link key={word} to={to} className="side-link" isCurrent={place.page === to.page}>
                  <Icon name={icon} /> {word}
                  {to.page === "approvals" && <WaitingCount />}
                </Link>
              ))}
            </nav>
            <SearchBox />
            <div className="side-list">
              <WorkspaceList />
            </div>
            <footer className="side-foot">
              <CreateButton />
              <ThemeButton />
            </footer>
          </div>
        </aside>
        <main ref={main} id="main" className="main" tabIndex={-1} data-page={place.page}>
          <ConnectionBanner />
          {children}
        </main>
      </div>
    </SearchProvider>
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
  const word = [...PLACES, ...FOR_OPERATORS].find((one) => one.place.page === place.page)?.word;
  const title =
    place.page === "workspace"
      ? [workspace ?? "Workspace", place.tab].filter(Boolean).join(", ")
      : (word ?? "Not found");
  useEffect(() => {
    document.title = `${title} · Warren`;
  }, [title]);
  return title;
}

/** Ctrl K and a few letters lead to a workspace: Enter opens the one that is chosen, arrows choose another. */
function SearchBox() {
  const { words, setWords, chosen, move, found } = useSearch();
  const { navigate } = useRouter();
  const input = useRef<HTMLInputElement>(null);
  const helpId = useId();
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
  const onKeyDown = (event: ReactKeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") setWords("");
    else if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Enter" && chosen) {
      navigate(workspacePlace(chosen.id, homeTab(chosen)));
      setWords("");
      input.current?.blur();
    } else return;
    event.preventDefault();
  };
  const keyName = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";
  return (
    <div className="search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        aria-label="Search workspaces"
        aria-keyshortcuts="Control+K Meta+K"
        aria-describedby={helpId}
        placeholder="Search workspaces"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <kbd>{keyName}</kbd>
      <span id={helpId} className="visually-hidden" role="status">
        {chosen && `${found.length} found. Enter opens ${chosen.name}; arrows choose another.`}
      </span>
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
