import type { Conversation } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { chatPlace, Link } from "../../routes/router";
import { gist } from "./parts";
import { useFound } from "./queries";
import { useSpeaker } from "./speaker";

interface FoundMessagesProps {
  workspaceId: string;
  words: string;
  conversations: readonly Conversation[];
  /** The one that is shown. */
  sought: string | undefined;
}

const GIST_CHARS = 120;

export function FoundMessages({ workspaceId, words, conversations, sought }: FoundMessagesProps) {
  const query = useFound(workspaceId, words);
  const speak = useSpeaker();
  if (query.isPending) return <Loading what="messages" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const { items, isPartial } = query.data;
  const titleOf = (id: string) =>
    conversations.find((one) => one.id === id)?.title ?? "an older conversation";
  return (
    <nav className="chat-list" aria-label="Found messages">
      <StaleNote query={query} />
      <p className="hint" role="status">
        {items.length === 0
          ? "Nothing was found."
          : `${items.length}${isPartial ? " or more" : ""} found, the youngest first.`}
      </p>
      <ul>
        {items.map((message) => (
          <li key={message.id}>
            <Link
              to={chatPlace(workspaceId, message.conversation_id, message.id)}
              className="chat-row"
              isCurrent={message.id === sought}
            >
              <bdi className="chat-row-title">{titleOf(message.conversation_id)}</bdi>
              <bdi className="chat-row-gist">{gist(message.parts, GIST_CHARS)}</bdi>
              <span className="chat-row-meta">
                {speak(message.author).name} · <Ago at={message.created_at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
