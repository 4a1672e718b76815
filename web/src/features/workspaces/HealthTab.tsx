import type { ReactNode } from "react";
import type { Workspace } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Empty, Loading, ProblemPanel, StaleNote, WithCode } from "../../components/States";
import { StatusBadge } from "../../components/StatusBadge";
import { SecretSection } from "../settings/SecretSection";
import { limitRows } from "./limits";
import { useWorkspaceHealth } from "./queries";

export function HealthTab({ workspace }: { workspace: Workspace }) {
  const query = useWorkspaceHealth(workspace.id);
  if (query.isPending) return <Loading what="health" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const { registry } = query.data;
  return (
    <>
      <StaleNote query={query} />
      <div className="cards">
        <section className="card" aria-labelledby="health-state">
          <h2 id="health-state">State</h2>
          <Facts
            rows={[
              ["Status", <StatusBadge key="status" status={query.data.status} />],
              ["Reason", query.data.reason ?? "–"],
              ["Wanted", workspace.desired],
              ["Who works in it", RUNTIME_WORDS[workspace.runtime]],
              ["Privileges", workspace.tier],
              ["Settings", generations(workspace)],
              ["Changed", <Ago key="changed" at={workspace.updated_at} />],
            ]}
          />
        </section>
        {workspace.vitals && <RuntimeCard vitals={workspace.vitals} />}
        <section className="card" aria-labelledby="health-registry">
          <h2 id="health-registry">Its place</h2>
          {registry ? (
            <Facts
              rows={[
                ["State", registry.state],
                ["Provider", registry.provider],
                ["Open since", moment(registry.opened_at)],
                ["Last reached", moment(registry.last_success_at)],
                ["Last tried", moment(registry.last_attempt_at)],
                ["Last error", registry.last_error ?? "none"],
                ["Opened", times(registry.opens)],
                ["Let go to save memory", times(registry.evictions)],
              ]}
            />
          ) : (
            <Empty icon="health" title="Not open on this server">
              <p className="hint">It is opened when something in it is used.</p>
            </Empty>
          )}
        </section>
        <section className="card card-wide" aria-labelledby="health-limits">
          <h2 id="health-limits">What holds for it</h2>
          <Limits limits={registry?.limits ?? workspace.provider} />
        </section>
      </div>
      <SecretSection workspaceId={workspace.id} />
    </>
  );
}

const RUNTIME_WORDS: Record<Workspace["runtime"], string> = {
  hosted: "an agent of Warren’s, if it has one",
  resident: "a program in its box",
  external: "a program elsewhere",
};

function times(count: number): string {
  return count === 0 ? "never" : count === 1 ? "once" : `${count} times`;
}

function Limits({ limits }: { limits: Record<string, unknown> }) {
  const rows = limitRows(limits);
  return (
    <dl className="facts facts-columns">
      {rows.map(({ word, value, note }) => (
        <div key={word}>
          <dt>{word}</dt>
          <dd>
            <WithCode text={value} />
            {note && <span className="fact-note">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** What the runtime says of itself. */
function RuntimeCard({ vitals }: { vitals: NonNullable<Workspace["vitals"]> }) {
  return (
    <section className="card" aria-labelledby="health-runtime">
      <h2 id="health-runtime">Runtime</h2>
      <Facts
        rows={[
          ["Last report", moment(vitals.last_heartbeat_at)],
          ["Says it is", vitals.runtime_state || "well"],
          ["Works on", vitals.active_tasks === 1 ? "1 task" : `${vitals.active_tasks} tasks`],
          ["Current task", vitals.current_task ?? "–"],
          ["Last progress", moment(vitals.last_progress_at)],
          ["Failed of late", `${Math.round(vitals.error_rate * 100)} %`],
          ["An error", vitals.sample_error ?? "–"],
        ]}
      />
    </section>
  );
}

function Facts({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function generations({ generation, observed_generation, behind_of }: Workspace): string {
  if (generation === observed_generation) return "as wanted";
  return behind_of === "secrets" ? "changed secrets are being brought in" : "a change is being brought in";
}

function moment(at: string | null | undefined): ReactNode {
  return at ? <Ago at={at} /> : "–";
}
