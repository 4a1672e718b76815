// Where a message to a session is written. What is typed is a draft until the server has it; a message keeps its key while
// it is tried again, so that trying after a broken connection says nothing twice (A7).
import { type FormEvent, type KeyboardEvent, useId } from "react";
import type { BusyMode, SessionMessage, SessionStatus } from "../../api/types";
import { Button } from "../../components/Button";
import { readDraft, useDraft, writeDraft } from "../../components/draft";
import { ProblemPanel } from "../../components/States";
import { gist } from "../chat/parts";
import { type FullSnapshot, useSay, useTakeBack } from "./queries";
import { isBusy } from "./words";

const MODES: { mode: BusyMode; word: string }[] = [
  { mode: "queue", word: "after this run" },
  { mode: "steer", word: "into this run, at its next step" },
  { mode: "interrupt", word: "now, cutting this run short" },
];

interface SessionComposerProps {
  snapshot: FullSnapshot;
  status: SessionStatus;
}

export function SessionComposer({ snapshot, status }: SessionComposerProps) {
  const { session, pending } = snapshot;
  const place = `session.${session.id}`;
  const [text, setText, forget] = useDraft(place);
  const [mode, setMode] = useDraft(`${place}.mode`, "queue");
  const helpId = useId();
  const tryKey = `${place}.try`;
  const say = useSay(session.workspace_id, session.id, (said) => {
    writeDraft(tryKey, undefined);
    // What was typed while the message was on its way stays.
    if ((readDraft(place) ?? "").trim() === said.text) forget();
  });
  const busy = isBusy(status);
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    const said = text.trim();
    if (!said || say.isPending) return;
    say.mutate({ key: keyOf(tryKey, said), text: said, mode: busy ? (mode as BusyMode) : null });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="composer" onSubmit={send}>
      <QueuedMessages messages={pending.messages} workspaceId={session.workspace_id} session={session.id} />
      {say.isError && <ProblemPanel error={say.error} what="The message was not sent. It is still here." />}
      <div className="composer-box">
        <textarea
          aria-label="Message"
          aria-describedby={helpId}
          rows={Math.min(8, text.split("\n").length)}
          placeholder={`Write to ${session.agent}`}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <Button type="submit" tone="primary" icon="send" isBusy={say.isPending} disabled={!text.trim()}>
          Send
        </Button>
      </div>
      <div className="composer-foot">
        <p id={helpId} className="hint">
          Enter sends, Shift+Enter starts a new line.
        </p>
        {busy && (
          <label className="composer-mode">
            A run is under way. Deliver
            <select value={mode} onChange={(event) => setMode(event.target.value)}>
              {MODES.map((one) => (
                <option key={one.mode} value={one.mode}>
                  {one.word}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
    </form>
  );
}

interface QueuedMessagesProps {
  messages: readonly SessionMessage[];
  workspaceId: string;
  session: string;
}

/** What was said and the model has not seen yet; each can be taken back until then (A34). */
function QueuedMessages({ messages, workspaceId, session }: QueuedMessagesProps) {
  const takeBack = useTakeBack(workspaceId, session);
  if (messages.length === 0 && !takeBack.isError) return null;
  return (
    <>
      {takeBack.isError && <ProblemPanel error={takeBack.error} what="The message was not taken back." />}
      <ul className="session-queue" aria-label="Messages that wait">
        {messages.map((message) => (
          <li key={message.id}>
            <span className="tag">{message.mode}</span>
            <bdi>{gist(message.parts, 120)}</bdi>
            <Button
              tone="quiet"
              icon="close"
              aria-label={`Take back: ${gist(message.parts, 40)}`}
              isBusy={takeBack.isPending && takeBack.variables === message.id}
              onClick={() => takeBack.mutate(message.id)}
            >
              Take back
            </Button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The key of this very message: kept while it is tried again, new as soon as it is another one. */
function keyOf(draft: string, text: string): string {
  const kept = readDraft(draft);
  const known = kept && (JSON.parse(kept) as { key: string; text: string });
  if (known && known.text === text) return known.key;
  const key = crypto.randomUUID();
  writeDraft(draft, JSON.stringify({ key, text }));
  return key;
}
