//! The sweeps over deadlines: what is due is read, planned and written in batches.

use warren_model::{Principal, Runtime, WorkspaceId};
use warren_rules::lifecycle::sweeps::{Act, Sweep, Then, ask_first, deed};
use warren_service::Error;
use warren_store::{Due, Lease, WriteTx};

use super::{Go, Ran, Sweeps, Tally, lease};
use crate::lifecycle::{DesiredChange, SignalOptions, TxInputs, apply_desired, apply_signal_knowing};

/// Workspaces dealt with in one transaction: enough that its commit does not count, few enough that other writers wait for
/// some 20 ms at most.
const BATCH: usize = 500;
/// Workspaces that are put in order together.
const STRETCH: u32 = 20_000;
/// Stretches of one run. What is left is due again at the next.
const MAX_STRETCHES: usize = 250;

/// What became of one workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dealt {
    /// Somebody was faster, or only the deadline was cleared.
    Nothing,
    Acted,
    /// The reconciler is to look at it.
    Handed(WorkspaceId),
    /// Somebody is to find out whether its runtime is there, since its work does not move.
    Asked(WorkspaceId),
    /// Somebody is to find out whether its runtime is there, since nothing was heard of it.
    LookedFor(WorkspaceId),
}

impl Sweeps {
    pub(super) async fn sweep_due(&self, sweep: Sweep, due: Due, tally: &mut Tally) -> Result<Ran, Error> {
        // Reading costs no commit; most runs end here.
        if self.due(due, 1).await?.is_empty() {
            return Ok(Ran::Done);
        }
        let lease = match self.leases.take(sweep).await? {
            Ok(lease) => lease,
            Err(owner) => return Ok(Ran::Elsewhere { owner }),
        };
        for _ in 0..MAX_STRETCHES {
            let mut ids = self.due(due, STRETCH).await?;
            // Those that were made together lie together on disk, so that a batch of neighbours touches few pages.
            ids.sort_unstable();
            let is_last = ids.len() < STRETCH as usize;
            for batch in ids.chunks(BATCH) {
                if self.parts.context.is_stopping() {
                    break;
                }
                match self.sweep_batch(sweep, &lease, batch, tally).await? {
                    Go::On => {}
                    Go::Home => return Ok(Ran::TakenOver { owner: self.leases.holder(&lease).await? }),
                }
            }
            // What failed is due still; to go on would meet the same again and again.
            if is_last || tally.failed > 0 || self.parts.context.is_stopping() {
                break;
            }
        }
        self.leases.give_back(lease).await?;
        Ok(Ran::Done)
    }

    async fn due(&self, due: Due, limit: u32) -> Result<Vec<WorkspaceId>, Error> {
        let now = self.parts.context.now();
        self.parts.context.store().read(move |tx| tx.due(due, now, limit).map_err(Error::from)).await
    }

    /// One transaction for all; if that fails, one for each, so that one bad row costs nobody else its turn.
    async fn sweep_batch(
        &self,
        sweep: Sweep,
        lease: &Lease,
        ids: &[WorkspaceId],
        tally: &mut Tally,
    ) -> Result<Go, Error> {
        let inputs = self.parts.signals.inputs(&Principal::system(sweep.as_str()));
        let work = Work { sweep, lease: lease.clone(), inputs };
        match self.deal_with(&work, ids.to_vec()).await {
            Ok(Some(dealt)) => self.count(&dealt, tally),
            Ok(None) => return Ok(Go::Home),
            Err(error) if error.code == warren_model::ErrorCode::PlatformUnavailable => return Err(error),
            Err(_) => {
                for id in ids.iter().copied() {
                    match self.deal_with(&work, vec![id]).await {
                        Ok(Some(dealt)) => self.count(&dealt, tally),
                        Ok(None) => return Ok(Go::Home),
                        Err(error) => {
                            tracing::warn!(workspace.id = %id, sweep = sweep.as_str(), %error, "a sweep could not deal with a workspace");
                            tally.looked_at += 1;
                            tally.failed += 1;
                        }
                    }
                }
            }
        }
        Ok(Go::On)
    }

    /// Absent: the sweep is somebody else's by now, and nothing was written.
    async fn deal_with(&self, work: &Work, ids: Vec<WorkspaceId>) -> Result<Option<Vec<Dealt>>, Error> {
        let work = work.clone();
        self.parts
            .context
            .write_with_retries(true, move |tx| {
                if !lease::keep(tx, &work.lease, work.inputs.now)? {
                    return Ok(None);
                }
                ids.iter().map(|id| deal_with_one(tx, &work, *id)).collect::<Result<_, _>>().map(Some)
            })
            .await
    }

    fn count(&self, dealt: &[Dealt], tally: &mut Tally) {
        tally.looked_at += dealt.len() as u64;
        for one in dealt {
            match one {
                Dealt::Nothing => {}
                Dealt::Acted => tally.acted_on += 1,
                Dealt::Handed(id) => {
                    tally.acted_on += 1;
                    self.parts.reconciler.run_in_background(*id);
                }
                Dealt::Asked(id) => {
                    tally.acted_on += 1;
                    self.parts.probes.run_in_background(*id);
                }
                Dealt::LookedFor(id) => {
                    tally.acted_on += 1;
                    self.parts.probes.look_for_in_background(*id);
                }
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Work {
    sweep: Sweep,
    lease: Lease,
    inputs: TxInputs,
}

fn deal_with_one(tx: &mut dyn WriteTx, work: &Work, id: WorkspaceId) -> Result<Dealt, Error> {
    let Some(known) = tx.workspace(id)? else { return Ok(Dealt::Nothing) };
    let vitals = tx.hold_vitals(id)?;
    let inputs = &work.inputs;
    if work.sweep == Sweep::Liveness && known.spec.runtime == Runtime::External {
        // Only one that has a card can be called.
        let has_card = tx.registration(id)?.is_some_and(|registration| registration.agent_card.is_some());
        if let Some(vitals) = ask_first(&known, &vitals, inputs.now).filter(|_| has_card) {
            tx.put_vitals(id, &vitals)?;
            return Ok(Dealt::LookedFor(id));
        }
    }
    let Some(deed) = deed(work.sweep, &known, &vitals, inputs.now) else { return Ok(Dealt::Nothing) };
    let mut row = deed.row;
    match deed.act {
        Act::Write => {}
        Act::Signal(signal) => {
            apply_signal_knowing(tx, &mut row, &vitals, signal, inputs, &SignalOptions::default())?;
        }
        Act::SetDesired(desired) => {
            apply_desired(tx, row, DesiredChange::to(desired), inputs)?;
            return Ok(Dealt::Handed(id));
        }
    }
    if let Some(vitals) = &deed.vitals {
        tx.put_vitals(id, vitals)?;
    }
    if row != known {
        tx.change_workspace(&known, &row)?;
    }
    Ok(match (deed.then, deed.act) {
        (Then::Reconcile, _) => Dealt::Handed(id),
        (Then::Probe, _) => Dealt::Asked(id),
        (Then::Nothing, Act::Signal(_)) => Dealt::Acted,
        (Then::Nothing, Act::Write | Act::SetDesired(_)) => Dealt::Nothing,
    })
}
