import { memo } from "react";
import type { ChatMessage } from "../../api/types";
import { Button } from "../../components/Button";
import { formatClock, formatMoment } from "../../components/format";
import type { Speaker } from "./authors";
import { PartView } from "./PartView";
import type { Work } from "./work";

interface MessageItemProps {
  workspaceId: string;
  message: ChatMessage;
  speaker: Speaker;
  /** It was looked for. */
  isSought: boolean;
  /** What became of the work that it asked for; absent where it asked for none, or nobody knows any more. */
  work: Work | undefined;
  /** Absent: this person may not. */
  onCancel: ((task: string) => void) | undefined;
  /** Says the same once more; absent: this person may not. */
  onAgain: ((message: ChatMessage) => void) | undefined;
}

export const MessageItem = memo(
  function MessageItem({
    workspaceId,
    message,
    speaker,
    isSought,
    work,
    onCancel,
    onAgain,
  }: MessageItemProps) {
    return (
      <li
        className="message"
        data-look={speaker.look}
        data-message={message.id}
        data-sought={isSought || undefined}
      >
        <header className="message-head">
          <bdi className="message-author">{speaker.name}</bdi>
          <span className="tag">{speaker.kind}</span>
          <time dateTime={message.created_at} title={formatMoment(message.created_at)}>
            {formatClock(message.created_at)}
          </time>
        </header>
        <div className="message-body">
          {message.parts.map((part, index) => (
            // A message never changes, so the position of a part is its identity.
            // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
            <PartView key={index} workspaceId={workspaceId} part={part} />
          ))}
        </div>
        {work && <WorkLine work={work} onCancel={onCancel} onAgain={onAgain && (() => onAgain(message))} />}
      </li>
    );
  },
  (before, after) =>
    before.message === after.message &&
    before.workspaceId === after.workspaceId &&
    before.isSought === after.isSought &&
    before.onCancel === after.onCancel &&
    before.onAgain === after.onAgain &&
    before.speaker.name === after.speaker.name &&
    before.work?.word === after.work?.word &&
    before.work?.note === after.work?.note,
);

interface WorkLineProps {
  work: Work;
  onCancel: MessageItemProps["onCancel"];
  onAgain: (() => void) | undefined;
}

function WorkLine({ work, onCancel, onAgain }: WorkLineProps) {
  return (
    <footer className="message-work" data-tone={work.tone}>
      {work.tone === "busy" && <span className="spinner" aria-hidden="true" />}
      <strong>{work.word}</strong>
      {work.note && <span>: {work.note}</span>}
      {work.isOpen && onCancel && (
        <Button tone="quiet" icon="stop" onClick={() => onCancel(work.task.id)}>
          {work.task.state === "submitted" ? "Take back" : "Stop"}
        </Button>
      )}
      {work.canBeSaidAgain && onAgain && (
        <Button tone="quiet" icon="refresh" onClick={onAgain}>
          Send again
        </Button>
      )}
    </footer>
  );
}
