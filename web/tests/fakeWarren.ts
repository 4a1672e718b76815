// A Warren in memory that behaves: the HTTP contract over plain functions, with events in a log, streams that
// resume, and switches to take the server away and bring it back.
import type {
  CreateWorkspace,
  EventFrame,
  ExecFrame,
  Invitation,
  Org,
  OrgRole,
  ProblemDocument,
  SignIn,
  User,
  WarrenEvent,
  Workspace,
} from "../src/api/types";

type Refusal = Pick<ProblemDocument, "code" | "title" | "status" | "remedy"> & { detail?: string };

const encoder = new TextEncoder();

export class FakeWarren {
  workspaces: Workspace[] = [];
  files = new Map<string, Uint8Array>();
  folders = new Set<string>();
  log: WarrenEvent[] = [];
  links = new Set<string>(["good-link"]);
  isSignedIn = true;
  me: SignIn = signedInAs("operator");
  users: User[] = [];
  invitations: Invitation[] = [];
  orgs: Org[] = [];
  /** What secrets of invitations lead to: an answer, or a refusal. */
  previews = new Map<string, unknown>();
  /** Names that are taken. */
  taken = new Set<string>();
  readonly bodies: unknown[] = [];
  templates: unknown[] = [];
  agents: unknown[] = [];
  readonly created: CreateWorkspace[] = [];
  /** By whom people sign in besides by links. */
  provider: { name: string; path: string } | null = null;
  /** Nobody answers. */
  isDown = false;
  /** Every call is refused with this. */
  refusal: Refusal | undefined;
  /** What a command prints; the test ends it. */
  onExec: (send: (frame: ExecFrame) => void, body: Record<string, unknown>) => void = (send) => {
    send({ type: "finished", result: finished(0) });
  };
  readonly calls: string[] = [];
  private readonly streams = new Set<ReadableStreamDefaultController<Uint8Array>>();

  readonly fetch = async (call: Request): Promise<Response> => {
    const url = new URL(call.url);
    this.calls.push(`${call.method} ${url.pathname}${url.search}`);
    if (this.isDown) throw new TypeError("fetch failed");
    if (this.refusal) return problem(this.refusal);
    if (call.method !== "GET" && call.headers.get("x-warren-csrf") !== "1") return problem(csrfFailed);
    return this.route(call, url, url.pathname.replace("/api/v1", ""));
  };

  add(fields: Partial<Workspace> & { name: string }): Workspace {
    const number = this.workspaces.length + 1;
    const workspace: Workspace = {
      id: `0190a000-0000-7000-8000-${String(number).padStart(12, "0")}`,
      org_id: "0190a000-0000-7000-8000-00000000aaaa",
      parent_id: null,
      status: "online",
      reason: null,
      desired: "running",
      runtime: "hosted",
      provider: { kind: "local" },
      capabilities: ["fs", "shell"],
      tier: "basic",
      role: null,
      provision_timeout_ms: 600_000,
      provisioning_started_at: null,
      hibernate_after_seconds: null,
      max_concurrent_tasks: null,
      vitals: null,
      generation: 1,
      observed_generation: 1,
      version: 1,
      created_at: "2026-01-01T00:00:00Z",
      updated_at: "2026-01-01T00:00:00Z",
      removed_at: null,
      ...fields,
    };
    this.workspaces.push(workspace);
    return workspace;
  }

  /** Something happens: it enters the log and goes out on every open stream. */
  emit(kind: string, workspaceId: string | null = null, data: Record<string, unknown> = {}): WarrenEvent {
    // Of any kind, and with any data: the page has to bear both.
    const event = {
      seq: this.log.length + 1,
      at: new Date().toISOString(),
      kind,
      workspace_id: workspaceId,
      principal: { kind: "user", id: "operator" },
      data,
    } as unknown as WarrenEvent;
    this.log.push(event);
    for (const stream of this.streams) stream.enqueue(sse({ type: "event", event }));
    return event;
  }

  /** The server dies: open streams break, and nobody answers. */
  die(): void {
    this.isDown = true;
    for (const stream of this.streams) stream.error(new TypeError("network error"));
    this.streams.clear();
  }

  get openStreams(): number {
    return this.streams.size;
  }

