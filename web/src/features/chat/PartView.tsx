// One part of a message. Nothing an author wrote becomes HTML, and nothing is fetched unasked.
import { memo } from "react";
import type { MessagePart } from "../../api/types";
import { formatBytes } from "../../components/format";
import { Icon } from "../../components/Icon";
import { Markdown } from "../../components/Markdown";
import { fileUrl } from "../files/wire";
import { shownPart } from "./parts";

interface PartViewProps {
  workspaceId: string;
  part: MessagePart;
}

export const PartView = memo(function PartView({ workspaceId, part }: PartViewProps) {
  const shown = shownPart(part);
  switch (shown.kind) {
    case "text":
      return <Markdown text={shown.text} />;
    case "file":
      return (
        <a
          className="attachment"
          href={fileUrl(workspaceId, shown.path)}
          download={shown.name}
          title={shown.path}
        >
          <FileFace name={shown.name} note={shown.mediaType} />
        </a>
      );
    case "bytes":
      return (
        <button type="button" className="attachment" onClick={() => save(shown.base64, shown.name)}>
          <FileFace
            name={shown.name}
            note={`${formatBytes(shown.bytes)}${shown.mediaType ? `, ${shown.mediaType}` : ""}`}
          />
        </button>
      );
    case "link":
      return (
        <p className="message-text">
          {shown.name && <bdi>{shown.name}: </bdi>}
          <Address url={shown.url} />
        </p>
      );
    case "data":
      return (
        <details className="message-data">
          <summary>Data</summary>
          <Code text={shown.text} />
        </details>
      );
    case "left_out":
      return (
        <p className="hint">
          {shown.parts} {shown.parts === 1 ? "part" : "parts"} ({formatBytes(shown.bytes)}) did not fit here
          and stand in the task.
        </p>
      );
  }
});

function FileFace({ name, note }: { name: string; note: string | undefined }) {
  return (
    <>
      <Icon name="file" />
      <span className="visually-hidden">Download </span>
      <bdi className="attachment-name">{name}</bdi>
      {note && <span className="attachment-note">{note}</span>}
      <Icon name="download" />
    </>
  );
}

/** Leads away from here: the other side learns nothing of this page and cannot reach back to it. */
function Address({ url }: { url: string }) {
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {url}
    </a>
  );
}

function Code({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <pre className="message-code" tabIndex={0}>
      {text}
    </pre>
  );
}

/** Bytes are only ever saved: as a type that no browser opens, whatever they are said to be. */
function save(base64: string, name: string): void {
  const bytes = Uint8Array.from(atob(base64.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
    char.charCodeAt(0),
  );
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken hold of the bytes by the next turn.
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
