//! Secrets: set, listed by name, removed, and opened in the moment a command needs them (F32, F33).
//!
//! A value goes in and is never shown again; the only way out is the environment of the workspace's own commands, or, for
//! those that Warren itself uses (keys of model providers), a call that Warren makes: no box gets these. A
//! change is written together with what it means for running workspaces: their generation goes up in the same
//! transaction, and whoever reconciles them restarts them, a few at a time (`rules::secrets::roll_out`).

mod fresh_processes;
mod rollout;
mod rotation;
mod values;

pub(crate) use fresh_processes::FreshProcesses;
pub(crate) use rollout::{Rollout, RolloutParts};
pub use rotation::{KeyRotation, Rotation};
pub(crate) use values::SecretValues;

use warren_model::event::{SecretRemoved, SecretSet};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, EventData, NewEvent, OrgId, Principal,
    SealedSecret, SecretName, SecretOwner, SecretValue, Timestamp, Workspace, WorkspaceId,
};
use warren_rules::access::secrets;
use warren_service::{Action, Actor, Context, Error, Identity, Key, Sealer};
use warren_store::{Page, Reach, SecretQuery, WriteTx};
use warren_workspace::SecretVariables;

use crate::access::WorkspaceAccess;
use crate::residents::Residents;
use crate::workspaces::live_row;

/// Whose secrets are meant: those of the caller's org, or of one workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretScope {
    Org,
    Workspace(WorkspaceId),
}

/// A secret as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretSummary {
    pub row: SealedSecret,
    /// Whether its key is at hand.
    pub is_readable: bool,
}

/// Sets, lists and removes secrets. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Secrets {
    context: Context,
    access: WorkspaceAccess,
    sealer: Sealer,
    values: SecretValues,
    rollout: Rollout,
    /// Commands get their variables when the doors of their box are open.
    residents: Residents,
}

impl Secrets {
    pub(crate) fn new(
        context: Context,
        access: WorkspaceAccess,
        sealer: Sealer,
        values: SecretValues,
        rollout: Rollout,
        residents: Residents,
    ) -> Self {
        Self { context, access, sealer, values, rollout, residents }
    }

    /// Whose secrets the caller means, if they may.
    pub async fn owner_of(
        &self,
        who: &Identity,
        action: Action,
        scope: SecretScope,
    ) -> Result<SecretOwner, Error> {
        match scope {
            SecretScope::Org => {
                who.may_in_own_org(action)?;
                Ok(SecretOwner::Org(who.token.org_id))
            }
            SecretScope::Workspace(id) => {
                let row = self.access.get(who, action, id).await?;
                Ok(SecretOwner::Workspace { id, org_id: row.org_id })
            }
        }
    }

    /// Sets a secret, new or anew. Returns what may be shown, and true if it is new.
    #[tracing::instrument(name = "fleet.secrets.set", skip_all)]
    pub async fn set(
        &self,
        who: &Identity,
        scope: SecretScope,
        name: SecretName,
        value: SecretValue,
    ) -> Result<(SecretSummary, bool), Error> {
        let owner = self.owner_of(who, Action::WriteSecrets, scope).await?;
        secrets::check_name(&name).map_err(|why| Error::with_detail(ErrorCode::InvalidSecret, why))?;
        if value.len() as u64 > self.context.limits().max_secret_bytes {
            let detail =
                format!("{} bytes; the limit is {}", value.len(), self.context.limits().max_secret_bytes);
            return Err(Error::with_detail(ErrorCode::SecretTooLarge, detail));
        }
        // Another replica may have moved on to a new key.
        let key = self.sealer.keys().reload().current().clone();
        let is_kept_from_boxes = self.values.is_kept_from_boxes(&name);
        let request = SetSecret {
            owner,
            name,
            value,
            key,
            at: self.context.now(),
            by: who.principal.clone(),
            actor: Actor::of(who),
            max: u64::from(self.context.limits().max_secrets_per_owner),
            is_kept_from_boxes,
        };
        let sealer = self.sealer.clone();
        let (row, is_new) =
            self.context.write_with_retries(true, move |tx| request.write(tx, &sealer)).await?;
        self.rollout.run_in_background(owner.org_id());
        Ok((SecretSummary { row, is_readable: true }, is_new))
    }

