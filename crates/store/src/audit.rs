//! The audit log: appended to, read, and never changed (F35).

use warren_model::{AuditEntry, AuditHead, NewAuditEntry, OrgId, Timestamp};

use crate::{Error, Page};

/// Entries in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only what comes behind this number, in the order that is asked for; 0 from its start.
    pub after: u64,
    pub is_newest_first: bool,
    pub org_id: Option<OrgId>,
    pub target_kind: Option<String>,
    pub target_id: Option<String>,
    /// In the form `kind:id`.
    pub principal: Option<String>,
    pub action: Option<String>,
    /// From this moment on.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
    pub limit: u32,
}

impl AuditQuery {
    pub fn all(after: u64, limit: u32) -> Self {
        Self {
            after,
            is_newest_first: false,
            org_id: None,
            target_kind: None,
            target_id: None,
            principal: None,
            action: None,
            since: None,
            until: None,
            limit,
        }
    }
}

pub trait AuditReads {
    fn audit(&mut self, query: &AuditQuery) -> Result<Page<AuditEntry, u64>, Error>;
    /// The end of the log, as the counter has it; a log that was cut by hand ends earlier.
    fn audit_head(&mut self) -> Result<AuditHead, Error>;
}

pub trait AuditWrites {
    /// Appends to the log. Number and hash are given at commit, without gaps, in commit order.
    fn append_audit(&mut self, entry: &NewAuditEntry) -> Result<(), Error>;
}
