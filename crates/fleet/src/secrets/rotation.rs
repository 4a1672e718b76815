//! A new key for all secrets: first the key is durable, then every row is sealed anew, then old keys are let go.
//!
//! ```text
//!   keys [old] ─▶ [new, old] on disk ─▶ rows in batches: open with old, seal with new, compare-and-set ─▶ [new, old]
//! ```
//!
//! At every moment each row names a key that is at hand, so that a crash in between costs nothing: the next start finds
//! rows under another key than the current and goes on. Values do not change, and neither do generations.

use warren_model::event::SecretKeyRotated;
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, EventData, KeyId, NewEvent, OrgId, Principal,
    PushConfig, TaskId, TokenId,
};
use warren_service::{Action, Actor, Context, Error, Identity, Key, KeyError, Keyring, RowSeal, Sealer};
use warren_store::{Error as StoreError, Lease, SecretKey, Unreadable};

/// Rows that are sealed anew in one transaction.
const BATCH: u32 = 100;
/// Only one replica rotates at a time. Longer than any rotation takes; a crash gives it free after that.
const LEASE: &str = "secrets.rotation";
const LEASE_MS: i64 = 10 * 60 * 1_000;

/// What a rotation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// The key that all secrets are under now.
    pub key_id: KeyId,
    /// Whether the key was made for this. Where keys come from a variable or a command, their owner makes them.
    pub is_new_key: bool,
    pub resealed: u64,
    /// Rows that no key at hand opens, or that this Warren cannot read; they are left as they are.
    pub unreadable: u64,
    /// The latter, by name.
    pub unreadable_rows: Vec<String>,
}

/// What became of some rows.
#[derive(Debug, Default)]
struct Resealed {
    done: u64,
    /// Which no key at hand opens.
    unopened: u64,
    unreadable: Vec<Unreadable>,
}

impl Resealed {
    fn add(&mut self, more: Self) {
        self.done += more.done;
        self.unopened += more.unopened;
        self.unreadable.extend(more.unreadable);
    }
}

/// Moves all secrets to a new key. Cheap to clone.
#[derive(Debug, Clone)]
pub struct KeyRotation {
    context: Context,
    sealer: Sealer,
}

impl KeyRotation {
    pub(crate) fn new(context: Context, sealer: Sealer) -> Self {
        Self { context, sealer }
    }

