import { useState } from "react";
import type { Session, SessionStatus } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { ProblemPanel } from "../../components/States";
import { useStop } from "./queries";
import { isBusy } from "./words";

/** Stopping a run: at the next safe point, to be resumed, or at once and for good. */
export function StopButtons({ session, status }: { session: Session; status: SessionStatus }) {
  const stop = useStop(session.workspace_id, session.id);
  const [isAsked, setIsAsked] = useState(false);
  if (!isBusy(status)) return null;
  const { run, stop: stopping } = session;
  return (
    <div className="session-stops">
      {stopping && <span className="hint">stopping…</span>}
      <Button
        icon="stop"
        isBusy={stop.isPending && stop.variables?.how === "interrupt"}
        disabled={stopping != null}
        title="Stop at the next safe point; it can be resumed"
        onClick={() => stop.mutate({ how: "interrupt", run })}
      >
        Stop
      </Button>
      <Button tone="quiet" onClick={() => setIsAsked(true)}>
        Abort
      </Button>
      {stop.isError && <ProblemPanel error={stop.error} what="The run was not stopped." />}
      {isAsked && (
        <Dialog title="Abort this run?" onClose={() => setIsAsked(false)}>
          <div className="form">
            <p>
              It fails at once. Messages that wait are dropped, and calls that run are cut. What was done
              stays done.
            </p>
            {stop.isError && <ProblemPanel error={stop.error} what="The run was not aborted." />}
            <footer className="dialog-foot">
              <Button onClick={() => setIsAsked(false)}>Go on with it</Button>
              <Button
                tone="danger"
                isBusy={stop.isPending}
                onClick={() => stop.mutate({ how: "abort", run }, { onSuccess: () => setIsAsked(false) })}
              >
                Abort the run
              </Button>
            </footer>
          </div>
        </Dialog>
      )}
    </div>
  );
}
