// What people and the agent of a workspace said to each other: the conversations on one side, the one that is open on
// the other. Which one is open stands in the address, so that a reload and a link show the same.
import { useEffect, useState } from "react";
import { Problem } from "../../api/problem";
import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Empty, Loading, ProblemPanel, StaleNote } from "../../components/States";
import { chatPlace, NEW_CONVERSATION, taskOf, useRouter } from "../../routes/router";
import { ApprovalList } from "../approvals/ApprovalList";
import { NotAllowed, useMay } from "../signIn/me";
import { hasAgent } from "../workspaces/home";
import { Composer } from "./Composer";
import { ConversationList } from "./ConversationList";
import { ConversationView } from "./ConversationView";
import { FoundMessages } from "./FoundMessages";
import { NoAgent } from "./NoAgent";
import { OtherWorkList } from "./OtherWorkList";
import { ProgressFeed } from "./ProgressFeed";
import { useConversations } from "./queries";
import { SearchField } from "./SearchField";
import { WorkView } from "./WorkView";

interface ChatTabProps {
  workspace: Workspace;
  conversation: string | undefined;
  /** The message that was looked for. */
  sought: string | undefined;
}

export function ChatTab({ workspace, conversation, sought }: ChatTabProps) {
  const query = useConversations(workspace.id);
  const { navigate } = useRouter();
  const [words, setWords] = useState("");
  const [begun, setBegun] = useState<string>();
  const [isListOpen, setIsListOpen] = useState(false);
  const youngest = query.data && (query.data.items[0]?.id ?? NEW_CONVERSATION);
  useEffect(() => {
    // Chosen once: one that begins elsewhere must not take the place of what somebody reads or writes.
    if (!conversation && youngest) navigate(chatPlace(workspace.id, youngest), { replace: true });
  }, [conversation, youngest, workspace.id, navigate]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever chose one wants to read it
  useEffect(() => setIsListOpen(false), [conversation]);
  if (query.isPending) return <Loading what="conversations" />;
  if (!query.data && query.error instanceof Problem && query.error.status === 403) {
    return (
      <Empty icon="chat" title="The chat is not for you">
        <NotAllowed what="reading the chat" />
      </Empty>
    );
  }
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const { items, isPartial } = query.data;
  const open = conversation ?? youngest ?? NEW_CONVERSATION;
  const task = taskOf(open);
  return (
    <div className="chat">
      <div className="chat-side" data-open={isListOpen || undefined}>
        {/* On narrow screens the list is behind it. */}
        <Button
          className="chat-toggle"
          icon="chat"
          aria-expanded={isListOpen}
          aria-controls="chat-lists"
          onClick={() => setIsListOpen(!isListOpen)}
        >
          Conversations ({items.length})
        </Button>
        <div id="chat-lists" className="chat-lists">
          <SearchField words={words} onChange={setWords} />
          {words ? (
            <FoundMessages workspaceId={workspace.id} words={words} conversations={items} sought={sought} />
          ) : (
            <>
              <StaleNote query={query} />
              <ConversationList
                workspaceId={workspace.id}
                conversations={items}
                isPartial={isPartial}
                open={open}
              />
              <OtherWorkList workspaceId={workspace.id} conversations={items} open={open} />
            </>
          )}
        </div>
      </div>
      <div className="chat-main">
        {open === NEW_CONVERSATION ? (
          <NewConversation workspace={workspace} onBegun={setBegun} />
        ) : task ? (
          <WorkView key={task} workspace={workspace} id={task} />
        ) : (
          <ConversationView
            key={open}
            workspace={workspace}
            id={open}
            sought={sought}
            isBegun={open === begun}
            listedTitle={items.find((one) => one.id === open)?.title}
          />
        )}
      </div>
      <ProgressFeed workspaceId={workspace.id} />
    </div>
  );
}

interface NewConversationProps {
  workspace: Workspace;
  onBegun: (conversation: string) => void;
}

function NewConversation({ workspace, onBegun }: NewConversationProps) {
  if (!useMay("workspaces:use")) {
    return (
      <Empty icon="chat" title="Choose a conversation">
        <NotAllowed what="beginning one" />
      </Empty>
    );
  }
  return (
    <>
      <div className="chat-begin">
        <h2>New conversation</h2>
        {!hasAgent(workspace) ? (
          <NoAgent workspace={workspace} />
        ) : (
          <p className="hint">
            What you write goes to the agent of {workspace.name}. If it is busy or away, your message waits
            for it.
          </p>
        )}
      </div>
      <ApprovalList workspaceId={workspace.id} />
      <Composer
        key={NEW_CONVERSATION}
        workspaceId={workspace.id}
        conversation={undefined}
        onBegun={onBegun}
      />
    </>
  );
}
