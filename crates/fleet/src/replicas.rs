//! Which replica has a workspace's box, in the database (O10); `rules::replicas` says what follows.
//!
//! ```text
//!   start ──▶ lease `replica/<name>`, renewed while it lives, given back at the stop
//!   first use, or a reconcile ──▶ claim: the row of the workspace names us, or somebody who lives, and then it is theirs
//! ```
//!
//! A claim is a write only where the row names somebody else. What another replica has is left to it: its own sweep
//! `catching_up` finds what was asked for there. One that only serves clients has no lease; a box that nobody has, it
//! makes a worker's. Requests for boxes that another has are passed on to it by the server ([`BoxHolders`]).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use warren_model::{ErrorCode, Timestamp, Workspace, WorkspaceId};
use warren_rules::lifecycle::replicas::{
    FORGET_MS, Holder, LEASE_MS, RENEW_MS, Role, Standing, choose_worker, lease_name, standing,
    standing_in_role,
};
use warren_service::{Context, Error};
use warren_store::{BoxHolder, ReadTx, ReplicaRow, WriteTx};
use warren_workspace::Registry;
use warren_workspace::registry::{Declaration, LostPolicy};

use crate::sweeps::Tally;

/// This Warren among those on the same database.
#[derive(Debug, Clone)]
pub struct Replica {
    name: Arc<str>,
    role: Role,
    /// Where the others reach it, once it is known.
    url: Arc<OnceLock<String>>,
    /// Nobody else can be on this database: nothing is written, so that an idle Warren leaves the disk alone.
    is_alone: bool,
    context: Context,
}

impl Replica {
    /// `name` stays the same for as long as the data folder does.
    pub fn new(name: &str, context: Context) -> Self {
        Self { name: name.into(), role: Role::All, url: Arc::default(), is_alone: false, context }
    }

    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// The only one, on a database that no other process opens.
    pub fn alone(context: Context) -> Self {
        Self { name: "alone".into(), role: Role::All, url: Arc::default(), is_alone: true, context }
    }

    /// Says that it lives, and where it is reached.
    async fn renew(&self) -> Result<(), Error> {
        if self.is_alone || !self.role.opens_boxes() {
            return Ok(());
        }
        let now = self.context.now();
        let row = ReplicaRow { name: self.name.to_string(), url: self.url.get().cloned(), seen_at: now };
        self.context
            .store()
            .write(move |tx| {
                tx.take_lease(&lease_name(&row.name), &row.name, now, now.plus_ms(LEASE_MS))?;
                tx.put_replica(&row)?;
                Ok(())
            })
            .await
    }

    /// Forgets those that were not heard of for long.
    async fn forget_others(&self) -> Result<(), Error> {
        if self.is_alone {
            return Ok(());
        }
        let before = self.context.now().plus_ms(-FORGET_MS);
        self.context.store().write(move |tx| tx.prune_replicas(before).map(drop).map_err(Error::from)).await
    }

