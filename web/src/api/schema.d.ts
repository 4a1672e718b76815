// Provisional, by hand, in the shape of the generated file.
type S = components["schemas"];
type Json<T> = { content: { "application/json": T } };
type Answer<T> = { responses: { 200: { headers: Record<string, unknown> } & Json<T> } };
type Id = { path: { id: string } };
export interface paths {
  "/api/v1/workspaces": {
    get: Answer<S["WorkspacePage"]> & {
      parameters: { query?: { cursor?: string; limit?: number } };
    };
    post: Answer<S["Workspace"]> & { requestBody: Json<S["CreateWorkspace"]> };
  };
  "/api/v1/workspaces/{id}": {
    parameters: Id;
    get: Answer<S["Workspace"]> & { parameters: Id & { query?: { include_removed?: boolean } } };
    patch: Answer<S["Workspace"]> & { parameters: Id; requestBody: Json<S["PatchWorkspace"]> };
    delete: Answer<S["Workspace"]> & { parameters: Id };
  };
  "/api/v1/workspaces/{id}/reset": { post: Answer<S["Workspace"]> & { parameters: Id } };
  "/api/v1/workspaces/{id}/health": { get: Answer<S["WorkspaceHealth"]> & { parameters: Id } };
  "/api/v1/workspaces/{id}/files/move": {
    post: { parameters: Id; requestBody: Json<S["MoveFile"]>; responses: { 204: { headers: Record<string, unknown>; content?: never } } };
  };
  "/api/v1/events": {
    get: Answer<S["EventPage"]> & { parameters: { query?: { after?: number; limit?: number; workspace_id?: string } } };
  };
  "/api/v1/info": { get: Answer<S["ServerInfo"]> };
  "/api/v1/session": {
    get: Answer<S["Session"]>;
    post: Answer<S["Session"]> & { requestBody: Json<S["SignIn"]> };
    delete: { responses: { 204: { headers: Record<string, unknown>; content?: never } } };
  };
}
export interface components {
  schemas: {
    Status: "provisioning" | "awaiting_agent" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
    Desired: "running" | "paused" | "hibernated" | "removed";
    Runtime: "hosted" | "resident" | "external";
    Capability: "fs" | "shell" | "code" | "script" | "snapshot";
    Workspace: {
      id: string; org_id: string; parent_id?: string | null; name: string; status: S["Status"]; reason?: string | null;
      desired: S["Desired"]; runtime: S["Runtime"]; provider: Record<string, unknown>; capabilities: S["Capability"][];
      generation: number; observed_generation: number; version: number; created_at: string; updated_at: string; removed_at?: string | null;
    };
    CreateWorkspace: { name: string; provider: Record<string, unknown>; capabilities?: S["Capability"][] | null; parent_id?: string | null; runtime?: S["Runtime"] | null };
    PatchWorkspace: { name?: string | null; parent_id?: string | null; desired?: S["Desired"] | null };
    WorkspacePage: { items: S["Workspace"][]; next_cursor?: string | null };
    Problem: { type: string; title: string; status: number; code: string; detail?: string | null; remedy: string; request_id: string };
    PrincipalKind: "user" | "workspace" | "schedule" | "channel" | "system";
    Principal: { kind: S["PrincipalKind"]; id: string };
    Event: { seq: number; at: string; kind: string; workspace_id?: string | null; principal: S["Principal"]; data: Record<string, unknown> };
    EventFrame: { type: "event"; event: S["Event"] } | { type: "caught_up"; seq: number } | { type: "lagged"; after: number } | { type: "closing"; code: string; after: number };
    EventPage: { items: S["Event"][]; next_after: number; is_last: boolean };
    EntryKind: "file" | "directory" | "symlink" | "special";
    Entry: { path: string; is_lossy: boolean; kind: S["EntryKind"]; bytes: number; modified_at: string; mode: string; link_target?: string | null };
    Listing: { path: string; entries: S["Entry"][]; next_cursor?: string | null };
    FileWritten: { path: string; bytes: number; created: boolean };
    MoveFile: { from: string; to: string; overwrite?: boolean };
    ExecRequest: { argv?: string[] | null; command?: string | null; cwd?: string | null; env?: Record<string, string>; stdin?: string | null; timeout_ms?: number | null; spill_to?: string | null };
    ExecResult: { exit_code?: number | null; signal?: number | null; stdout: string; stderr: string; timed_out: boolean; truncated: boolean; total_bytes: number; duration_ms: number };
    ExecFrame: { type: "stdout"; base64: string } | { type: "stderr"; base64: string } | { type: "finished"; result: S["ExecResult"] } | { type: "failed"; problem: S["Problem"] };
    SignIn: { secret: string };
    SignInLink: { path: string; expires_at: string };
    TokenKind: "admin" | "user" | "workspace" | "join" | "runner" | "login" | "session";
    Session: { principal: S["Principal"]; token_kind: S["TokenKind"]; scopes: string[]; expires_at?: string | null };
    ProviderInfo: { kind: string; capabilities: S["Capability"][]; note: string };
    ServerInfo: { version: string; providers: S["ProviderInfo"][]; database: string; durability: string };
    RegistryDescription: {
      state: string; provider: string; opened_at?: string | null; last_error?: string | null; last_attempt_at?: string | null;
      last_success_at?: string | null; opens: number; evictions: number; limits: Record<string, unknown>;
    };
    WorkspaceHealth: { workspace_id: string; status: S["Status"]; reason?: string | null; registry?: S["RegistryDescription"] | null };
  };
}
