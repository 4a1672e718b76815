import { useQueryClient } from "@tanstack/react-query";
import { type DragEvent, useRef, useState } from "react";
import { keys } from "../../api/keys";
import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { useNotify } from "../../components/Notices";
import { Empty, ProblemPanel } from "../../components/States";
import { useRouter, workspacePlace } from "../../routes/router";
import { useMay } from "../signIn/me";
import { NewPathDialog } from "./dialogs";
import { FileTree } from "./FileTree";
import { FileView } from "./FileView";
import { folderOf, join } from "./paths";
import { useContent, useWriteFile } from "./queries";

export function FilesTab({ workspace, path }: { workspace: Workspace; path: string }) {
  const { navigate } = useRouter();
  const [dialog, setDialog] = useState<"file" | "folder">();
  const folder = useSelectedFolder(workspace.id, path);
  const upload = useUpload(workspace.id, folder);
  const queries = useQueryClient();
  const mayUse = useMay("workspaces:use");
  const select = (next: string) => navigate(workspacePlace(workspace.id, "files", next));

  if (!workspace.capabilities.includes("fs")) {
    return <Empty icon="folder" title="This workspace was created without files (fs)" />;
  }
  return (
    <div className="files">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a place to drop files; the button does the same */}
      <div
        className="files-side"
        data-drop={upload.isOver || undefined}
        onDragOver={mayUse ? upload.onDragOver : undefined}
        onDragLeave={mayUse ? upload.onDragLeave : undefined}
        onDrop={mayUse ? upload.onDrop : undefined}
      >
        <div className="toolbar" role="toolbar" aria-label="Files">
          {mayUse && (
            <>
              <Button icon="plus" onClick={() => setDialog("file")}>
                New file
              </Button>
              <Button
                icon="folderPlus"
                aria-label="New folder"
                title="New folder"
                onClick={() => setDialog("folder")}
              />
              <Button
                icon="upload"
                aria-label="Upload files"
                title={`Upload into ${folder || "the root"}`}
                isBusy={upload.isBusy}
                onClick={upload.choose}
              />
            </>
          )}
          <Button
            icon="refresh"
            aria-label="Read the files again"
            title="Read again"
            onClick={() => void queries.invalidateQueries({ queryKey: keys.files(workspace.id) })}
          />
          <input
            ref={upload.input}
            type="file"
            multiple
            hidden
            aria-label="Files to upload"
            onChange={(event) => upload.onFiles(event.target.files)}
          />
        </div>
        {upload.error !== undefined && (
          <ProblemPanel error={upload.error} what="The upload did not finish." />
        )}
        <FileTree workspaceId={workspace.id} selected={path} onSelect={select} />
      </div>
      <div className="files-main">
        {path ? (
          <FileView key={path} workspaceId={workspace.id} path={path} onMoved={select} />
        ) : (
          <Empty icon="file" title="Choose a file">
            {mayUse && <p className="hint">Or make a new one. Files can also be dropped on the list.</p>}
          </Empty>
        )}
      </div>
      {dialog && (
        <NewPathDialog
          workspaceId={workspace.id}
          folder={folder}
          kind={dialog}
          onClose={() => setDialog(undefined)}
          onCreated={select}
        />
      )}
    </div>
  );
}

/** Where new things go: the selected folder, or the one that holds the selected file. */
function useSelectedFolder(workspaceId: string, path: string): string {
  const { data } = useContent(workspaceId, path);
  if (path === "") return "";
  return data?.kind === "directory" ? path : folderOf(path);
}

function useUpload(workspaceId: string, folder: string) {
  const write = useWriteFile(workspaceId);
  const notify = useNotify();
  const input = useRef<HTMLInputElement>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [isOver, setIsOver] = useState(false);
  const [error, setError] = useState<unknown>();

  const onFiles = async (files: FileList | null) => {
    if (!files || files.length === 0) return;
    setIsBusy(true);
    setError(undefined);
    try {
      for (const file of files) await write.mutateAsync({ path: join(folder, file.name), body: file });
      notify(files.length === 1 ? `Uploaded ${files[0]?.name}` : `Uploaded ${files.length} files`);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setIsBusy(false);
      if (input.current) input.current.value = "";
    }
  };
  return {
    input,
    isBusy,
    isOver,
    error,
    onFiles,
    choose: () => input.current?.click(),
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      setIsOver(true);
    },
    onDragLeave: () => setIsOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setIsOver(false);
      void onFiles(event.dataTransfer.files);
    },
  };
}
