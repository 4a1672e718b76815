// The names under which the query layer keeps the server's answers. One table, so that an event can name
// exactly what it makes stale.
export const keys = {
  signIn: ["sign-in"] as const,
  info: ["info"] as const,
  workspaces: ["workspaces"] as const,
  workspace: (id: string) => ["workspace", id] as const,
  health: (id: string) => ["workspace", id, "health"] as const,
  files: (id: string) => ["files", id] as const,
  listing: (id: string, path: string) => ["files", id, "listing", path] as const,
  content: (id: string, path: string) => ["files", id, "content", path] as const,
  processes: (id: string) => ["processes", id] as const,
  chat: (id: string) => ["chat", id] as const,
  conversations: (id: string) => ["chat", id, "conversations"] as const,
  conversation: (id: string, conversation: string) => ["chat", id, "conversation", conversation] as const,
  thread: (id: string, conversation: string) => ["chat", id, "thread", conversation] as const,
  tasks: (id: string, conversation: string) => ["chat", id, "tasks", conversation] as const,
  queue: (id: string) => ["chat", id, "queue"] as const,
  found: (id: string, words: string) => ["chat", id, "found", words] as const,
  progress: (id: string) => ["progress", id] as const,
  approvals: ["approvals"] as const,
  schedules: (id: string) => ["schedules", id] as const,
  history: (workspaceId: string | undefined) => ["history", workspaceId ?? "all"] as const,
};
