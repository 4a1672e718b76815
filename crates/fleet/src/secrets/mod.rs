//! Secrets: set, listed by name, removed, and opened in the moment a command needs them (F32, F33).
//!
//! A value goes in and is never shown again; the only way out is the environment of the workspace's own commands. A
//! change is written together with what it means for running workspaces: their generation goes up in the same
//! transaction, and whoever reconciles them restarts them, a few at a time (`rules::secrets::roll_out`).

mod meanwhile;
mod rollout;
mod rotation;

pub(crate) use meanwhile::StartedMeanwhile;
pub use rotation::Rotation;

use serde_json::json;
use warren_model::{
    AuditAction, AuditTargetKind, ErrorCode, EventKind, NewEvent, Principal, SealedSecret, SecretName,
    SecretOwner, SecretValue, Timestamp, Workspace, WorkspaceId,
};
use warren_rules::access::Action;
use warren_rules::access::secrets;
use warren_service::{Key, Sealer};
use warren_store::{Page, Reach, SecretQuery, WriteTx};
use warren_workspace::SecretVariables;

use crate::Actor;
use crate::workspaces::live_row;
use crate::{Error, Fleet, Identity};

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

impl Fleet {
    /// Whose secrets the caller means, if they may.
    pub async fn secret_owner(
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
                let row = self.workspace(who, action, id).await?;
                Ok(SecretOwner::Workspace { id, org_id: row.org_id })
            }
        }
    }

    /// Sets a secret, new or anew. Answers with what may be shown, and whether it is new.
    pub async fn set_secret(
        &self,
        who: &Identity,
        scope: SecretScope,
        name: SecretName,
        value: SecretValue,
    ) -> Result<(SecretSummary, bool), Error> {
        let owner = self.secret_owner(who, Action::WriteSecrets, scope).await?;
        secrets::check_name(&name).map_err(|why| Error::with_detail(ErrorCode::InvalidSecret, why))?;
        if value.len() as u64 > self.limits().max_secret_bytes {
            let detail = format!("{} bytes; the limit is {}", value.len(), self.limits().max_secret_bytes);
            return Err(Error::with_detail(ErrorCode::SecretTooLarge, detail));
        }
        // Another replica may have moved on to a new key.
        let key = self.sealer().keys().reload().current().clone();
        let wish = Wish {
            owner,
            name,
            value,
            key,
            at: self.clock().now(),
            by: who.principal.clone(),
            actor: Actor::of(who),
            max: u64::from(self.limits().max_secrets_per_owner),
        };
        let sealer = self.sealer().clone();
        let (row, is_new) = self.write_with_retries(true, move |tx| wish.write(tx, &sealer)).await?;
        self.roll_out_in_background(owner.org_id());
        Ok((SecretSummary { row, is_readable: true }, is_new))
    }

    pub async fn secrets(
        &self,
        who: &Identity,
        scope: SecretScope,
        after: Option<SecretName>,
        limit: u32,
    ) -> Result<Page<SecretSummary, SecretName>, Error> {
        let owner = self.secret_owner(who, Action::ReadSecrets, scope).await?;
        let query = SecretQuery { owner, after, limit: limit.clamp(1, self.limits().max_page_size) };
        let page = self
            .context()
            .listed(self.store().read(move |tx| tx.secrets(&query).map_err(Error::from)).await?);
        let keys = self.sealer().keys_for(&page.rows);
        let summary =
            |row: SealedSecret| SecretSummary { is_readable: keys.find(&row.key_id).is_some(), row };
        Ok(page.map(summary))
    }

    pub async fn remove_secret(
        &self,
        who: &Identity,
        scope: SecretScope,
        name: SecretName,
    ) -> Result<(), Error> {
        let owner = self.secret_owner(who, Action::WriteSecrets, scope).await?;
        let (now, by, actor) = (self.clock().now(), who.principal.clone(), Actor::of(who));
        self.write_with_retries(true, move |tx| {
            if !tx.delete_secret(owner, &name)? {
                return Err(Error::new(ErrorCode::SecretNotFound));
            }
            let reach = Reach { owner, name: name.clone() };
            let reached = tx.raise_generations(&reach, now)?;
            let data = json!({ "name": name.as_str(), "owner": owner.kind(), "workspaces": reached });
            tx.append_event(&event(owner, EventKind::SecretRemoved, &by, now, data.clone()))?;
            let done = AuditAction::SecretRemoved;
            let entry = actor.did(now, done, AuditTargetKind::Secret, name.as_str(), details(owner, data));
            tx.append_audit(&entry)?;
            Ok(())
        })
        .await?;
        self.roll_out_in_background(owner.org_id());
        Ok(())
    }

    /// The secrets that commands of this workspace get now: its own before its org's. One that does not open is an
    /// error: a command that runs without what it counts on does harm of its own.
    pub async fn secret_variables(&self, row: &Workspace) -> Result<SecretVariables, Error> {
        if !secrets::concerns(row) {
            return Ok(SecretVariables::default());
        }
        // The values are read after the row: they are of its generation, or newer.
        let (org_id, id) = (row.org_id, row.id);
        let rows = self.store().read(move |tx| tx.secrets_for(org_id, id).map_err(Error::from)).await?;
        let values = self.sealer().open_all(id, rows)?;
        Ok(SecretVariables::new(values, self.note_of_starts(row)))
    }
}

/// A value on its way into the database.
#[derive(Clone)]
struct Wish {
    owner: SecretOwner,
    name: SecretName,
    value: SecretValue,
    key: Key,
    at: Timestamp,
    by: Principal,
    actor: Actor,
    max: u64,
}

impl Wish {
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
        let reach = Reach { owner: self.owner, name: self.name.clone() };
        let reached = tx.raise_generations(&reach, self.at)?;
        let data = json!({
            "name": self.name.as_str(),
            "owner": self.owner.kind(),
            "version": row.version,
            "workspaces": reached,
        });
        tx.append_event(&event(self.owner, EventKind::SecretSet, &self.by, self.at, data.clone()))?;
        let details = details(self.owner, data);
        tx.append_audit(&self.actor.did(
            self.at,
            AuditAction::SecretSet,
            AuditTargetKind::Secret,
            self.name.as_str(),
            details,
        ))?;
        Ok((row, known.is_none()))
    }
}

/// As in the event, and which workspace's it was.
fn details(owner: SecretOwner, mut data: serde_json::Value) -> serde_json::Value {
    if let Some(id) = owner.workspace_id() {
        data["workspace_id"] = json!(id.to_string());
    }
    data
}

fn event(
    owner: SecretOwner,
    kind: EventKind,
    by: &Principal,
    at: Timestamp,
    data: serde_json::Value,
) -> NewEvent {
    NewEvent {
        at,
        kind,
        org_id: owner.org_id(),
        workspace_id: owner.workspace_id(),
        principal: by.clone(),
        data,
    }
}
