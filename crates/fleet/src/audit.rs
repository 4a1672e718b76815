//! The audit log: entries are made here and written in the transaction of what they record (F35).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use warren_model::{
    AuditAction, AuditEntry, AuditHead, AuditOutcome, AuditTargetKind, NewAuditEntry, Principal, Timestamp,
};
use warren_rules::access::Action;
use warren_rules::access::audit::RefusalWindow;
use warren_store::{AuditQuery, Page};

use crate::{Actor, Error, Fleet, Identity};

/// Principals whose refusals are counted one by one; the rest share a window.
const MAX_WINDOWS: usize = 1_000;

/// How much each principal was refused lately. Lost with the process, which costs a few entries more.
#[derive(Debug, Default)]
pub(crate) struct RefusalWindows(Mutex<HashMap<Option<Principal>, RefusalWindow>>);

impl RefusalWindows {
    /// Whether this one is to be written, and how many before it were not.
    fn count(&self, principal: &Principal, now: Timestamp) -> Option<u64> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MAX_WINDOWS {
            windows.retain(|_, window| !window.is_over(now));
        }
        let is_known = windows.contains_key(&Some(principal.clone()));
        let key = (is_known || windows.len() < MAX_WINDOWS).then(|| principal.clone());
        let window = windows.entry(key).or_default();
        let written;
        (*window, written) = window.after_refusal(now);
        written
    }
}

impl Fleet {
    /// Operators read the log, in the order in which it was written.
    pub async fn audit(&self, who: &Identity, mut query: AuditQuery) -> Result<Page<AuditEntry, u64>, Error> {
        who.may_in_own_org(Action::Operate)?;
        query.limit = query.limit.clamp(1, self.limits().max_page_size);
        Ok(self.context().listed(self.store().read(move |tx| tx.audit(&query).map_err(Error::from)).await?))
    }

    /// The end of the log, to be noted elsewhere.
    pub async fn audit_head(&self, who: &Identity) -> Result<AuditHead, Error> {
        who.may_in_own_org(Action::Operate)?;
        self.store().read(|tx| tx.audit_head().map_err(Error::from)).await
    }

    /// Notes, in the background, that somebody reached for what is not theirs.
    pub(crate) fn audit_refusal(&self, who: &Identity, target_kind: AuditTargetKind, target_id: &str) {
        let now = self.clock().now();
        let Some(left_out) = self.0.refusal_windows.count(&who.principal, now) else { return };
        let entry = NewAuditEntry {
            outcome: AuditOutcome::Refused,
            ..Actor::of(who).did(
                now,
                AuditAction::AccessRefused,
                target_kind,
                target_id,
                json!({ "not_recorded_before": left_out }),
            )
        };
        let fleet = self.clone();
        self.context().spawn(tracing::Span::none(), async move {
            let written = fleet.store().write(move |tx| tx.append_audit(&entry).map_err(Error::from)).await;
            if let Err(error) = written {
                tracing::warn!(%error, "a refused attempt could not be recorded");
            }
        });
    }
}
