//! Finding the secrets of workspaces in text, so that they can be masked (F32).
//!
//! To build a redactor costs far more than to use it. So those of the workspaces that spoke last are kept for as long as
//! their sealed values stay the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use warren_model::{SealedSecret, SecretValue, Workspace, WorkspaceId};
use warren_rules::access::secrets;
use warren_rules::text::redaction::Redactor;

use crate::{Context, Error, Sealer};

/// Workspaces whose redactor is kept. With as much in their secrets as is looked for, each takes some megabytes.
const MAX_KEPT: usize = 64;

/// The nonces of the sealed values. Another value, and the same one sealed anew, have others.
type Stamp = Vec<[u8; 12]>;

/// Redactors of workspaces. Cheap to clone; all clones share what is kept.
#[derive(Debug, Clone)]
pub struct Redactors {
    context: Context,
    sealer: Sealer,
    kept: Arc<Kept>,
}

#[derive(Debug, Default)]
struct Kept(Mutex<HashMap<WorkspaceId, (Stamp, Arc<Redactor>)>>);

impl Kept {
    fn find(&self, id: WorkspaceId, stamp: &Stamp) -> Option<Arc<Redactor>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&id).filter(|(built_for, _)| built_for == stamp).map(|(_, redactor)| Arc::clone(redactor))
    }

    fn keep(&self, id: WorkspaceId, stamp: Stamp, redactor: &Arc<Redactor>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT && !kept.contains_key(&id) {
            kept.clear();
        }
        kept.insert(id, (stamp, Arc::clone(redactor)));
    }
}

impl Redactors {
    pub fn new(context: Context, sealer: Sealer) -> Self {
        Self { context, sealer, kept: Arc::default() }
    }

    /// The redactor of a workspace, for text that is to be kept. A secret that does not open is an error.
    pub async fn of_workspace(&self, row: &Workspace) -> Result<Redactor, Error> {
        let (org_id, id) = (row.org_id, row.id);
        let rows =
            self.context.store().read(move |tx| tx.secrets_for(org_id, id).map_err(Error::from)).await?;
        let values = self.sealer.open_all(id, rows)?;
        Ok(Redactor::new(values.values().map(|value| value.as_str())))
    }

    /// The redactor for these secrets of a workspace; `None` where there is nothing to look for. A secret that does not open
    /// cannot be looked for, and an answer is not lost over it.
    pub fn from_rows(&self, id: WorkspaceId, rows: Vec<SealedSecret>) -> Option<Arc<Redactor>> {
        if rows.is_empty() {
            return None;
        }
        let in_effect = secrets::in_effect(rows);
        let stamp: Stamp = in_effect.values().map(|row| row.nonce).collect();
        if let Some(redactor) = self.kept.find(id, &stamp) {
            return Some(redactor).filter(|redactor| !redactor.is_idle());
        }
        let keys = self.sealer.keys_for(in_effect.values());
        let mut values = Vec::new();
        for (name, row) in &in_effect {
            match self.sealer.open_row(row, &keys) {
                Ok(value) => values.push(value),
                Err(error) => {
                    tracing::error!(
                        workspace.id = %id, secret = name.as_str(), %error,
                        "a secret does not open, and is not looked for in what the agent says"
                    );
                }
            }
        }
        let redactor = Arc::new(Redactor::new(values.iter().map(SecretValue::reveal)));
        // With one missing it is built again: the key may come back.
        if values.len() == in_effect.len() {
            self.kept.keep(id, stamp, &redactor);
        }
        Some(redactor).filter(|redactor| !redactor.is_idle())
    }
}
