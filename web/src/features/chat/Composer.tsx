// Where a message is written. What is typed is a draft until the server has it; a message has its id from the first
// try on, so that trying again after a broken connection says nothing twice.
import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { isUnreachable } from "../../api/problem";
import { type Progress, uploadFiles } from "../../api/upload";
import { Button } from "../../components/Button";
import { readDraft, useDraft, writeDraft } from "../../components/draft";
import { formatBytes } from "../../components/format";
import { Icon } from "../../components/Icon";
import { ProblemPanel } from "../../components/States";
import { chatPlace, NEW_CONVERSATION, useRouter } from "../../routes/router";
import { useFeedState } from "../events/context";
import { type Attached, attach, partsOf, withParts } from "./attachments";
import { gist } from "./parts";
import { isGone, usePost } from "./queries";

/** A conversation is called by what it began with; the server takes 200 bytes. */
const TITLE_CHARS = 45;

interface ComposerProps {
  workspaceId: string;
  /** Absent: the first message begins one. */
  conversation: string | undefined;
  onBegun?: (conversation: string) => void;
  /** Whoever writes here has just written, and goes on. */
  hasFocus?: boolean;
}

/** Keyed by conversation where it is used. */
export function Composer({ workspaceId, conversation, onBegun, hasFocus = false }: ComposerProps) {
  const { navigate } = useRouter();
  const place = `${workspaceId}.${conversation ?? NEW_CONVERSATION}`;
  const [text, setText, forget] = useDraft(`chat.${place}`);
  const files = useAttachments(workspaceId);
  const input = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (hasFocus) box.current?.focus();
  }, [hasFocus]);
  const helpId = useId();
  const begunKey = `chat-begun.${place}`;
  const tryKey = `chat-try.${place}`;
  const post = usePost(workspaceId, {
    onBegun: (begun) => writeDraft(begunKey, begun),
    onPosted: ({ text: sent }) => {
      writeDraft(tryKey, undefined);
      writeDraft(begunKey, undefined);
      // What was typed while the message was on its way stays.
      if ((readDraft(`chat.${place}`) ?? "") === sent) forget();
      files.clear();
    },
  });
  const isEmpty = !text.trim() && files.attached.length === 0;

  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (isEmpty || post.isPending || files.isReading) return;
    const messageId = idOf(tryKey, text, files.attached);
    const known = conversation ?? readDraft(begunKey);
    const names = files.attached.map(({ file }) => ({ filename: file.name }));
    const title = gist([{ text }, ...names], TITLE_CHARS);
    const parts = async () => partsOf(text, await files.upload());
    const posting = { conversation: known, title, messageId, text, parts };
    post.mutate(posting, {
      // Whoever went elsewhere meanwhile stays there.
      onSuccess: (sent) => {
        if (conversation) return;
        onBegun?.(sent.conversation);
        navigate(chatPlace(workspaceId, sent.conversation));
      },
      // The conversation that an earlier try began was deleted: the next try begins another.
      onError: (error) => {
        if (isGone(error)) writeDraft(begunKey, undefined);
      },
    });
  };
  // A message that nobody took, because nobody was there, is tried again when somebody is: the same one, under its id.
  const isLive = useFeedState().phase === "live";
  const isCutOff = post.isError && isUnreachable(post.error) && post.variables.text === text;
  const sendAgain = useRef<() => void>(undefined);
  sendAgain.current = isCutOff ? () => send() : undefined;
  useEffect(() => {
    if (isLive) sendAgain.current?.();
  }, [isLive]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      className="composer"
      onSubmit={send}
      data-drop={files.isOver || undefined}
      onDragOver={files.onDragOver}
      onDragLeave={files.onDragLeave}
      onDrop={files.onDrop}
    >
      {post.isError && <ProblemPanel error={post.error} what="The message was not sent. It is still here." />}
      {files.refusal && (
        <p className="composer-refusal" role="alert">
          {files.refusal}
        </p>
      )}
      {files.attached.length > 0 && (
        <ul className="composer-files" aria-label="Attached files">
          {files.attached.map((file) => (
            <li key={file.id} className="tag">
              <Icon name="file" /> <bdi>{file.file.name}</bdi> {formatBytes(file.file.size)}
              <button
                type="button"
                aria-label={`Remove ${file.file.name}`}
                disabled={post.isPending}
                onClick={() => files.remove(file.id)}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {files.progress && <UploadProgress progress={files.progress} />}
      <div className="composer-box">
        <Button
          tone="quiet"
          icon="attach"
          aria-label="Attach files"
          title="Attach files"
          isBusy={files.isReading}
          onClick={() => input.current?.click()}
        />
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event) => {
            void files.add(event.target.files);
            event.target.value = "";
          }}
        />
        <textarea
          ref={box}
          aria-label="Message"
          aria-describedby={helpId}
          rows={Math.min(8, text.split("\n").length)}
          placeholder="Write to the agent"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={files.onPaste}
        />
        <Button type="submit" tone="primary" icon="send" isBusy={post.isPending} disabled={isEmpty}>
          Send
        </Button>
      </div>
      <p id={helpId} className="hint">
        Enter sends, Shift+Enter starts a new line. Files can be dropped or pasted here.
      </p>
    </form>
  );
}

function UploadProgress({ progress: { sent, total } }: { progress: Progress }) {
  return (
    <p className="composer-progress">
      <progress aria-label="Upload of the attached files" max={total} value={sent} />
      {sent < total
        ? `${formatBytes(sent)} of ${formatBytes(total)} uploaded`
        : "Uploaded; the server looks at the files"}
    </p>
  );
}

/** The id of this very message: kept while it is tried again, new as soon as it is another one. */
function idOf(key: string, text: string, files: readonly Attached[]): string {
  const what = JSON.stringify([text, files.map(({ id }) => id)]);
  const kept = readDraft(key);
  const known = kept && (JSON.parse(kept) as { id: string; what: string });
  if (known && known.what === what) return known.id;
  const id = crypto.randomUUID();
  writeDraft(key, JSON.stringify({ id, what }));
  return id;
}

function useAttachments(workspaceId: string) {
  const [attached, setAttached] = useState<readonly Attached[]>([]);
  const [refusal, setRefusal] = useState<string>();
  const [isReading, setIsReading] = useState(false);
  const [isOver, setIsOver] = useState(false);
  const [progress, setProgress] = useState<Progress>();

  /** Uploads what is not there yet. A part of an upload that failed is not there: the next try sends all of it. */
  const upload = async () => {
    const missing = attached.filter(({ part }) => !part).map(({ file }) => file);
    if (missing.length === 0) return attached;
    setProgress({ sent: 0, total: missing.reduce((sum, { size }) => sum + size, 0) });
    try {
      const uploaded = withParts(attached, (await uploadFiles(workspaceId, missing, setProgress)).parts);
      setAttached((now) => now.map((one) => uploaded.find(({ id }) => id === one.id) ?? one));
      return uploaded;
    } finally {
      setProgress(undefined);
    }
  };
  const add = async (files: FileList | null) => {
    if (!files || files.length === 0) return;
    setIsReading(true);
    const result = await attach(attached, [...files]);
    setAttached(result.attached);
    setRefusal(result.refusal);
    setIsReading(false);
  };
  return {
    attached,
    refusal,
    isReading,
    isOver,
    progress,
    upload,
    add,
    remove: (id: string) => setAttached((now) => now.filter((one) => one.id !== id)),
    clear: () => setAttached([]),
    onPaste: (event: ClipboardEvent) => {
      if (event.clipboardData.files.length === 0) return;
      event.preventDefault();
      void add(event.clipboardData.files);
    },
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      setIsOver(true);
    },
    onDragLeave: () => setIsOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setIsOver(false);
      void add(event.dataTransfer.files);
    },
  };
}
