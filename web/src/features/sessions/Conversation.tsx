import { type MouseEvent, memo, type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import type { SessionStatus } from "../../api/types";
import { formatClock, formatMoment } from "../../components/format";
import { PartView } from "../chat/PartView";
import { StepItem } from "./StepItem";
import type { ShownItem, ShownMessage } from "./transcript";
import { forPeople } from "./words";

interface ConversationProps {
  items: readonly ShownItem[];
  agent: string;
  workspaceId: string;
  status: SessionStatus;
  /** Nothing was said yet. */
  isEmpty: boolean;
  /** What waits for somebody, below the last that was said. */
  children: ReactNode;
}

export function Conversation({ items, agent, workspaceId, status, isEmpty, children }: ConversationProps) {
  const { box, onScroll, onLookInto } = useFollowedEnd(items, status);
  return (
    <div
      ref={box}
      className="messages session-log"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      onScroll={onScroll}
      onClickCapture={onLookInto}
    >
      {isEmpty && <p className="hint">Nothing was said here yet. Write the first message below.</p>}
      <div role="log" aria-label="Conversation">
        <ol className="session-turns">
          {items.map((item) => (
            <Item key={keyOf(item)} item={item} agent={agent} workspaceId={workspaceId} />
          ))}
        </ol>
      </div>
      {status === "running" && (
        <p className="session-working" role="status">
          <span className="spinner" aria-hidden="true" /> Working…
        </p>
      )}
      {children}
    </div>
  );
}

function keyOf(item: ShownItem): string {
  switch (item.kind) {
    case "message":
      return item.id;
    case "step":
      return `step-${item.number}`;
    case "note":
      return `note-${item.sequence}`;
  }
}

interface ItemProps {
  item: ShownItem;
  agent: string;
  workspaceId: string;
}

const Item = memo(function Item({ item, agent, workspaceId }: ItemProps) {
  switch (item.kind) {
    case "message":
      return <Said message={item} workspaceId={workspaceId} />;
    case "step":
      return <StepItem step={item} agent={agent} />;
    case "note":
      return (
        <li className="session-note" data-tone={item.tone}>
          {forPeople(item.text)}
        </li>
      );
  }
});

function Said({ message, workspaceId }: { message: ShownMessage; workspaceId: string }) {
  return (
    <li className="message" data-look="me" data-message={message.id}>
      <header className="message-head">
        <bdi className="message-author">To the agent</bdi>
        <time dateTime={message.at} title={formatMoment(message.at)}>
          {formatClock(message.at)}
        </time>
      </header>
      <div className="message-body">
        {message.parts.map((part, index) => (
          // A message never changes, so the position of a part is its identity.
          // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
          <PartView key={index} workspaceId={workspaceId} part={part} />
        ))}
      </div>
    </li>
  );
}

/** Keeps the newest in sight, unless somebody scrolled up to read. */
function useFollowedEnd(items: readonly ShownItem[], status: SessionStatus) {
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when something was added
  useLayoutEffect(() => {
    const element = box.current;
    if (element && isFollowing.current) element.scrollTop = element.scrollHeight;
  }, [items, status]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    // A question below, or a longer draft, changes the room; the end stays in sight all the same.
    const follow = () => {
      if (isFollowing.current) element.scrollTop = element.scrollHeight;
    };
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    const changes = new MutationObserver(follow);
    changes.observe(element, { childList: true, subtree: true });
    return () => {
      observer.disconnect();
      changes.disconnect();
    };
  }, []);
  const onScroll = () => {
    const element = box.current;
    if (element) isFollowing.current = element.scrollHeight - element.scrollTop - element.clientHeight < 48;
  };
  /** Whoever opens something wants to see it, and not the end. */
  const onLookInto = (event: MouseEvent) => {
    if ((event.target as Element).closest("[aria-expanded], summary")) isFollowing.current = false;
  };
  return { box, onScroll, onLookInto };
}
