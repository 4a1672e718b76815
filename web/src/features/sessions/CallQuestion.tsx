// A call that somebody outside gives its result: a question to the user (A33), or a tool of the caller (A31).
import { type FormEvent, useId, useState } from "react";
import type { Session, SessionCall } from "../../api/types";
import { Button } from "../../components/Button";
import { useDraft } from "../../components/draft";
import { ProblemPanel } from "../../components/States";
import { NotAllowed, useMay } from "../signIn/me";
import { Preformatted } from "./CallRow";
import { useHandIn } from "./queries";
import { asText } from "./words";

interface CallQuestionProps {
  session: Pick<Session, "id" | "workspace_id">;
  call: SessionCall;
}

export function CallQuestion({ session, call }: CallQuestionProps) {
  const [text, setText, forget] = useDraft(`answer.${session.id}.${call.id}`);
  const [wrong, setWrong] = useState<string>();
  const handIn = useHandIn(session.workspace_id, session.id, forget);
  const mayUse = useMay("workspaces:use");
  const titleId = useId();
  const fieldId = useId();
  const { question, choices } = readQuestion(call.arguments);
  const isQuestion = call.place === "person";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isQuestion) {
      handIn.mutate({ call_id: call.id, output: text.trim() });
      return;
    }
    try {
      setWrong(undefined);
      handIn.mutate({ call_id: call.id, output: JSON.parse(text) });
    } catch {
      setWrong("The result is not JSON. Text stands between double quotes.");
    }
  };
  return (
    <li className="approval" aria-labelledby={titleId}>
      <p className="approval-head">
        <strong id={titleId}>
          {isQuestion ? (
            (question ?? "The agent asks you something")
          ) : (
            <>
              The caller runs <code>{call.tool}</code>
            </>
          )}
        </strong>
      </p>
      {!isQuestion && (
        <>
          <p className="hint">
            Usually a program does this and hands the result in. You can give it by hand here.
          </p>
          <Preformatted text={asText(call.arguments)} />
        </>
      )}
      {mayUse && choices.length > 0 && (
        <div className="question-choices">
          {choices.map((choice) => (
            <Button
              key={choice}
              disabled={handIn.isPending}
              onClick={() => handIn.mutate({ call_id: call.id, output: choice })}
            >
              {choice}
            </Button>
          ))}
        </div>
      )}
      {wrong && (
        <p className="composer-refusal" role="alert">
          {wrong}
        </p>
      )}
      {handIn.isError && <ProblemPanel error={handIn.error} what="The answer was not taken." />}
      {!mayUse ? (
        <NotAllowed what="answering" />
      ) : (
        <form className="approval-foot" onSubmit={submit}>
          <label htmlFor={fieldId} className="visually-hidden">
            {isQuestion ? "Your answer" : `Result of ${call.tool}, as JSON`}
          </label>
          <input
            id={fieldId}
            placeholder={
              choices.length > 0
                ? "Or answer in your own words"
                : isQuestion
                  ? "Your answer"
                  : "Result, as JSON"
            }
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <Button type="submit" tone="primary" icon="send" isBusy={handIn.isPending} disabled={!text.trim()}>
            Answer
          </Button>
        </form>
      )}
    </li>
  );
}

function readQuestion(value: unknown): { question: string | undefined; choices: string[] } {
  const { question, choices } = (value ?? {}) as { question?: unknown; choices?: unknown };
  return {
    question: typeof question === "string" ? question : undefined,
    choices: Array.isArray(choices) ? choices.filter((one) => typeof one === "string") : [],
  };
}