    /// Makes a new key, if the source of keys can be written, and seals everything anew under the current one.
    #[tracing::instrument(name = "fleet.key_rotation.rotate", skip_all)]
    pub async fn rotate(&self, who: &Identity) -> Result<Rotation, Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        let lease = self.take_lease().await?.ok_or_else(|| {
            Error::with_detail(ErrorCode::VersionConflict, "another rotation of the key is under way")
        })?;
        let rotated = self.move_to_new_key(&who.principal, Actor::of(who)).await;
        self.release_lease(lease).await;
        rotated
    }

    /// Goes on with a rotation that a crash cut off, or that began with new keys in a variable; at start.
    pub(crate) async fn resume(&self) -> Result<(), Error> {
        let counts = self.context.store().read(|tx| tx.count_secrets_by_key().map_err(Error::from)).await?;
        let keys = self.sealer.keys().ring();
        let is_other = |id: &KeyId| id != keys.current().id();
        let missing: Vec<&(KeyId, u64)> = counts.iter().filter(|(id, _)| keys.find(id).is_none()).collect();
        for (key_id, count) in missing {
            tracing::error!(%key_id, count, "secrets are sealed under a key that is not at hand; their workspaces run nothing");
        }
        if !counts.iter().any(|(id, _)| is_other(id) && keys.find(id).is_some()) {
            return Ok(());
        }
        let Some(lease) = self.take_lease().await? else { return Ok(()) };
        let by = Principal::system("server");
        let done = self.reseal_and_record(&keys, false, &by, Actor::system("server", OrgId::DEFAULT)).await;
        self.release_lease(lease).await;
        let done = done?;
        tracing::info!(resealed = done.resealed, key_id = %done.key_id, "secrets are sealed under the current key");
        Ok(())
    }

    async fn move_to_new_key(&self, by: &Principal, actor: Actor) -> Result<Rotation, Error> {
        let keys = self.sealer.keys().reload();
        let led = keys.led_by(Key::new(self.context.entropy().secret()));
        let is_new_key = self.sealer.keys().replace(&led).map_err(|error| unusable(&error))?;
        let keys = if is_new_key { led } else { keys };
        let done = self.reseal_and_record(&keys, is_new_key, by, actor).await?;
        // Under which key a row is that cannot be read may not be known either.
        if is_new_key && done.unreadable_rows.is_empty() {
            let counts =
                self.context.store().read(|tx| tx.count_secrets_by_key().map_err(Error::from)).await?;
            let needed = keys.without_unused(|id| counts.iter().any(|(used, _)| used == id));
            self.sealer.keys().replace(&needed).map_err(|error| unusable(&error))?;
        }
        Ok(done)
    }

    async fn reseal_and_record(
        &self,
        keys: &Keyring,
        is_new_key: bool,
        by: &Principal,
        actor: Actor,
    ) -> Result<Rotation, Error> {
        let mut all = self.reseal_all(keys).await?;
        all.add(self.reseal_row_seals(keys).await?);
        self.context.tell_unreadable(&all.unreadable);
        let (resealed, unreadable) = (all.done, all.unopened + all.unreadable.len() as u64);
        let key_id = keys.current().id().clone();
        let (now, by, id) = (self.context.now(), by.clone(), key_id.to_string());
        self.context
            .store()
            .write(move |tx| {
                let data = EventData::from(SecretKeyRotated { key_id: id.clone(), resealed, unreadable });
                tx.append_event(&NewEvent {
                    at: now,
                    org_id: OrgId::DEFAULT,
                    workspace_id: None,
                    principal: by.clone(),
                    data: data.clone(),
                })?;
                let (action, kind) = (AuditAction::SecretKeyRotated, AuditTargetKind::SecretKey);
                tx.append_audit(&actor.did(now, action, kind, &id, &AuditDetails::Event(data)))?;
                Ok::<(), Error>(())
            })
            .await?;
        let unreadable_rows = all.unreadable.into_iter().map(|row| row.id).collect();
        Ok(Rotation { key_id, is_new_key, resealed, unreadable, unreadable_rows })
    }

    /// Each that can be: one that cannot be read holds up no other.
    async fn reseal_all(&self, keys: &Keyring) -> Result<Resealed, Error> {
        let mut all = Resealed::default();
        let mut after: Option<SecretKey> = None;
        loop {
            let (keys, from) = (keys.clone(), after.clone());
            let sealer = self.sealer.clone();
            let (some, next) = self
                .context
                .store()
                .write(move |tx| {
                    let page = tx.secrets_not_under(keys.current().id(), from.as_ref(), BATCH)?;
                    let mut some = Resealed { unreadable: page.unreadable, ..Resealed::default() };
                    for row in page.rows {
                        let Ok(value) = sealer.open_row(&row, &keys) else {
                            some.unopened += 1;
                            continue;
                        };
                        let mut fresh = row.clone();
                        sealer.seal_row(&mut fresh, &value, keys.current());
                        match tx.update_secret(&fresh, row.version, &row.key_id) {
                            Ok(()) => some.done += 1,
                            // Somebody set it meanwhile, and sealed it by that.
                            Err(StoreError::Conflict) => {}
                            Err(error) => return Err(Error::from(error)),
                        }
                    }
                    Ok((some, page.next))
                })
                .await?;
            all.add(some);
            match next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// The same for what stands sealed in rows of others.
    async fn reseal_row_seals(&self, keys: &Keyring) -> Result<Resealed, Error> {
        let mut all = Resealed::default();
        let mut after: Option<(TaskId, String)> = None;
        loop {
            let (sealer, keys, from) = (self.sealer.clone(), keys.clone(), after.clone());
            let (some, next) = self
                .context
                .store()
                .write(move |tx| {
                    let from = from.as_ref().map(|(task, id)| (*task, id.as_str()));
                    let page = tx.sealed_push_configs(from, BATCH)?;
                    let mut some = Resealed { unreadable: page.unreadable, ..Resealed::default() };
                    for row in &page.rows {
                        let place = PushConfig::seal_place(row.task_id, &row.id);
                        match sealer.reseal_text(&keys, &place, row.sealed.as_deref().unwrap_or_default()) {
                            RowSeal::NotNeeded => {}
                            RowSeal::Unreadable => some.unopened += 1,
                            RowSeal::Sealed(sealed) => {
                                some.done += u64::from(tx.reseal_push_config(row, &sealed)?);
                            }
                        }
                    }
                    Ok::<_, Error>((some, page.next))
                })
                .await?;
            all.add(some);
            match next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    async fn take_lease(&self) -> Result<Option<Lease>, Error> {
        let now = self.context.now();
        // Any id will do: it only tells this rotation from another.
        let owner: TokenId = self.context.entropy().id(now);
        let owner = owner.to_string();
        self.context
            .store()
            .write(move |tx| tx.take_lease(LEASE, &owner, now, now.plus_ms(LEASE_MS)).map_err(Error::from))
            .await
    }

    async fn release_lease(&self, lease: Lease) {
        let released =
            self.context.store().write(move |tx| tx.release_lease(&lease).map_err(Error::from)).await;
        if let Err(error) = released {
            tracing::warn!(%error, "the lease of a rotation could not be given back; it ends by itself");
        }
    }
}

fn unusable(error: &KeyError) -> Error {
    Error::with_detail(ErrorCode::SecretKeyUnusable, error.to_string())
}
