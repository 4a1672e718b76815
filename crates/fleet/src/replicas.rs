//! Which replica has a workspace's box, in the database (O10); `rules::replicas` says what follows.
//!
//! ```text
//!   start ──▶ lease `replica/<name>`, renewed while it lives, given back at the stop
//!   first use, or a reconcile ──▶ claim: the row of the workspace names us, or somebody who lives, and then it is theirs
//! ```
//!
//! A claim is a write only where the row names somebody else. What another replica has is left to it: its own sweep
//! `catching_up` finds what was asked for there.

use std::sync::Arc;
use std::time::Duration;

use warren_model::{ErrorCode, Timestamp, Workspace, WorkspaceId};
use warren_rules::lifecycle::replicas::{Holder, LEASE_MS, RENEW_MS, Standing, lease_name, standing};
use warren_service::{Context, Error};
use warren_store::{BoxHolder, ReadTx, WriteTx};
use warren_workspace::Registry;
use warren_workspace::registry::{Declaration, LostPolicy};

use crate::sweeps::Tally;

/// This Warren among those on the same database.
#[derive(Debug, Clone)]
pub struct Replica {
    name: Arc<str>,
    /// Nobody else can be on this database: nothing is written, so that an idle Warren leaves the disk alone.
    is_alone: bool,
    context: Context,
}

impl Replica {
    /// `name` stays the same for as long as the data folder does.
    pub fn new(name: &str, context: Context) -> Self {
        Self { name: name.into(), is_alone: false, context }
    }

    /// The only one, on a database that no other process opens.
    pub fn alone(context: Context) -> Self {
        Self { name: "alone".into(), is_alone: true, context }
    }

    /// Says that it lives.
    async fn renew(&self) -> Result<(), Error> {
        if self.is_alone {
            return Ok(());
        }
        let (name, now) = (Arc::clone(&self.name), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                tx.take_lease(&lease_name(&name), &name, now, now.plus_ms(LEASE_MS))?;
                Ok(())
            })
            .await
    }

    /// Says that it ends, so that nobody has to wait for it.
    async fn leave(&self) -> Result<(), Error> {
        if self.is_alone {
            return Ok(());
        }
        let name = Arc::clone(&self.name);
        self.context
            .store()
            .write(move |tx| match tx.lease(&lease_name(&name))? {
                Some(lease) => tx.release_lease(&lease).map_err(Error::from),
                None => Ok(()),
            })
            .await
    }

    pub(crate) async fn standing(&self, id: WorkspaceId) -> Result<Standing, Error> {
        if self.is_alone {
            return Ok(Standing::Alone);
        }
        let (me, now) = (self.clone(), self.context.now());
        self.context.store().read(move |tx| me.standing_in(tx, id, now).map(|(standing, _)| standing)).await
    }

    /// Makes the box ours, unless another has it and lives.
    pub(crate) async fn claim(&self, id: WorkspaceId) -> Result<(), Error> {
        let now = self.context.now();
        match self.standing(id).await? {
            Standing::Alone | Standing::Mine => return Ok(()),
            Standing::Elsewhere => return Err(elsewhere()),
            Standing::Free => {}
        }
        // Whoever was faster may be this replica itself, where a first use and the reconciler come at once: look again.
        let me = self.clone();
        self.context.write_with_retries(true, move |tx| me.claim_in(tx, id, now)).await
    }

    fn claim_in(&self, tx: &mut dyn WriteTx, id: WorkspaceId, now: Timestamp) -> Result<(), Error> {
        let (standing, held) = self.standing_in(tx, id, now)?;
        match standing {
            Standing::Alone | Standing::Mine => Ok(()),
            Standing::Elsewhere => Err(elsewhere()),
            Standing::Free => {
                let known = held.map(|place| place.epoch);
                let epoch = known.unwrap_or(0) + 1;
                Ok(tx.put_place(
                    &BoxHolder { workspace_id: id, replica: self.name.to_string(), epoch },
                    known,
                )?)
            }
        }
    }

    fn standing_in<T: ReadTx + ?Sized>(
        &self,
        tx: &mut T,
        id: WorkspaceId,
        now: Timestamp,
    ) -> Result<(Standing, Option<BoxHolder>), Error> {
        let place = tx.place(id)?;
        let holder = place.as_ref().map(|one| Holder { replica: one.replica.clone(), epoch: one.epoch });
        let lease = match &holder {
            Some(holder) if *holder.replica != *self.name => tx.lease(&lease_name(&holder.replica))?,
            Some(_) | None => None,
        };
        let lives_until = lease.map(|lease| lease.expires_at);
        Ok((standing(holder.as_ref(), lives_until, &self.name, now), place))
    }

    /// Whether a late write about this box is still ours to make.
    pub(crate) fn check_in(
        &self,
        tx: &mut dyn WriteTx,
        id: WorkspaceId,
    ) -> Result<bool, warren_store::Error> {
        Ok(self.is_alone || tx.place(id)?.is_none_or(|place| *place.replica == *self.name))
    }
}

