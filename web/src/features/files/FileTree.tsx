// The files as nested lists of buttons: folders open and close, each reading its own entries when opened.
import { useState } from "react";
import type { Entry } from "../../api/types";
import { formatBytes } from "../../components/format";
import { Icon, type IconName } from "../../components/Icon";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { useMay } from "../signIn/me";
import { ancestorsOf, nameOf } from "./paths";
import { useFolder } from "./queries";

interface FileTreeProps {
  workspaceId: string;
  selected: string;
  onSelect: (path: string) => void;
}

export function FileTree(props: FileTreeProps) {
  return (
    <nav className="tree" aria-label="Files">
      <Level {...props} path="" />
    </nav>
  );
}

function Level({ path, ...props }: FileTreeProps & { path: string }) {
  const query = useFolder(props.workspaceId, path);
  const mayUse = useMay("workspaces:use");
  if (query.isPending) return <Loading what={path ? nameOf(path) : "files"} />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const { entries, isPartial } = query.data;
  if (entries.length === 0) {
    return (
      <>
        <StaleNote query={query} />
        <p className="hint">
          {path ? "Empty folder" : mayUse ? "No files yet. Make one, or drop some here." : "No files yet."}
        </p>
      </>
    );
  }
  return (
    <ul>
      {query.isRefetchError && (
        <li>
          <StaleNote query={query} />
        </li>
      )}
      {entries.map((entry) => (
        <li key={entry.path}>
          {entry.kind === "directory" ? (
            <FolderRow {...props} entry={entry} />
          ) : (
            <FileRow {...props} entry={entry} />
          )}
        </li>
      ))}
      {isPartial && <li className="hint">Only the first {entries.length} entries are shown.</li>}
    </ul>
  );
}

function FolderRow({ entry, ...props }: FileTreeProps & { entry: Entry }) {
  const holdsSelected = ancestorsOf(props.selected).includes(entry.path);
  const [isOpen, setIsOpen] = useState(holdsSelected || props.selected === entry.path);
  const [wasHolding, setWasHolding] = useState(holdsSelected);
  // Selecting something inside opens the folder; afterwards it may be closed again by hand.
  if (holdsSelected !== wasHolding) {
    setWasHolding(holdsSelected);
    if (holdsSelected) setIsOpen(true);
  }
  const toggle = () => {
    setIsOpen(!isOpen);
    props.onSelect(entry.path);
  };
  return (
    <>
      <button
        type="button"
        className="tree-row"
        aria-expanded={isOpen}
        aria-current={props.selected === entry.path || undefined}
        onClick={toggle}
      >
        <Icon name="chevron" className="tree-chevron" />
        <Icon name="folder" />
        <bdi className="tree-name">{nameOf(entry.path)}</bdi>
      </button>
      {isOpen && <Level {...props} path={entry.path} />}
    </>
  );
}

const ICONS: Record<Entry["kind"], IconName> = {
  file: "file",
  directory: "folder",
  symlink: "symlink",
  special: "warning",
};

function FileRow({ entry, selected, onSelect }: FileTreeProps & { entry: Entry }) {
  const isOpenable = !entry.is_lossy && entry.kind !== "special";
  return (
    <button
      type="button"
      className="tree-row"
      aria-current={selected === entry.path || undefined}
      disabled={!isOpenable}
      title={isOpenable ? undefined : whyNot(entry)}
      onClick={() => onSelect(entry.path)}
    >
      <span className="tree-chevron" />
      <Icon name={ICONS[entry.kind]} />
      <bdi className="tree-name">{nameOf(entry.path)}</bdi>
      {entry.link_target && <bdi className="tree-target">→ {entry.link_target}</bdi>}
      {entry.kind === "file" && <span className="tree-size">{formatBytes(entry.bytes)}</span>}
    </button>
  );
}

function whyNot(entry: Entry): string {
  return entry.is_lossy
    ? "Its name is not UTF-8, so it cannot be opened from here."
    : "Devices, fifos and sockets are never opened.";
}
