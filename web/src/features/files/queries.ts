import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import { createFolder, deletePath, readContent, readFolder, writeFile } from "./wire";

export function useFolder(workspaceId: string, path: string) {
  return useQuery({
    queryKey: keys.listing(workspaceId, path),
    queryFn: ({ signal }) => readFolder(workspaceId, path, signal),
  });
}

export function useContent(workspaceId: string, path: string) {
  return useQuery({
    queryKey: keys.content(workspaceId, path),
    queryFn: ({ signal }) => readContent(workspaceId, path, signal),
    enabled: path !== "",
  });
}

export interface FileWrite {
  path: string;
  body: Blob | string;
  isNew?: boolean;
}

export function useWriteFile(workspaceId: string) {
  const stale = useStaleFiles(workspaceId);
  return useMutation({
    mutationFn: ({ path, body, isNew }: FileWrite) => writeFile(workspaceId, path, body, { isNew }),
    onSuccess: stale,
  });
}

export function useCreateFolder(workspaceId: string) {
  const stale = useStaleFiles(workspaceId);
  return useMutation({ mutationFn: (path: string) => createFolder(workspaceId, path), onSuccess: stale });
}

/**
 * What follows a deletion or a move is told here and not to `mutate`: the old path may be found gone, and its view with
 * the dialog taken away, before the answer comes, and then `mutate` calls nobody back. It also comes first, so that the
 * old path is not read again.
 */
export function useDeletePath(workspaceId: string, onDeleted: () => void) {
  const stale = useStaleFiles(workspaceId);
  return useMutation({
    mutationFn: ({ path, isFolder }: { path: string; isFolder: boolean }) =>
      deletePath(workspaceId, path, isFolder),
    onSuccess: () => {
      onDeleted();
      return stale();
    },
  });
}

export function useMovePath(workspaceId: string, onMoved: (to: string) => void) {
  const api = useApi();
  const stale = useStaleFiles(workspaceId);
  return useMutation({
    mutationFn: (move: { from: string; to: string }) =>
      api.POST("/api/v1/workspaces/{id}/files/move", {
        params: { path: { id: workspaceId } },
        body: { ...move, overwrite: false },
      }),
    onSuccess: (_, { to }) => {
      onMoved(to);
      return stale();
    },
  });
}

/** The folders are read again before the change counts as done, so that what follows finds it there. */
function useStaleFiles(workspaceId: string): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: keys.files(workspaceId) });
}
