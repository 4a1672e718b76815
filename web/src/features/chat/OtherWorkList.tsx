// What schedules, other agents and channels asked of the workspace, beside its conversations (X40, X20).
import { useId, useMemo } from "react";
import type { Conversation } from "../../api/types";
import { Ago } from "../../components/Ago";
import { chatPlace, Link, taskConversation } from "../../routes/router";
import { cameByItself, titleOf } from "./otherWork";
import { useWork } from "./queries";
import { useWorkSpeaker } from "./WorkView";
import { workOf } from "./work";

interface OtherWorkListProps {
  workspaceId: string;
  conversations: readonly Conversation[];
  open: string;
}

export function OtherWorkList({ workspaceId, conversations, open }: OtherWorkListProps) {
  const { data } = useWork(workspaceId);
  const speak = useWorkSpeaker(workspaceId);
  const titleId = useId();
  const shown = useMemo(() => {
    const known = new Set(conversations.map(({ id }) => id));
    return (data ?? []).filter((task) => cameByItself(task, known));
  }, [data, conversations]);
  if (shown.length === 0) return null;
  return (
    <nav className="chat-list" aria-labelledby={titleId}>
      <h2 id={titleId} className="chat-list-title">
        From schedules and agents
      </h2>
      <ul>
        {shown.map((task) => (
          <li key={task.id}>
            <Link
              to={chatPlace(workspaceId, taskConversation(task.id))}
              className="chat-row"
              isCurrent={taskConversation(task.id) === open}
            >
              <bdi className="chat-row-title">{titleOf(task)}</bdi>
              <span className="chat-row-meta">
                <bdi>{speak(task.author).name}</bdi> · {workOf(task, [], "online").word} ·{" "}
                <Ago at={task.updated_at} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
