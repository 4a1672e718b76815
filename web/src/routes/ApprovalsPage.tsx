import { Empty, Loading, ProblemPanel, StaleNote } from "../components/States";
import { ApprovalCard } from "../features/approvals/ApprovalList";
import { PastApprovals } from "../features/approvals/PastApprovals";
import { usePendingApprovals } from "../features/approvals/queries";

/** What all workspaces ask of people (X51), the newest first. */
export function ApprovalsPage() {
  const query = usePendingApprovals();
  if (query.isPending) return <Loading what="approvals" />;
  if (!query.data) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  const { items, isPartial } = query.data;
  return (
    <div className="page">
      <header className="page-head">
        <h1>Approvals</h1>
      </header>
      <StaleNote query={query} />
      {items.length === 0 ? (
        <Empty icon="hand" title="Nothing waits for a decision">
          <p className="hint">When an agent asks before it acts, its question appears here.</p>
        </Empty>
      ) : (
        <ul className="inbox" aria-label="Waiting for a decision">
          {items.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} isGlobal />
          ))}
        </ul>
      )}
      {isPartial && <p className="hint">Only the youngest {items.length} are shown.</p>}
      <section className="people-section" aria-labelledby="past-approvals">
        <h2 id="past-approvals">Decided before</h2>
        <PastApprovals />
      </section>
    </div>
  );
}
