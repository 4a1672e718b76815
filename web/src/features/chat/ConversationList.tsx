import type { Conversation } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Icon } from "../../components/Icon";
import { chatPlace, Link, NEW_CONVERSATION } from "../../routes/router";

import { useMay } from "../signIn/me";

interface ConversationListProps {
  workspaceId: string;
  conversations: readonly Conversation[];
  /** There are more than are shown. */
  isPartial: boolean;
  open: string;
}

export function ConversationList({ workspaceId, conversations, isPartial, open }: ConversationListProps) {
  const mayUse = useMay("workspaces:use");
  return (
    <nav className="chat-list" aria-label="Conversations">
      {mayUse && (
        <Link
          to={chatPlace(workspaceId, NEW_CONVERSATION)}
          className="button button-plain"
          isCurrent={open === NEW_CONVERSATION}
        >
          <Icon name="plus" /> New conversation
        </Link>
      )}
      {conversations.length === 0 && <p className="hint">None yet. The first message begins one.</p>}
      <ul>
        {conversations.map((one) => (
          <li key={one.id}>
            <Link to={chatPlace(workspaceId, one.id)} className="chat-row" isCurrent={one.id === open}>
              <bdi className="chat-row-title">{one.title}</bdi>
              <span className="chat-row-meta">
                {one.messages} {one.messages === 1 ? "message" : "messages"} · <Ago at={one.updated_at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {isPartial && (
        <p className="hint">Only the youngest {conversations.length} are shown; search finds the rest.</p>
      )}
    </nav>
  );
}
