import type { ReactNode } from "react";
import type { Workspace } from "../../api/types";
import { Ago } from "../../components/Ago";
import { Empty, Loading, ProblemPanel, StaleNote } from "../../components/States";
import { StatusBadge } from "../../components/StatusBadge";
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
              ["Runtime", workspace.runtime],
              ["Tier", workspace.tier],
              ["Generation", generations(workspace)],
              ["Version", workspace.version],
              ["Changed", <Ago key="changed" at={workspace.updated_at} />],
            ]}
          />
        </section>
        {workspace.vitals && <RuntimeCard vitals={workspace.vitals} />}
        <section className="card" aria-labelledby="health-registry">
          <h2 id="health-registry">Registry</h2>
          {registry ? (
            <Facts
              rows={[
                ["State", registry.state],
                ["Provider", registry.provider],
                ["Opened", moment(registry.opened_at)],
                ["Last success", moment(registry.last_success_at)],
                ["Last attempt", moment(registry.last_attempt_at)],
                ["Last error", registry.last_error ?? "none"],
                ["Opens", registry.opens],
                ["Evictions", registry.evictions],
              ]}
            />
          ) : (
            <Empty icon="health" title="Not open on this server">
              <p className="hint">It is opened when something in it is used.</p>
            </Empty>
          )}
        </section>
        <section className="card" aria-labelledby="health-limits">
          <h2 id="health-limits">Limits</h2>
          <Facts rows={limitRows(registry?.limits ?? workspace.provider)} />
        </section>
      </div>
    </>
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
          ["Tasks", vitals.active_tasks],
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
  if (generation === observed_generation) {
    return String(generation);
  }
  const why = behind_of === "secrets" ? " for changed secrets" : "";
  return `${observed_generation}, going to ${generation}${why}`;
}

function moment(at: string | null | undefined): ReactNode {
  return at ? <Ago at={at} /> : "–";
}

/** `max_file_mb: 10` → “Max file”, “10 MB”. Names the page does not know are shown as they are. */
export function limitRows(limits: Record<string, unknown>): [string, string][] {
  return Object.entries(limits).map(([name, value]) => {
    const unit = /_(mb|ms|bytes|seconds)$/.exec(name)?.[1];
    const words = (unit ? name.slice(0, -unit.length - 1) : name).replaceAll("_", " ");
    const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
    const units: Record<string, string> = { mb: " MB", ms: " ms", bytes: " B", seconds: " s" };
    return [words.charAt(0).toUpperCase() + words.slice(1), shown + (unit ? units[unit] : "")];
  });
}