    #[tracing::instrument(name = "fleet.secrets.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        scope: SecretScope,
        after: Option<SecretName>,
        limit: u32,
    ) -> Result<Page<SecretSummary, SecretName>, Error> {
        let owner = self.owner_of(who, Action::ReadSecrets, scope).await?;
        let query = SecretQuery { owner, after, limit: limit.clamp(1, self.context.limits().max_page_size) };
        let page = self
            .context
            .listed(self.context.store().read(move |tx| tx.secrets(&query).map_err(Error::from)).await?);
        let keys = self.sealer.keys_for(&page.rows);
        let summary =
            |row: SealedSecret| SecretSummary { is_readable: keys.find(&row.key_id).is_some(), row };
        Ok(page.map(summary))
    }

    #[tracing::instrument(name = "fleet.secrets.remove", skip_all)]
    pub async fn remove(&self, who: &Identity, scope: SecretScope, name: SecretName) -> Result<(), Error> {
        let owner = self.owner_of(who, Action::WriteSecrets, scope).await?;
        let (now, by, actor) = (self.context.now(), who.principal.clone(), Actor::of(who));
        let is_kept_from_boxes = self.values.is_kept_from_boxes(&name);
        self.context
            .write_with_retries(true, move |tx| {
                if !tx.delete_secret(owner, &name)? {
                    return Err(Error::new(ErrorCode::SecretNotFound));
                }
                let reached = match is_kept_from_boxes {
                    true => 0,
                    false => tx.raise_generations(&Reach { owner, name: name.clone() }, now)?,
                };
                let event = event(
                    owner,
                    &by,
                    now,
                    SecretRemoved {
                        name: name.as_str().to_owned(),
                        owner: owner.kind(),
                        workspaces: reached,
                    },
                );
                tx.append_event(&event)?;
                let done = AuditAction::SecretRemoved;
                let entry =
                    actor.did(now, done, AuditTargetKind::Secret, name.as_str(), &details(owner, &event));
                tx.append_audit(&entry)?;
                Ok(())
            })
            .await?;
        self.rollout.run_in_background(owner.org_id());
        Ok(())
    }

    /// The value of a secret that Warren itself uses, such as the key of a model provider: the workspace's before the
    /// org's. A secret that is meant for commands is not handed out here.
    pub async fn for_warren(
        &self,
        org_id: OrgId,
        workspace_id: Option<WorkspaceId>,
        name: &SecretName,
    ) -> Result<Option<SecretValue>, Error> {
        self.values.for_warren(org_id, workspace_id, name).await
    }

    /// The secrets that commands of this workspace get now: its own before its org's.
    pub async fn variables(&self, row: &Workspace) -> Result<SecretVariables, Error> {
        self.residents.doors_open(row).await;
        self.values.variables(row).await
    }
}

/// A value on its way into the database.
#[derive(Clone)]
struct SetSecret {
    owner: SecretOwner,
    name: SecretName,
    value: SecretValue,
    key: Key,
    at: Timestamp,
    by: Principal,
    actor: Actor,
    max: u64,
    /// No command has it, so that none has an old value.
    is_kept_from_boxes: bool,
}

impl SetSecret {
    fn write(&self, tx: &mut dyn WriteTx, sealer: &Sealer) -> Result<(SealedSecret, bool), Error> {
        if let SecretOwner::Workspace { id, .. } = self.owner {
            live_row(tx, id)?;
        }
        let known = tx.secret(self.owner, &self.name)?;
        let mut row = SealedSecret {
            owner: self.owner,
            name: self.name.clone(),
            version: known.as_ref().map_or(1, |known| known.version + 1),
            key_id: self.key.id().clone(),
            nonce: [0; 12],
            sealed: Vec::new(),
            created_at: known.as_ref().map_or(self.at, |known| known.created_at),
            updated_at: self.at,
            updated_by: self.by.clone(),
        };
        sealer.seal_row(&mut row, &self.value, &self.key);
        match &known {
            Some(known) => tx.update_secret(&row, known.version, &known.key_id)?,
            None if tx.count_secrets(self.owner)? >= self.max => {
                return Err(Error::new(ErrorCode::SecretLimit));
            }
            None => tx.insert_secret(&row)?,
        }
        let reached = match self.is_kept_from_boxes {
            true => 0,
            false => tx.raise_generations(&Reach { owner: self.owner, name: self.name.clone() }, self.at)?,
        };
        let data = SecretSet {
            name: self.name.as_str().to_owned(),
            owner: self.owner.kind(),
            version: row.version,
            workspaces: reached,
        };
        let event = event(self.owner, &self.by, self.at, data);
        tx.append_event(&event)?;
        let details = details(self.owner, &event);
        tx.append_audit(&self.actor.did(
            self.at,
            AuditAction::SecretSet,
            AuditTargetKind::Secret,
            self.name.as_str(),
            &details,
        ))?;
        Ok((row, known.is_none()))
    }
}

/// As in the event, and which workspace's it was.
fn details(owner: SecretOwner, event: &NewEvent) -> AuditDetails {
    let event = event.data.clone();
    match owner.workspace_id() {
        Some(workspace_id) => AuditDetails::WorkspaceSecret { event, workspace_id },
        None => AuditDetails::Event(event),
    }
}

fn event(owner: SecretOwner, by: &Principal, at: Timestamp, data: impl Into<EventData>) -> NewEvent {
    NewEvent {
        at,
        org_id: owner.org_id(),
        workspace_id: owner.workspace_id(),
        principal: by.clone(),
        data: data.into(),
    }
}