  /** A stream that is open until the server dies or the reader hangs up. */
  private open(stream: ReadableStreamDefaultController<Uint8Array>, signal: AbortSignal): void {
    this.streams.add(stream);
    signal.addEventListener("abort", () => {
      if (this.streams.delete(stream)) stream.error(signal.reason);
    });
  }

  private async route(call: Request, url: URL, path: string): Promise<Response> {
    if (path === "/sign-in") return this.signIn(call);
    if (path === "/sign-in/ways") return json({ link: true, provider: this.provider });
    if (path.startsWith("/sign-in/invitation")) return this.invitation(call, path);
    if (path === "/sign-in/provider" && call.method === "POST") {
      this.bodies.push(await call.json());
      return json({ url: "#at-the-provider" });
    }
    if (!this.isSignedIn) return problem(unauthenticated);
    if (path === "/sign-in/org") return this.switchOrg(call);
    if (path === "/users") return json({ items: this.users, next_cursor: null });
    if (path === "/orgs") return json({ items: this.orgs, next_cursor: null });
    if (path.startsWith("/users/")) return this.user(call, path);
    if (path.startsWith("/invitations")) return this.invite(call, path);
    if (path === "/info") return json(serverInfo);
    if (path === "/events") return this.events(call, url);
    if (path === "/templates") return json({ items: this.templates, next_cursor: null });
    if (path === "/agents") return json({ items: this.agents, next_cursor: null });
    if (path === "/sessions") return json({ items: [], next_cursor: null });
    if (path === "/approvals") return json({ items: [], next_cursor: null });
    if (path === "/workspaces") return this.collection(call);
    const [, id, rest = ""] = /^\/workspaces\/([^/]+)\/?(.*)$/.exec(path) ?? [];
    const workspace = this.workspaces.find((one) => one.id === id);
    if (!workspace) return problem(workspaceNotFound);
    if (rest === "") return this.one(call, workspace);
    if (rest === "health")
      return json({ workspace_id: id, status: workspace.status, reason: null, registry });
    if (rest === "exec") return this.exec(call);
    if (rest.startsWith("files")) return this.file(call, url, rest);
    return problem(workspaceNotFound);
  }

  private async signIn(call: Request): Promise<Response> {
    if (call.method === "POST") {
      const { secret } = (await call.json()) as { secret: string };
      if (!this.links.delete(secret)) return problem(tokenExpired);
      this.isSignedIn = true;
    }
    if (call.method === "DELETE") {
      this.isSignedIn = false;
      return new Response(null, { status: 204 });
    }
    return this.isSignedIn ? json(this.me) : problem(unauthenticated);
  }

  private async invitation(call: Request, path: string): Promise<Response> {
    const body = (await call.json()) as { secret: string; name?: string };
    const preview = this.previews.get(body.secret);
    if (!preview) return problem(invitationNotFound);
    if (typeof (preview as Refusal).code === "string") return problem(preview as Refusal);
    if (path.endsWith("/preview")) return json(preview);
    this.bodies.push(body);
    if (body.name && this.taken.has(body.name)) return problem(nameTaken);
    this.isSignedIn = true;
    return json(this.me);
  }

  private async switchOrg(call: Request): Promise<Response> {
    const { org: wanted } = (await call.json()) as { org: string };
    const org = this.me.orgs.find(({ id }) => id === wanted);
    if (!org) return problem(workspaceNotFound);
    this.me = { ...this.me, org, scopes: SCOPES[org.role ?? "viewer"] };
    this.workspaces = [];
    return json(this.me);
  }

  private async user(call: Request, path: string): Promise<Response> {
    const [, , id, rest] = path.split("/");
    const user = this.users.find((one) => one.id === id);
    if (!user) return problem(workspaceNotFound);
    if (rest) return json({ path: "/#sign-in=made", expires_at: "2026-12-01T00:00:00Z" }, 201);
    if (call.method === "PATCH") {
      const change = (await call.json()) as Partial<User>;
      const isLast = this.users.filter(({ role }) => role === "operator").length === 1;
      if (user.role === "operator" && isLast) return problem(lastOperator);
      Object.assign(user, change);
      return json(user);
    }
    this.users = this.users.filter((one) => one !== user);
    return json({ id, name: user.name, ended: true, made: { counts: {}, items: [] } });
  }

