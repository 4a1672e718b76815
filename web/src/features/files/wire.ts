// Files over HTTP. Their bytes are no JSON, so these calls use the door itself rather than the typed client.
import { request } from "../../api/client";
import type { Entry, FileWritten, Listing } from "../../api/types";

/** Larger files are downloaded rather than shown. */
export const SHOWN_BYTES = 1 << 20;
const LISTED_ENTRIES = 1_000;
/** A folder with more entries is shown in part, and says so. */
const LISTED_PAGES = 5;

export type Content =
  | { kind: "directory" }
  | { kind: "text"; text: string }
  | { kind: "binary" }
  | { kind: "large" };

export interface Folder {
  entries: Entry[];
  /** There are more entries than are shown. */
  isPartial: boolean;
}

export function fileUrl(id: string, path: string, query: Record<string, string> = {}): string {
  return `/api/v1/workspaces/${encodeURIComponent(id)}/files?${new URLSearchParams({ path, ...query })}`;
}

export async function readContent(id: string, path: string, signal?: AbortSignal): Promise<Content> {
  const response = await request(fileUrl(id, path, { length: String(SHOWN_BYTES + 1) }), { signal });
  if (response.headers.get("x-warren-entry") === "directory") {
    await response.body?.cancel();
    return { kind: "directory" };
  }
  return contentOf(new Uint8Array(await response.arrayBuffer()));
}

export function contentOf(bytes: Uint8Array): Content {
  if (bytes.length > SHOWN_BYTES) return { kind: "large" };
  if (bytes.includes(0)) return { kind: "binary" };
  try {
    // The mark is kept: what is saved must be what was read, but for the change.
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { kind: "binary" };
  }
}

export async function readFolder(id: string, path: string, signal?: AbortSignal): Promise<Folder> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < LISTED_PAGES; page += 1) {
    const query = { depth: "1", limit: String(LISTED_ENTRIES), ...(cursor ? { cursor } : {}) };
    const response = await request(fileUrl(id, path, query), { signal });
    const listing = (await response.json()) as Listing;
    entries.push(...listing.entries);
    cursor = listing.next_cursor ?? undefined;
    if (!cursor) break;
  }
  return { entries: foldersFirst(entries), isPartial: cursor !== undefined };
}

export async function writeFile(
  id: string,
  path: string,
  body: Blob | string,
  options: { isNew?: boolean } = {},
): Promise<FileWritten> {
  const url = fileUrl(id, path, options.isNew ? { create_new: "true" } : {});
  const headers = { "content-type": "application/octet-stream" };
  const response = await request(url, { method: "PUT", body, headers });
  return (await response.json()) as FileWritten;
}

export async function deletePath(id: string, path: string, isFolder: boolean): Promise<void> {
  await request(fileUrl(id, path, isFolder ? { recursive: "true" } : {}), { method: "DELETE" });
}

export async function createFolder(id: string, path: string): Promise<void> {
  const query = new URLSearchParams({ path });
  await request(`/api/v1/workspaces/${encodeURIComponent(id)}/files/directory?${query}`, { method: "POST" });
}

function foldersFirst(entries: Entry[]): Entry[] {
  const rank = (entry: Entry) => (entry.kind === "directory" ? 0 : 1);
  return entries.sort(
    (a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path, undefined, { numeric: true }),
  );
}
