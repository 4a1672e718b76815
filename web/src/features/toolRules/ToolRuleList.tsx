// What people decided about tool calls of a workspace once and for all (A23), and the way to take it back.
import type { ToolRule } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Button } from "../../components/Button";
import { formatMoment } from "../../components/format";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel, StaleNote } from "../../components/States";
import { useMay } from "../signIn/me";
import { useRevokeRule, useToolRules } from "./queries";

const WORD: Record<ToolRule["decision"], string> = {
  allow: "always allowed",
  deny: "always denied",
  ask: "always asked about",
};

export function ToolRuleList({ workspaceId }: { workspaceId: string }) {
  const query = useToolRules(workspaceId);
  return (
    <section className="tool-rules" aria-label="Tool rules">
      <h2>Tool rules</h2>
      {query.isPending ? (
        <Loading what="tool rules" />
      ) : !query.data ? (
        <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <>
          <StaleNote query={query} />
          {query.data.items.length === 0 ? (
            <p className="hint">
              None. “Always allow” beside a question about a tool call makes one, and nobody is asked again.
            </p>
          ) : (
            <ul aria-label="Rules that count in this workspace">
              {query.data.items.map((rule) => (
                <Rule key={rule.id} rule={rule} workspaceId={workspaceId} />
              ))}
            </ul>
          )}
          {query.data.isPartial && <p className="hint">Only the newest are shown.</p>}
        </>
      )}
    </section>
  );
}

function Rule({ rule, workspaceId }: { rule: ToolRule; workspaceId: string }) {
  const notify = useNotify();
  const revoke = useRevokeRule(workspaceId, () => notify(`The rule about ${rule.tool} counts no more`));
  const mayDecide = useMay("approvals:decide");
  const patterns = Object.entries(rule.arguments);
  return (
    <li className="tool-rule">
      <code>{rule.tool}</code>
      <span className="tag">{WORD[rule.decision]}</span>
      {patterns.map(([name, pattern]) => (
        <code key={name}>
          {name}: {pattern}
        </code>
      ))}
      <span className="tool-rule-when">
        <Ago at={rule.created_at} />
        {rule.expires_at != null && `, until ${formatMoment(rule.expires_at)}`}
      </span>
      {mayDecide && (
        <Button
          icon="trash"
          aria-label={`Revoke the rule about ${rule.tool}`}
          isBusy={revoke.isPending}
          onClick={() => revoke.mutate(rule.id)}
        >
          Revoke
        </Button>
      )}
      {revoke.isError && <ProblemPanel error={revoke.error} what="It was not revoked." />}
    </li>
  );
}