fn elsewhere() -> Error {
    Error::new(ErrorCode::WorkspaceElsewhere)
}

/// Which replica has which box. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Replicas {
    context: Context,
    me: Replica,
    registry: Registry,
}

impl Replicas {
    pub(crate) fn new(context: Context, me: Replica, registry: Registry) -> Self {
        Self { context, me, registry }
    }

    pub(crate) async fn join(&self) -> Result<(), Error> {
        self.me.renew().await?;
        let replicas = self.clone();
        self.context.spawn(tracing::info_span!("fleet.replicas.renew"), async move {
            loop {
                tokio::select! {
                    () = replicas.context.stopping().cancelled() => return,
                    () = tokio::time::sleep(Duration::from_millis(RENEW_MS)) => {}
                }
                if let Err(error) = replicas.me.renew().await {
                    tracing::warn!(%error, "this replica could not say that it lives; others may take over");
                }
            }
        });
        Ok(())
    }

    pub(crate) async fn leave(&self) {
        if let Err(error) = self.me.leave().await {
            tracing::warn!(%error, "this replica could not say that it ends; others wait for its lease");
        }
    }

    /// How this replica stands to the box of a workspace.
    pub(crate) async fn standing(&self, id: WorkspaceId) -> Result<Standing, Error> {
        self.me.standing(id).await
    }

    /// Makes the registry know a workspace; nothing is opened.
    pub(crate) fn declare(&self, row: &Workspace) -> Result<(), warren_workspace::Error> {
        let declaration = Declaration {
            config: row.spec.provider.clone(),
            capabilities: row.spec.capabilities,
            reference: row.reference.clone(),
            on_lost: LostPolicy::Fail,
        };
        self.registry.declare(row.id, declaration)
    }

    /// Whether another replica has the box, and lives.
    pub(crate) async fn is_elsewhere(&self, id: WorkspaceId) -> Result<bool, Error> {
        Ok(self.me.standing(id).await? == Standing::Elsewhere)
    }

    /// Makes the registry know a workspace that another replica made, and refuses one whose box another has.
    pub(crate) async fn reach(&self, row: &Workspace) -> Result<(), Error> {
        match self.me.standing(row.id).await? {
            Standing::Alone => return Ok(()),
            Standing::Elsewhere => return Err(elsewhere()),
            Standing::Mine | Standing::Free => {}
        }
        let is_open = self.registry.describe(row.id).is_some_and(|known| known.opened_at.is_some());
        if !is_open {
            // Another may have opened it since this one heard of it: what the row says is what is found.
            self.declare(row)?;
        }
        Ok(())
    }

    /// Ends what is open here and was taken over by another while this replica was not heard of.
    pub(crate) async fn close_lost_boxes(&self, tally: &mut Tally) -> Result<(), Error> {
        for id in self.registry.open_ids() {
            if self.is_elsewhere(id).await? {
                tracing::warn!(workspace.id = %id, "another replica has taken over a box; it is ended here");
                tally.looked_at += 1;
                self.registry.close(id).await?;
                tally.acted_on += 1;
            }
        }
        Ok(())
    }
}
