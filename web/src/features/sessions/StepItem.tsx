// One step in a conversation: what the model said, and the calls that it asked for.
import { formatClock, formatMoment } from "../../components/format";
import { Markdown } from "../../components/Markdown";
import { CallRow } from "./CallRow";
import { blocksInOrder, type ShownBlock, type ShownStep } from "./transcript";

export function StepItem({ step, agent }: { step: ShownStep; agent: string }) {
  return (
    <li className="message session-step" data-look="agent" data-step={step.number}>
      <header className="message-head">
        <bdi className="message-author">{agent}</bdi>
        <span>step {step.number}</span>
        <time dateTime={step.startedAt} title={formatMoment(step.startedAt)}>
          {formatClock(step.startedAt)}
        </time>
        {step.attempt > 1 && (
          <span className="tag" title={step.resetBecause}>
            asked {step.attempt} times
          </span>
        )}
      </header>
      <div className="message-body">
        {step.resetBecause && !step.answeredAt && (
          <p className="hint">What was said so far was taken back: {step.resetBecause}</p>
        )}
        {blocksInOrder(step).map((block, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place in the answer is the identity
          <BlockItem key={index} block={block} step={step} />
        ))}
      </div>
    </li>
  );
}

function BlockItem({ block, step }: { block: ShownBlock; step: ShownStep }) {
  switch (block.kind) {
    case "text":
      return <Markdown text={block.text} />;
    case "reasoning":
      return (
        <details className="session-reasoning">
          <summary>Reasoning</summary>
          <Markdown text={block.text} />
        </details>
      );
    case "call": {
      const call = step.calls.find(({ id }) => id === block.id);
      return call && <CallRow call={call} />;
    }
  }
}
