// A tool call as one line that opens: what was proposed, what was decided, what it was carried out with, and the result.
import { useId, useState } from "react";
import { formatBytes, formatDuration } from "../../components/format";
import { Icon } from "../../components/Icon";
import { visibleText } from "../../components/visibleText";
import { isAsking, type ShownCall } from "./transcript";
import { asText, between, gistOf, resultGist } from "./words";

const OUTCOMES: Record<string, { word: string; tone: string }> = {
  done: { word: "done", tone: "good" },
  failed: { word: "failed", tone: "bad" },
  denied: { word: "denied", tone: "warn" },
  unknown: { word: "cut off, end unknown", tone: "warn" },
};

export function CallRow({ call }: { call: ShownCall }) {
  const [isOpen, setIsOpen] = useState(false);
  const bodyId = useId();
  const { word, tone } = stateOf(call);
  const took = between(call.startedAt, call.endedAt);
  const shown = call.effective ?? call.proposed ?? call.draft;
  return (
    <div className="call" data-call={call.id} data-tone={tone}>
      <button
        type="button"
        className="call-line"
        aria-expanded={isOpen}
        aria-controls={bodyId}
        onClick={() => setIsOpen(!isOpen)}
      >
        <Icon name="chevron" className="tree-chevron" />
        <code className="call-tool">{visibleText(call.tool)}</code>
        <span className="call-gist">{gistOf(shown)}</span>
        <span className="call-state">
          {word}
          {took !== undefined && ` in ${formatDuration(took)}`}
        </span>
      </button>
      {!isOpen && call.outcome && <p className="call-result">{resultGist(call.outcome.result)}</p>}
      {!call.outcome && call.output && <Preformatted text={call.output} />}
      <div id={bodyId} hidden={!isOpen}>
        {isOpen && <CallDetails call={call} />}
      </div>
    </div>
  );
}

export function CallDetails({ call }: { call: ShownCall }) {
  const proposed = asText(call.proposed ?? call.draft);
  const effective = asText(call.effective);
  const isEdited = call.effective !== undefined && effective !== proposed;
  return (
    <dl className="call-details">
      <Detail word="Proposed">
        <Preformatted text={proposed} />
        {call.problem && <p className="composer-refusal">{call.problem}</p>}
      </Detail>
      <Detail word="Decided">{decisionOf(call)}</Detail>
      {isEdited && (
        <Detail word="Carried out with">
          <Preformatted text={effective} />
        </Detail>
      )}
      {call.outcome && (
        <Detail word="Result">
          <Preformatted text={asText(call.outcome.result)} />
          {call.outcome.wholeBytes !== undefined && (
            <p className="hint">
              The model saw this much of {formatBytes(call.outcome.wholeBytes)} and may read on.
            </p>
          )}
        </Detail>
      )}
    </dl>
  );
}

function Detail({ word, children }: { word: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{word}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function Preformatted({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <pre className="message-code" tabIndex={0}>
      {visibleText(text)}
    </pre>
  );
}

/** What was decided, and by whom. */
function decisionOf({ decision, question }: ShownCall): string {
  if (!decision) {
    if (!question) return "Nothing speaks against it.";
    return question.reason ? `A person is asked: ${question.reason}` : "A person is asked.";
  }
  const note = decision.note ?? decision.reason;
  const because = note ? `: ${note}` : "";
  switch (decision.decision) {
    case "allowed":
      return "Allowed by the policies";
    case "approved":
      return `Approved by a person${because}`;
    case "denied":
      return `Denied${because}`;
    default:
      return String(decision.decision);
  }
}

export function stateOf(call: ShownCall): { word: string; tone: string } {
  if (call.outcome) return OUTCOMES[call.outcome.kind] ?? { word: call.outcome.kind, tone: "quiet" };
  if (isAsking(call)) return { word: "waits for a decision", tone: "warn" };
  if (call.isOffered) return { word: "waits for an answer", tone: "warn" };
  if (call.startedAt) return { word: "running", tone: "busy" };
  if (call.proposed === undefined) return { word: "being written", tone: "busy" };
  return { word: "waits for its turn", tone: "quiet" };
}