    /// Says that it ends, so that nobody has to wait for it.
    async fn leave(&self) -> Result<(), Error> {
        if self.is_alone {
            return Ok(());
        }
        let name = Arc::clone(&self.name);
        self.context
            .store()
            .write(move |tx| {
                tx.remove_replica(&name)?;
                match tx.lease(&lease_name(&name))? {
                    Some(lease) => tx.release_lease(&lease).map_err(Error::from),
                    None => Ok(()),
                }
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
        let standing = standing(holder.as_ref(), lives_until, &self.name, now);
        Ok((standing_in_role(self.role, standing), place))
    }

    /// Who uses the box of a workspace, for one that does not: whoever has it and lives, or else the worker that is to
    /// open it. Absent: no worker lives.
    fn user_in<T: ReadTx + ?Sized>(
        &self,
        tx: &mut T,
        id: WorkspaceId,
        now: Timestamp,
    ) -> Result<Option<(String, Option<BoxHolder>)>, Error> {
        let place = tx.place(id)?;
        if let Some(held) = &place
            && *held.replica != *self.name
            && lives(tx, &held.replica, now)?
        {
            return Ok(Some((held.replica.clone(), place)));
        }
        let mut workers = Vec::new();
        for row in tx.replicas_seen(now.plus_ms(-LEASE_MS))? {
            if *row.name != *self.name && lives(tx, &row.name, now)? {
                workers.push(row.name);
            }
        }
        let chosen = choose_worker(id, workers.iter().map(String::as_str)).map(str::to_owned);
        Ok(chosen.map(|name| (name, place)))
    }

    /// Makes a box that nobody has the one of a worker, which opens it. For a replica that opens none.
    async fn hand_to_worker(&self, id: WorkspaceId) -> Result<(), Error> {
        let (me, now) = (self.clone(), self.context.now());
        self.context
            .write_with_retries(true, move |tx| {
                let Some((worker, place)) = me.user_in(tx, id, now)? else { return Ok(()) };
                if place.as_ref().is_some_and(|held| held.replica == worker) {
                    return Ok(());
                }
                let known = place.map(|place| place.epoch);
                let epoch = known.unwrap_or(0) + 1;
                Ok(tx.put_place(&BoxHolder { workspace_id: id, replica: worker, epoch }, known)?)
            })
            .await
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

fn lives<T: ReadTx + ?Sized>(tx: &mut T, replica: &str, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.lease(&lease_name(replica))?.is_some_and(|lease| lease.expires_at > now))
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
        self.me.forget_others().await?;
        if !self.me.role.opens_boxes() {
            // What it had in another role is anybody's now.
            return self.me.leave().await;
        }
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

    /// Where this replica opens no boxes, sees to it that a worker does. Otherwise whoever has the box is left to it.
    pub(crate) async fn leave_to_others(&self, id: WorkspaceId) -> Result<(), Error> {
        if self.me.role.opens_boxes() {
            return Ok(());
        }
        self.me.hand_to_worker(id).await
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

/// Another replica, as it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub name: String,
    /// Absent where nobody said how it is reached.
    pub url: Option<String>,
}

/// Where the box of a workspace is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoxLocation {
    /// It is here, or may be opened here.
    Here,
    At(Peer),
    /// This replica opens no boxes, and none lives that does.
    Nowhere,
}

/// Which replica has which box, for whoever passes requests on or looks for work. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BoxHolders {
    me: Replica,
    registry: Registry,
}

impl BoxHolders {
    pub(crate) fn new(me: Replica, registry: Registry) -> Self {
        Self { me, registry }
    }

    /// The name of this replica.
    pub fn name(&self) -> &str {
        &self.me.name
    }

    pub fn role(&self) -> Role {
        self.me.role
    }

    /// Whether no other process can be on this database.
    pub fn is_alone(&self) -> bool {
        self.me.is_alone
    }

    /// Where the other replicas reach this one, and whether they do. Once, when it is about to serve.
    pub async fn announce(&self, url: Option<String>) -> Result<(), Error> {
        if let Some(url) = url {
            let _ = self.me.url.set(url);
        }
        self.me.renew().await
    }

    /// Where requests for the box of a workspace belong.
    pub async fn locate(&self, id: WorkspaceId) -> Result<BoxLocation, Error> {
        let is_open = || self.registry.describe(id).is_some_and(|known| known.opened_at.is_some());
        // What is open here is nearly always ours; whoever uses it asks again.
        if self.me.is_alone || (self.me.role.opens_boxes() && is_open()) {
            return Ok(BoxLocation::Here);
        }
        let (me, now) = (self.me.clone(), self.me.context.now());
        let read = move |tx: &mut dyn ReadTx| {
            let (standing, _) = me.standing_in(tx, id, now)?;
            match standing {
                Standing::Alone | Standing::Mine | Standing::Free => return Ok(BoxLocation::Here),
                Standing::Elsewhere => {}
            }
            let Some((name, _)) = me.user_in(tx, id, now)? else { return Ok(BoxLocation::Nowhere) };
            let url = tx.replica(&name)?.and_then(|row| row.url);
            Ok::<_, Error>(BoxLocation::At(Peer { name, url }))
        };
        self.me.context.store().read(read).await
    }

    /// Makes the box this replica's for work that needs it, unless another has it and lives. Returns whether it is.
    pub async fn take_for_work(&self, id: WorkspaceId) -> Result<bool, Error> {
        match self.me.claim(id).await {
            Ok(()) => Ok(true),
            Err(error) if error.code == ErrorCode::WorkspaceElsewhere => Ok(false),
            Err(error) => Err(error),
        }
    }
}
