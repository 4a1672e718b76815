//! The audit log (F35). Entries about changes are written by whoever makes the change; this reads the log and notes refused
//! attempts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use warren_model::{
    AuditAction, AuditDetails, AuditEntry, AuditHead, AuditOutcome, AuditTargetKind, NewAuditEntry,
    Principal, Timestamp,
};
use warren_rules::access::audit::RefusalWindow;
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{AuditQuery, Page};

/// Principals whose refusals are counted one by one; the rest share a window.
const MAX_WINDOWS: usize = 1_000;

/// How much each principal was refused lately. Lost with the process, which costs a few entries more.
#[derive(Debug, Default)]
struct RefusalWindows(Mutex<HashMap<Option<Principal>, RefusalWindow>>);

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

/// The audit log. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Audit {
    context: Context,
    refusals: Arc<RefusalWindows>,
}

impl Audit {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, refusals: Arc::default() }
    }

    /// Operators read the log of their org, in the order in which it was written.
    #[tracing::instrument(name = "fleet.audit.list", skip_all)]
    pub async fn list(&self, who: &Identity, mut query: AuditQuery) -> Result<Page<AuditEntry, u64>, Error> {
        who.may_in_own_org(Action::OperateOrg)?;
        query.org_id = who.visible_org().or(query.org_id);
        query.limit = query.limit.clamp(1, self.context.limits().max_page_size);
        Ok(self
            .context
            .listed(self.context.store().read(move |tx| tx.audit(&query).map_err(Error::from)).await?))
    }

    /// The end of the log, to be noted elsewhere.
    #[tracing::instrument(name = "fleet.audit.head", skip_all)]
    pub async fn head(&self, who: &Identity) -> Result<AuditHead, Error> {
        who.may_in_own_org(Action::OperateWarren)?;
        self.context.store().read(|tx| tx.audit_head().map_err(Error::from)).await
    }

    /// Notes, in the background, that somebody reached for what is not theirs.
    pub(crate) fn note_refusal(&self, who: &Identity, target_kind: AuditTargetKind, target_id: &str) {
        let now = self.context.now();
        let Some(left_out) = self.refusals.count(&who.principal, now) else { return };
        let entry = NewAuditEntry {
            outcome: AuditOutcome::Refused,
            ..Actor::of(who).did(
                now,
                AuditAction::AccessRefused,
                target_kind,
                target_id,
                &AuditDetails::AccessRefused { not_recorded_before: left_out },
            )
        };
        let context = self.context.clone();
        self.context.spawn(tracing::info_span!("fleet.audit.note_refusal"), async move {
            let written = context.store().write(move |tx| tx.append_audit(&entry).map_err(Error::from)).await;
            if let Err(error) = written {
                tracing::warn!(%error, "a refused attempt could not be recorded");
            }
        });
    }
}
