//! The lease of a sweep (F22): taken before a run, kept while it goes on, given back at its end.

use warren_model::Timestamp;
use warren_rules::lifecycle::sweeps::{Hold, LEASE_MS, Standing, Sweep, hold};
use warren_store::{Lease, WriteTx};

use crate::{Error, Fleet};

impl Fleet {
    /// The lease, or who has it.
    pub(super) async fn take_sweep(&self, sweep: Sweep) -> Result<Result<Lease, String>, Error> {
        let (name, owner) = (format!("sweep/{}", sweep.as_str()), self.context().instance().to_owned());
        let now = self.clock().now();
        self.store()
            .write(move |tx| {
                Ok(match tx.take_lease(&name, &owner, now, now.plus_ms(LEASE_MS))? {
                    Some(lease) => Ok(lease),
                    None => Err(tx.lease(&name)?.map_or_else(String::new, |held| held.owner)),
                })
            })
            .await
    }

    pub(super) async fn give_back(&self, lease: Lease) -> Result<(), Error> {
        self.store().write(move |tx| tx.release_lease(&lease).map_err(Error::from)).await
    }

    /// Who has a sweep that was taken over; nobody, if it is done already.
    pub(super) async fn who_sweeps(&self, lease: &Lease) -> Result<String, Error> {
        let name = lease.name.clone();
        let held = self.store().read(move |tx| tx.lease(&name).map_err(Error::from)).await?;
        Ok(held.map_or_else(String::new, |held| held.owner))
    }
}

/// Whether the run may go on. If so, nobody takes its lease over before this transaction ends.
pub(super) fn keep(tx: &mut dyn WriteTx, mine: &Lease, now: Timestamp) -> Result<bool, Error> {
    let standing = tx.lease(&mine.name)?;
    let standing = standing.map(|held| Standing { fence: held.fence, expires_at: held.expires_at });
    match hold(mine.fence, standing, now) {
        Hold::Stop => Ok(false),
        Hold::Keep => match tx.check_lease(mine, now) {
            Ok(()) => Ok(true),
            Err(warren_store::Error::LeaseLost) => Ok(false),
            Err(error) => Err(error.into()),
        },
        Hold::Renew { until } => match tx.take_lease(&mine.name, &mine.owner, now, until)? {
            Some(renewed) if renewed.fence == mine.fence => Ok(true),
            // Somebody had it and was done between the look and now.
            Some(anew) => tx.release_lease(&anew).map(|()| false).map_err(Error::from),
            None => Ok(false),
        },
    }
}
