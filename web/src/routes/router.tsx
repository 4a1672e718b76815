// A small router over the history API: a few kinds of places, and links that are real links.
import {
  createContext,
  type MouseEvent,
  type ReactNode,
  useContext,
  useMemo,
  useSyncExternalStore,
} from "react";

export const WORKSPACE_TABS = [
  "chat",
  "sessions",
  "files",
  "run",
  "terminal",
  "schedules",
  "activity",
  "health",
] as const;
export type WorkspaceTab = (typeof WORKSPACE_TABS)[number];

export interface WorkspacePlace {
  page: "workspace";
  id: string;
  /** Absent: the one that the workspace opens on, which its page knows. */
  tab?: WorkspaceTab;
  /** Of the files. */
  path: string;
  /** Of the chat: which one is open, and the message in it that was looked for. */
  conversation?: string;
  message?: string;
  /** Of the sessions: which one is open, by its name, and how it is looked at. */
  session?: string;
  view?: "timeline";
}

export type Place =
  | { page: "overview" }
  | { page: "map" }
  | { page: "events" }
  | { page: "approvals" }
  | { page: "people" }
  | { page: "audit" }
  | { page: "settings" }
  | { page: "api" }
  | WorkspacePlace
  | { page: "unknown"; pathname: string };

export function placeOf(pathname: string, search: string): Place {
  const parts = pathname.split("/").filter(Boolean).map(decode);
  if (parts.length === 0) return { page: "overview" };
  if (parts.length === 1 && parts[0] === "map") return { page: "map" };
  if (parts.length === 1 && parts[0] === "events") return { page: "events" };
  if (parts.length === 1 && parts[0] === "approvals") return { page: "approvals" };
  if (parts.length === 1 && parts[0] === "people") return { page: "people" };
  if (parts.length === 1 && parts[0] === "audit") return { page: "audit" };
  if (parts.length === 1 && parts[0] === "settings") return { page: "settings" };
  if (parts[0] === "docs" && (parts.length === 1 || (parts.length === 2 && parts[1] === "api"))) {
    return { page: "api" };
  }
  const [first, id, tab] = parts;
  if (first === "workspaces" && id && parts.length <= 3 && (tab === undefined || isTab(tab))) {
    const query = new URLSearchParams(search);
    const place: WorkspacePlace = { page: "workspace", id, tab, path: query.get("path") ?? "" };
    for (const name of ["conversation", "message"] as const) {
      const value = query.get(name);
      if (value) place[name] = value;
    }
    const session = query.get("session");
    if (session) place.session = session;
    if (query.get("view") === "timeline") place.view = "timeline";
    return place;
  }
  return { page: "unknown", pathname };
}

export function hrefOf(place: Place): string {
  switch (place.page) {
    case "overview":
      return "/";
    case "map":
      return "/map";
    case "events":
      return "/events";
    case "approvals":
      return "/approvals";
    case "people":
      return "/people";
    case "audit":
      return "/audit";
    case "settings":
      return "/settings";
    case "api":
      return "/docs/api";
    case "workspace": {
      const workspace = `/workspaces/${encodeURIComponent(place.id)}`;
      const base = place.tab ? `${workspace}/${place.tab}` : workspace;
      const query = new URLSearchParams();
      for (const name of ["path", "conversation", "message", "session", "view"] as const) {
        const value = place[name];
        if (value) query.set(name, value);
      }
      return query.size > 0 ? `${base}?${query}` : base;
    }
    case "unknown":
      return place.pathname;
  }
}

export function workspacePlace(id: string, tab?: WorkspaceTab, path = ""): WorkspacePlace {
  return { page: "workspace", id, tab, path };
}

/** Stands in the address where the id of a conversation would, until the first message begins one. */
export const NEW_CONVERSATION = "new";

const TASK = "task-";

/** Stands in the address for work that came by itself: from a schedule, another agent, a channel. */
export function taskConversation(task: string): string {
  return TASK + task;
}

/** The work that an address of a conversation means, if it means one. */
export function taskOf(conversation: string): string | undefined {
  return conversation.startsWith(TASK) ? conversation.slice(TASK.length) : undefined;
}

export function chatPlace(id: string, conversation?: string, message?: string): WorkspacePlace {
  return { ...workspacePlace(id, "chat"), conversation, message };
}

export function sessionPlace(id: string, session?: string, view?: "timeline"): WorkspacePlace {
  return { ...workspacePlace(id, "sessions"), session, view };
}

interface Router {
  place: Place;
  navigate(to: Place, options?: { replace?: boolean }): void;
}

const RouterContext = createContext<Router | undefined>(undefined);
const MOVED = "warren:moved";

export function RouterProvider({ children }: { children: ReactNode }) {
  const address = useSyncExternalStore(subscribe, () => window.location.pathname + window.location.search);
  const router = useMemo<Router>(() => {
    const { pathname, search } = new URL(address, window.location.origin);
    return { place: placeOf(pathname, search), navigate };
  }, [address]);
  return <RouterContext value={router}>{children}</RouterContext>;
}

export function useRouter(): Router {
  const router = useContext(RouterContext);
  if (!router) throw new Error("useRouter needs a RouterProvider above it");
  return router;
}

interface LinkProps {
  to: Place;
  children: ReactNode;
  className?: string;
  isCurrent?: boolean;
  label?: string;
}

export function Link({ to, children, className, isCurrent = false, label }: LinkProps) {
  const { navigate } = useRouter();
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    // New tabs, new windows and downloads stay the browser's business.
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a
      href={hrefOf(to)}
      className={className}
      onClick={follow}
      aria-current={isCurrent ? "page" : undefined}
      aria-label={label}
    >
      {children}
    </a>
  );
}

export function navigate(to: Place, options: { replace?: boolean } = {}): void {
  const href = hrefOf(to);
  if (options.replace) window.history.replaceState(null, "", href);
  else window.history.pushState(null, "", href);
  window.dispatchEvent(new Event(MOVED));
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener("popstate", onChange);
  window.addEventListener(MOVED, onChange);
  return () => {
    window.removeEventListener("popstate", onChange);
    window.removeEventListener(MOVED, onChange);
  };
}

function isTab(text: string): text is WorkspaceTab {
  return (WORKSPACE_TABS as readonly string[]).includes(text);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
