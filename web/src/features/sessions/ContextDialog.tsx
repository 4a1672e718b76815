// The context inspector (A19): exactly what the model was shown for a step, and what took how much of it.
import type { Session, StepContext } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { formatBytes } from "../../components/format";
import { Markdown } from "../../components/Markdown";
import { Loading, ProblemPanel } from "../../components/States";
import { Preformatted } from "./CallRow";
import { contextParts } from "./contextParts";
import { useStepContext } from "./queries";
import { asText, formatTokens, gistOf } from "./words";

interface ContextDialogProps {
  session: Session;
  step: number;
  onClose: () => void;
}

export function ContextDialog({ session, step, onClose }: ContextDialogProps) {
  const query = useStepContext(session.workspace_id, session.id, step);
  return (
    <Dialog title={`What the model was shown for step ${step}`} onClose={onClose} isWide>
      <div className="form context">
        {query.isPending ? (
          <Loading what="the context" />
        ) : query.data ? (
          <ContextView context={query.data} />
        ) : (
          <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
        )}
      </div>
    </Dialog>
  );
}

function ContextView({ context }: { context: StepContext }) {
  const parts = contextParts(context);
  const { usage } = context;
  return (
    <>
      <p className="context-model">
        <code>{context.model}</code>
        {!context.was_asked && <span>No answer yet: this is what it would be asked with now.</span>}
        {usage && usage.input_tokens > 0 && (
          <span>
            {formatTokens(usage.input_tokens)} tokens read, {formatTokens(usage.cached_input_tokens)} of them
            from the cache ({Math.round((usage.cached_input_tokens / usage.input_tokens) * 100)} %),{" "}
            {formatTokens(usage.cache_write_tokens)} written to it
          </span>
        )}
      </p>
      <table className="context-parts">
        <caption className="visually-hidden">Tokens by origin</caption>
        <thead>
          <tr>
            <th>Origin</th>
            <th>Share</th>
            <th>Tokens, about</th>
            <th>Length</th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <tr key={part.origin}>
              <th scope="row">{part.word}</th>
              <td>
                <meter aria-label={`Share of: ${part.word}`} value={part.share} max={1} />{" "}
                {percent(part.share)}
              </td>
              <td>{part.tokens == null ? "not known" : formatTokens(part.tokens)}</td>
              <td>{formatBytes(part.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {context.system && (
        <details>
          <summary>System prompt</summary>
          <Preformatted text={context.system} />
        </details>
      )}
      <details>
        <summary>{context.tools.length} tools</summary>
        <ul className="context-tools">
          {context.tools.map((tool) => (
            <li key={tool.name}>
              <details>
                <summary>
                  <code>{tool.name}</code> {tool.description}
                </summary>
                <Preformatted text={asText(tool.input_schema)} />
              </details>
            </li>
          ))}
        </ul>
      </details>
      <h3>Conversation</h3>
      <ol className="context-turns">
        {context.turns.map((turn, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
          <li key={index} data-role={turn.role}>
            <strong>{turn.role === "user" ? "User" : "Assistant"}</strong>
            <Turn turn={turn} />
          </li>
        ))}
      </ol>
      <details>
        <summary>The whole request, as data</summary>
        <Preformatted text={JSON.stringify(context, null, 2)} />
      </details>
    </>
  );
}

function percent(share: number): string {
  return share < 0.005 ? "under 1 %" : `${Math.round(share * 100)} %`;
}

function Turn({ turn }: { turn: StepContext["turns"][number] }) {
  if (turn.role === "user") {
    return turn.parts.map((part, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
      <Markdown key={index} text={part.text ?? asText(part)} />
    ));
  }
  return (
    <>
      {turn.blocks.map((block, index) =>
        block.type === "call" ? null : (
          // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
          <div key={index} data-block={block.type}>
            {block.type === "reasoning" && <span className="hint">reasoning: </span>}
            <Markdown text={block.text} />
          </div>
        ),
      )}
      {turn.calls.map((call) => (
        <details key={call.id} className="context-call">
          <summary>
            <code>{call.tool}</code> {gistOf(call.arguments, 80)}: {call.outcome.kind}
          </summary>
          <Preformatted text={asText(call.arguments)} />
          <Preformatted text={asText(call.outcome.result)} />
        </details>
      ))}
    </>
  );
}
