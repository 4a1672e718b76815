// One piece of work that came by itself, read like a conversation. Nobody writes here: it was said to the agent by others.
import { useMemo } from "react";
import type { Author, Workspace } from "../../api/types";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { useSchedules } from "../schedules/queries";
import { useMay } from "../signIn/me";
import type { Speaker } from "./authors";
import { MessageItem } from "./MessageItem";
import { messagesOf, titleOf } from "./otherWork";
import { useCancelTask, useTask } from "./queries";
import { useSpeaker } from "./speaker";
import { workOf } from "./work";

export function WorkView({ workspace, id }: { workspace: Workspace; id: string }) {
  const query = useTask(workspace.id, id);
  const speak = useWorkSpeaker(workspace.id);
  const cancel = useCancelTask(workspace.id);
  const mayUse = useMay("workspaces:use");
  const messages = useMemo(() => (query.data ? messagesOf(query.data) : []), [query.data]);
  if (query.isPending) return <Loading what="the work" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const work = workOf(query.data, [], workspace.status);
  const sender = speak(query.data.author);
  return (
    <section className="conversation" aria-label={titleOf(query.data)}>
      <header className="conversation-head">
        <h2>
          <bdi>{titleOf(query.data)}</bdi>
        </h2>
      </header>
      <StaleNote query={query} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <div className="messages" tabIndex={0} role="log" aria-label="Messages">
        <ol>
          {messages.map((message, at) => (
            <MessageItem
              key={message.id}
              workspaceId={workspace.id}
              message={message}
              speaker={speak(message.author)}
              isSought={false}
              work={at === 0 ? work : undefined}
              onCancel={mayUse ? cancel.mutate : undefined}
              onAgain={undefined}
            />
          ))}
        </ol>
        {cancel.isError && <ProblemPanel error={cancel.error} what="The work was not stopped." />}
      </div>
      <p className="hint conversation-note">
        This came from {sender.kind === "agent" ? "the agent of" : `the ${sender.kind}`}{" "}
        <bdi>{sender.name}</bdi>. To say something yourself, begin a conversation.
      </p>
    </section>
  );
}

/** Names authors, schedules by theirs. */
export function useWorkSpeaker(workspaceId: string): (author: Author) => Speaker {
  const speak = useSpeaker();
  const { data } = useSchedules(workspaceId);
  return useMemo(() => {
    const names = new Map(data?.items.map(({ id, name }) => [id, name]));
    return (author) => {
      const speaker = speak(author);
      const name = author.kind === "schedule" ? (names.get(author.id) ?? author.name) : undefined;
      return name ? { ...speaker, name } : speaker;
    };
  }, [speak, data]);
}
