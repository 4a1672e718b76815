// What a session waits for from people: decisions about calls, answers to questions, results of the caller's tools.

import { CallApproval } from "./CallApproval";
import { CallQuestion } from "./CallQuestion";
import type { FullSnapshot } from "./queries";

export function PendingPanels({ snapshot }: { snapshot: FullSnapshot }) {
  const { session, pending } = snapshot;
  if (pending.approvals.length === 0 && pending.calls.length === 0) return null;
  return (
    <ul className="session-pending" aria-label="Waits for you">
      {pending.approvals.map((approval) => (
        <CallApproval key={approval.id} session={session} approval={approval} />
      ))}
      {pending.calls.map((call) => (
        <CallQuestion key={call.id} session={session} call={call} />
      ))}
    </ul>
  );
}
