//! Knowing the secrets of workspaces when their agents say them.
//!
//! To build what finds them costs far more than to look, so it is kept for those that spoke last, for as long as the
//! sealed values stay what they were.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use warren_model::{SealedSecret, SecretValue, WorkspaceId};
use warren_rules::access::secrets;
use warren_rules::text::redaction::Redactor;

use super::sealing;
use crate::Fleet;

/// Workspaces that are remembered. With as much in their secrets as is looked for, each takes some megabytes.
const MAX_KNOWN: usize = 64;

/// Each sealing has its own nonce: another value, and the same one sealed anew, have others.
type Stamp = Vec<[u8; 12]>;

#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<WorkspaceId, (Stamp, Arc<Redactor>)>>);

impl Known {
    fn find(&self, id: WorkspaceId, stamp: &Stamp) -> Option<Arc<Redactor>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&id).filter(|(built_for, _)| built_for == stamp).map(|(_, redactor)| Arc::clone(redactor))
    }

    fn keep(&self, id: WorkspaceId, stamp: Stamp, redactor: &Arc<Redactor>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN && !known.contains_key(&id) {
            known.clear();
        }
        known.insert(id, (stamp, Arc::clone(redactor)));
    }
}

impl Fleet {
    /// What finds these secrets of a workspace in what its agent says; `None` where there is nothing to look for. One that
    /// does not open cannot be looked for, and an answer is not lost over it.
    pub fn redactor_from(&self, id: WorkspaceId, rows: Vec<SealedSecret>) -> Option<Arc<Redactor>> {
        if rows.is_empty() {
            return None;
        }
        let in_effect = secrets::in_effect(rows);
        let stamp: Stamp = in_effect.values().map(|row| row.nonce).collect();
        if let Some(redactor) = self.0.known_secrets.find(id, &stamp) {
            return Some(redactor).filter(|redactor| !redactor.is_idle());
        }
        let keys = self.keys_for(in_effect.values());
        let mut values = Vec::new();
        for (name, row) in &in_effect {
            match sealing::open(row, &keys) {
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
            self.0.known_secrets.keep(id, stamp, &redactor);
        }
        Some(redactor).filter(|redactor| !redactor.is_idle())
    }
}
