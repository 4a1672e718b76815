import { lazy, Suspense, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { ChatMessage, Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { chatPlace, Link, NEW_CONVERSATION, useRouter } from "../../routes/router";
import { ApprovalList } from "../approvals/ApprovalList";
import { NotAllowed, useMay } from "../signIn/me";
import { hasAgent } from "../workspaces/home";
import { Composer } from "./Composer";
import { DeleteConversationDialog, RenameDialog } from "./dialogs";
import { MessageItem } from "./MessageItem";
import {
  isGone,
  useCancelTask,
  useConversation,
  useEarlier,
  usePost,
  useTasks,
  useThread,
  useWaiting,
} from "./queries";
import { useSpeaker } from "./speaker";
import { askingMessages, saidOnce, type Work, workOf } from "./work";

const HostedWork = lazy(() => import("./HostedWork"));

interface ConversationViewProps {
  workspace: Workspace;
  id: string;
  /** Absent where the list does not have it. */
  listedTitle: string | undefined;
  /** The message that was looked for. */
  sought: string | undefined;
  /** It was just begun here, and its author goes on writing. */
  isBegun: boolean;
}

/** Keyed by id where it is used: another conversation is another view. */
export function ConversationView({ workspace, id, listedTitle, sought, isBegun }: ConversationViewProps) {
  const query = useThread(workspace.id, id);
  const isHosted = workspace.runtime === "hosted" && hasAgent(workspace);
  const { data: row } = useConversation(workspace.id, id, isHosted || listedTitle === undefined);
  const title = listedTitle ?? row?.title;
  const { navigate } = useRouter();
  const [dialog, setDialog] = useState<"rename" | "delete">();
  const mayUse = useMay("workspaces:use");
  const close = () => setDialog(undefined);
  if (query.isPending) return <Loading what="messages" />;
  if (!query.data || isGone(query.error)) {
    return (
      <div className="chat-begin">
        <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
        <Link to={chatPlace(workspace.id, NEW_CONVERSATION)}>Begin a new conversation</Link>
      </div>
    );
  }
  const { messages, hasEarlier } = query.data;
  return (
    <section className="conversation" aria-label={title ?? "Conversation"}>
      <header className="conversation-head">
        <h2>
          <bdi>{title ?? "Conversation"}</bdi>
        </h2>
        {mayUse && (
          <>
            <Button
              tone="quiet"
              icon="pencil"
              aria-label="Rename this conversation"
              onClick={() => setDialog("rename")}
            />
            <Button
              tone="quiet"
              icon="trash"
              aria-label="Delete this conversation"
              onClick={() => setDialog("delete")}
            />
          </>
        )}
      </header>
      <StaleNote query={query} />
      <Messages
        workspace={workspace}
        conversation={id}
        messages={messages}
        hasEarlier={hasEarlier}
        sought={sought}
        session={(isHosted && row?.session_id) || undefined}
      />
      {/* What sessions ask stands with what they do. */}
      <ApprovalList workspaceId={workspace.id} isWithoutCalls={isHosted} />
      {mayUse ? (
        <Composer key={id} workspaceId={workspace.id} conversation={id} hasFocus={isBegun} />
      ) : (
        <NotAllowed what="writing here" />
      )}
      {dialog === "rename" && (
        <RenameDialog workspaceId={workspace.id} conversation={id} title={title ?? ""} onClose={close} />
      )}
      {dialog === "delete" && (
        <DeleteConversationDialog
          workspaceId={workspace.id}
          conversation={id}
          title={title ?? "this conversation"}
          onClose={close}
          onDeleted={() => navigate(chatPlace(workspace.id))}
        />
      )}
    </section>
  );
}

interface MessagesProps {
  workspace: Workspace;
  conversation: string;
  messages: readonly ChatMessage[];
  hasEarlier: boolean;
  sought: string | undefined;
  /** Where Warren runs the agent itself: the session, in which can be followed what it does. */
  session: string | undefined;
}

function Messages({ workspace, conversation, messages, hasEarlier, sought, session }: MessagesProps) {
  const works = useWorks(workspace, conversation, messages);
  const earlier = useEarlier(workspace.id, conversation);
  const cancel = useCancelTask(workspace.id);
  const mayUse = useMay("workspaces:use");
  const again = usePost(workspace.id, { onBegun: () => undefined, onPosted: () => undefined });
  const { mutate: post } = again;
  const sayAgain = useCallback(
    ({ parts }: ChatMessage) =>
      post({
        conversation,
        title: "",
        messageId: crypto.randomUUID(),
        text: "",
        parts: async () => parts,
      }),
    [post, conversation],
  );
  const speak = useSpeaker();
  const { box, onScroll } = useFollowedEnd(messages, works);
  const isSoughtHere = messages.some(({ id }) => id === sought);
  const first = messages[0]?.id ?? "";
  const { mutate: readEarlier } = earlier;
  useEffect(() => {
    if (!sought) return;
    if (isSoughtHere) {
      box.current
        ?.querySelector(`[data-message="${CSS.escape(sought)}"]`)
        ?.scrollIntoView({ block: "center" });
    } else if (hasEarlier && sought < first) readEarlier();
  }, [sought, isSoughtHere, hasEarlier, first, readEarlier, box]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <div ref={box} className="messages" tabIndex={0} role="log" aria-label="Messages" onScroll={onScroll}>
      {hasEarlier && (
        <Button tone="quiet" isBusy={earlier.isPending} onClick={() => earlier.mutate()}>
          Show earlier messages
        </Button>
      )}
      {earlier.isError && <ProblemPanel error={earlier.error} what="Earlier messages could not be read." />}
      {messages.length === 0 && <p className="hint">Nothing was said here yet.</p>}
      <ol>
        {messages.map((message) => (
          <MessageItem
            key={message.id}
            workspaceId={workspace.id}
            message={message}
            speaker={speak(message.author)}
            isSought={message.id === sought}
            work={works.get(message.id)}
            onCancel={mayUse ? cancel.mutate : undefined}
            onAgain={mayUse ? sayAgain : undefined}
          />
        ))}
      </ol>
      {session && (
        <Suspense fallback={null}>
          <HostedWork key={session} workspace={workspace} session={session} />
        </Suspense>
      )}
      {cancel.isError && <ProblemPanel error={cancel.error} what="The work was not stopped." />}
      {again.isError && <ProblemPanel error={again.error} what="It was not sent again." />}
    </div>
  );
}

/** The state of each piece of work, by the id of the message that asked for it. */
function useWorks(
  workspace: Workspace,
  conversation: string,
  messages: readonly ChatMessage[],
): ReadonlyMap<string, Work> {
  const { data: tasks } = useTasks(workspace.id, conversation);
  const isWaiting = tasks?.some(({ state }) => state === "submitted") ?? false;
  const { data: waiting } = useWaiting(workspace.id, isWaiting);
  return useMemo(() => {
    const asking = askingMessages(messages);
    const answered = new Set(
      messages.flatMap(({ role, task_id }) => (role === "agent" && task_id ? [task_id] : [])),
    );
    const works = new Map<string, Work>();
    for (const task of tasks ?? []) {
      const message = asking.get(task.id);
      if (message) works.set(message, saidOnce(workOf(task, waiting ?? [], workspace.status), answered));
    }
    return works;
  }, [messages, tasks, waiting, workspace.status]);
}

/** Keeps the newest in sight, unless somebody scrolled up to read. */
function useFollowedEnd(messages: readonly ChatMessage[], works: ReadonlyMap<string, Work>) {
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const first = useRef({ id: messages[0]?.id, height: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when something was added
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (isFollowing.current) element.scrollTop = element.scrollHeight;
    // Earlier ones came in above: what was being read stays where it was.
    else if (first.current.id !== messages[0]?.id)
      element.scrollTop += element.scrollHeight - first.current.height;
    first.current = { id: messages[0]?.id, height: element.scrollHeight };
  }, [messages, works]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    // A question or a longer draft below takes room from the messages; the end stays in sight all the same.
    const follow = () => {
      if (isFollowing.current) element.scrollTop = element.scrollHeight;
    };
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    // So does an answer that grows word by word.
    const changes = new MutationObserver(follow);
    changes.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      changes.disconnect();
    };
  }, []);
  const onScroll = () => {
    const element = box.current;
    if (element) isFollowing.current = element.scrollHeight - element.scrollTop - element.clientHeight < 32;
  };
  return { box, onScroll };
}
