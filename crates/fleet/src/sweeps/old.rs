//! Clears away what is older than it is kept (F42), in small transactions so that other writers need not wait.

use warren_rules::lifecycle::sweeps::{Sweep, cleared_before};
use warren_service::Error;
use warren_store::{Lease, WriteTx};

use super::{Go, Ran, Sweeps, Tally, lease};

const BATCH: u32 = 1_000;
/// Batches of one run, per table. What is left waits for the next.
const MAX_BATCHES: usize = 1_000;

type Prune = fn(&mut dyn WriteTx, warren_model::Timestamp, u32) -> Result<u64, warren_store::Error>;

impl Sweeps {
    pub(super) async fn sweep_old(&self, tally: &mut Tally) -> Result<Ran, Error> {
        let (now, kept) = (self.parts.context.now(), self.parts.config.retention);
        let tables: [(Option<u32>, Prune); 2] = [
            (kept.events_days, |tx, before, limit| tx.prune_events(before, limit)),
            (kept.ended_tokens_days, |tx, before, limit| {
                tx.prune_made_with(limit)?;
                tx.prune_invitations(before, limit)?;
                tx.prune_tokens(before, limit)
            }),
        ];
        let lease = match self.leases.take(Sweep::Retention).await? {
            Ok(lease) => lease,
            Err(owner) => return Ok(Ran::Elsewhere { owner }),
        };
        for (days, prune) in tables {
            let Some(before) = cleared_before(days, now) else { continue };
            match self.clear(&lease, before, prune, tally).await? {
                Go::On => {}
                Go::Home => return Ok(Ran::TakenOver { owner: self.leases.holder(&lease).await? }),
            }
        }
        self.leases.give_back(lease).await?;
        Ok(Ran::Done)
    }

    async fn clear(
        &self,
        lease: &Lease,
        before: warren_model::Timestamp,
        prune: Prune,
        tally: &mut Tally,
    ) -> Result<Go, Error> {
        for _ in 0..MAX_BATCHES {
            let (held, now) = (lease.clone(), self.parts.context.now());
            let batch = self
                .parts
                .context
                .store()
                .write(move |tx| {
                    if !lease::keep(tx, &held, now)? {
                        return Ok(None);
                    }
                    prune(tx, before, BATCH).map(Some).map_err(Error::from)
                })
                .await?;
            let Some(batch) = batch else { return Ok(Go::Home) };
            tally.looked_at += batch;
            tally.acted_on += batch;
            if batch == 0 || self.parts.context.is_stopping() {
                break;
            }
        }
        Ok(Go::On)
    }
}
