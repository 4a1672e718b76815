import { useState } from "react";
import { Problem } from "../../api/problem";
import { Button } from "../../components/Button";
import { Icon } from "../../components/Icon";
import { Empty, Loading, ProblemPanel, StaleNote } from "../../components/States";
import { useMay } from "../signIn/me";
import { DeletePathDialog, MoveDialog } from "./dialogs";
import { Editor } from "./Editor";
import { nameOf } from "./paths";
import { useContent } from "./queries";
import { type Content, fileUrl, SHOWN_BYTES } from "./wire";

interface FileViewProps {
  workspaceId: string;
  path: string;
  onMoved: (path: string) => void;
}

export function FileView({ workspaceId, path, onMoved }: FileViewProps) {
  const query = useContent(workspaceId, path);
  const [dialog, setDialog] = useState<"delete" | "move">();
  const mayUse = useMay("workspaces:use");
  const close = () => setDialog(undefined);
  if (query.isPending) return <Loading what={nameOf(path)} />;
  if (!query.data || isGone(query.error)) {
    return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  }
  const isFolder = query.data.kind === "directory";
  return (
    <section className="file" aria-label={path}>
      <header className="file-head">
        <h2 className="file-path">
          <Icon name={isFolder ? "folder" : "file"} />
          <bdi>{path}</bdi>
        </h2>
        {!isFolder && (
          <a
            className="button button-plain"
            href={fileUrl(workspaceId, path)}
            download={nameOf(path)}
            aria-label={`Download ${path}`}
          >
            <Icon name="download" /> Download
          </a>
        )}
        {mayUse && (
          <>
            <Button icon="pencil" onClick={() => setDialog("move")}>
              Rename
            </Button>
            <Button
              icon="trash"
              aria-label={`Delete ${path}`}
              title="Delete"
              onClick={() => setDialog("delete")}
            />
          </>
        )}
      </header>
      <StaleNote query={query} />
      <Body content={query.data} workspaceId={workspaceId} path={path} />
      {dialog === "delete" && (
        <DeletePathDialog
          workspaceId={workspaceId}
          path={path}
          isFolder={isFolder}
          onClose={close}
          onDeleted={() => onMoved("")}
        />
      )}
      {dialog === "move" && (
        <MoveDialog workspaceId={workspaceId} path={path} onClose={close} onMoved={onMoved} />
      )}
    </section>
  );
}

function Body({ content, workspaceId, path }: { content: Content; workspaceId: string; path: string }) {
  switch (content.kind) {
    case "text":
      return (
        <Editor key={`${workspaceId}/${path}`} workspaceId={workspaceId} path={path} saved={content.text} />
      );
    case "binary":
      return (
        <Empty icon="file" title="This file is not text">
          <p className="hint">Download it to look at it.</p>
        </Empty>
      );
    case "large":
      return (
        <Empty icon="file" title={`This file is larger than ${SHOWN_BYTES >> 20} MiB`}>
          <p className="hint">Download it to look at it.</p>
        </Empty>
      );
    case "directory":
      return (
        <Empty icon="folder" title="A folder">
          <p className="hint">New files, new folders and uploads go here while it is selected.</p>
        </Empty>
      );
  }
}

/** What is gone is not shown from memory, unlike what merely cannot be reached right now. */
function isGone(error: unknown): boolean {
  return error instanceof Problem && error.status === 404;
}