  private async invite(call: Request, path: string): Promise<Response> {
    if (call.method === "GET") return json({ items: this.invitations, next_cursor: null });
    if (call.method === "DELETE") {
      const id = path.split("/").at(-1);
      this.invitations = this.invitations.map((one) =>
        one.id === id ? { ...one, state: "revoked" as const } : one,
      );
      return new Response(null, { status: 204 });
    }
    const { role, email = null } = (await call.json()) as Pick<Invitation, "role" | "email">;
    const made: Invitation = {
      id: `invitation-${this.invitations.length + 1}`,
      role,
      email,
      state: "open",
      invited_by: this.me.principal,
      created_at: "2026-11-01T00:00:00Z",
      expires_at: "2026-12-01T00:00:00Z",
      used_at: null,
      used_by: null,
      revoked_at: null,
    };
    this.invitations.push(made);
    return json({ path: "/#invitation=made-secret", invitation: made }, 201);
  }

  private events(call: Request, url: URL): Response {
    const after = Number(url.searchParams.get("after") ?? this.log.length);
    const workspaceId = url.searchParams.get("workspace_id");
    const wanted = this.log.filter((event) => !workspaceId || event.workspace_id === workspaceId);
    if (call.headers.get("accept") === "application/json") {
      const items = wanted
        .filter((event) => event.seq > after)
        .slice(0, Number(url.searchParams.get("limit")));
      const next = items.at(-1)?.seq ?? after;
      return json({ items, next_after: next, is_last: !wanted.some((event) => event.seq > next) });
    }
    let mine: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        mine = controller;
        for (const event of wanted.slice(after)) controller.enqueue(sse({ type: "event", event }));
        controller.enqueue(sse({ type: "caught_up", seq: this.log.length }));
        this.open(controller, call.signal);
      },
      cancel: () => {
        this.streams.delete(mine);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  private async collection(call: Request): Promise<Response> {
    if (call.method === "GET") return json({ items: this.workspaces, next_cursor: null });
    const body = (await call.json()) as CreateWorkspace;
    if (body.name.includes("\u0007")) return problem(invalidName);
    this.created.push(body);
    const { name, parent_id } = body;
    // The page always names one; templates are not played here.
    const provider = body.provider ?? { kind: "memory" as const };
    const made = this.add({ name, provider, parent_id, status: "provisioning" });
    this.emit("workspace.lifecycle.created", made.id, { name: made.name, provider: provider.kind });
    return json(made, 201);
  }

  private async one(call: Request, workspace: Workspace): Promise<Response> {
    if (call.method === "PATCH") Object.assign(workspace, await call.json());
    if (call.method === "DELETE") {
      this.workspaces = this.workspaces.filter((one) => one !== workspace);
      Object.assign(workspace, { status: "removed" });
    }
    if (call.method !== "GET") workspace.version += 1;
    return json(workspace);
  }

  private async exec(call: Request): Promise<Response> {
    const body = (await call.json()) as Record<string, unknown>;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const send = (frame: ExecFrame) => {
          controller.enqueue(sse(frame));
          if (frame.type === "finished" || frame.type === "failed") {
            controller.close();
            this.streams.delete(controller);
          }
        };
        this.open(controller, call.signal);
        this.onExec(send, body);
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  }

  private async file(call: Request, url: URL, rest: string): Promise<Response> {
    const path = url.searchParams.get("path") ?? "";
    if (rest === "files/directory") {
      this.folders.add(path);
      return new Response(null, { status: 204 });
    }
    if (call.method === "PUT") {
      const created = !this.files.has(path);
      if (url.searchParams.has("create_new") && !created) return problem(fileExists);
      this.files.set(path, new Uint8Array(await call.arrayBuffer()));
      return json({ path, bytes: this.files.get(path)?.length, created }, created ? 201 : 200);
    }
    if (call.method === "DELETE") {
      this.files.delete(path);
      return new Response(null, { status: 204 });
    }
    const bytes = this.files.get(path);
    if (bytes) return new Response(bytes as BodyInit, { headers: { "x-warren-entry": "file" } });
    return this.listing(path);
  }

  private listing(folder: string): Response {
    const prefix = folder ? `${folder}/` : "";
    const entries = [...this.files.keys(), ...this.folders]
      .filter((path) => path.startsWith(prefix) && !path.slice(prefix.length).includes("/"))
      .sort()
      .map((path) => ({
        path,
        is_lossy: false,
        kind: this.files.has(path) ? "file" : "directory",
        bytes: this.files.get(path)?.length ?? 0,
        modified_at: "2026-01-01T00:00:00Z",
        mode: "644",
        link_target: null,
      }));
    if (folder && !this.folders.has(folder) && entries.length === 0) return problem(fileNotFound);
    const body = JSON.stringify({ path: folder, entries, next_cursor: null });
    return new Response(body, { headers: { "x-warren-entry": "directory" } });
  }
}

export function finished(exitCode: number) {
  return {
    exit_code: exitCode,
    signal: null,
    stdout: "",
    stderr: "",
    timed_out: false,
    truncated: false,
    total_bytes: 0,
    duration_ms: 12,
  };
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function sse(frame: EventFrame | ExecFrame): Uint8Array {
  const id = frame.type === "event" ? `id: ${frame.event.seq}\n` : "";
  return encoder.encode(`${id}data: ${JSON.stringify(frame)}\n\n`);
}

function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json" } });
}

function problem(refusal: Refusal): Response {
  const document = { type: `/docs/errors#${refusal.code}`, request_id: "req-7", ...refusal };
  return new Response(JSON.stringify(document), { status: refusal.status });
}

export const SCOPES: Record<OrgRole, string[]> = {
  viewer: ["workspaces:read", "events:read"],
  member: [
    "workspaces:read",
    "events:read",
    "workspaces:write",
    "workspaces:use",
    "approvals:decide",
    "tokens:read",
    "tokens:write",
    "secrets:read",
  ],
  operator: [
    "workspaces:read",
    "workspaces:write",
    "workspaces:use",
    "events:read",
    "tokens:read",
    "tokens:write",
    "secrets:read",
    "secrets:write",
    "approvals:decide",
    "org:operate",
  ],
};

/** Somebody with a role in the org `default`. */
export function signedInAs(role: OrgRole, fields: Partial<SignIn> = {}): SignIn {
  const org = { id: "org-1", name: "default", role };
  return {
    principal: { kind: "user", id: "operator", name: "Olga Operator" },
    token_kind: "session",
    scopes: SCOPES[role],
    expires_at: null,
    user: { id: "operator", name: "olga", display_name: "Olga Operator" },
    org,
    is_admin: false,
    orgs: [org],
    ...fields,
  };
}

const serverInfo = {
  version: "0.1.0",
  database: "sqlite",
  durability: "every acknowledged write is on disk",
  providers: [
    { kind: "local", capabilities: ["fs", "shell"], note: "Runs as your user. For trusted input." },
    { kind: "memory", capabilities: ["fs"], note: "Gone when Warren stops." },
    {
      kind: "docker",
      capabilities: ["fs", "shell"],
      note: "In a container.",
      unavailable: "no Docker daemon answers",
    },
  ],
};

const registry = {
  state: "open",
  provider: "local",
  opened_at: "2026-01-01T00:00:00Z",
  last_error: null,
  last_attempt_at: null,
  last_success_at: null,
  opens: 1,
  evictions: 0,
  limits: { max_file_mb: 10, max_timeout_ms: 600000 },
};

const remedy = "Do the other thing.";
const unauthenticated = {
  code: "unauthenticated",
  status: 401,
  title: "The request has no valid token.",
  remedy,
};
const tokenExpired = { code: "token_expired", status: 401, title: "The token was used up.", remedy };
const csrfFailed = { code: "csrf_failed", status: 403, title: "The header is missing.", remedy };
const workspaceNotFound = {
  code: "workspace_not_found",
  status: 404,
  title: "There is no such workspace.",
  remedy,
};
const invitationNotFound = {
  code: "invitation_not_found",
  status: 404,
  title: "There is no such invitation.",
  remedy,
};
const nameTaken = {
  code: "name_taken",
  status: 409,
  title: "Somebody has this name, or one that looks like it.",
  remedy: "Choose a name that nobody takes for somebody else's.",
};
const lastOperator = {
  code: "last_operator",
  status: 409,
  title: "This is the org's last operator: nobody would be left to run it.",
  remedy: "Make somebody else operator first.",
};
const fileNotFound = { code: "file_not_found", status: 404, title: "There is no such file.", remedy };
const fileExists = { code: "file_exists", status: 409, title: "Something is already there.", remedy };
const invalidName = {
  code: "invalid_request",
  status: 400,
  title: "The request has a field that is wrong.",
  detail: "name: control characters",
  remedy,
};
