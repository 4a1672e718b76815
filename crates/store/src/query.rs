//! What can be asked for, in pages.

use warren_model::{OrgId, Principal, Status, WorkspaceId};

use crate::Error;

/// One page of rows and where the next begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T, C> {
    /// Fewer than were asked for, or none, where some cannot be read: only `next` says whether there is more.
    pub rows: Vec<T>,
    /// Present when there is more: the key of the last row that was looked at.
    pub next: Option<C>,
    /// Rows of this page that this Warren cannot read.
    pub unreadable: Vec<Unreadable>,
}

impl<T, C> Page<T, C> {
    /// For those who need all or nothing: fails where a row cannot be read.
    pub fn whole(self) -> Result<Self, Error> {
        match self.unreadable.first() {
            None => Ok(self),
            Some(row) => Err(Error::Corrupt(row.problem.clone())),
        }
    }

    /// The same page with each row turned into something else.
    pub fn map<U>(self, turn: impl FnMut(T) -> U) -> Page<U, C> {
        Page { rows: self.rows.into_iter().map(turn).collect(), next: self.next, unreadable: self.unreadable }
    }
}

/// What is due, and what of it this Warren cannot read: rows that a newer one wrote, or that were damaged. One such row
/// holds up no other; it stays as it is for whoever can read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch<T> {
    /// As many as were asked for, where there are that many that can be read.
    pub rows: Vec<T>,
    pub unreadable: Vec<Unreadable>,
}

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unreadable {
    pub table: &'static str,
    pub id: String,
    /// Which column, and why.
    pub problem: String,
}

/// Workspaces in order of creation (their ids sort by time).
#[derive(Debug, Clone, PartialEq)]
pub struct WorkspaceQuery {
    pub org_id: Option<OrgId>,
    pub parent_id: Option<WorkspaceId>,
    /// Empty: any status.
    pub statuses: Vec<Status>,
    /// Exact name.
    pub name: Option<String>,
    /// Whether rows with status `removed` are shown.
    pub includes_removed: bool,
    /// Only those whose generation was not brought about yet (F3).
    pub is_behind: bool,
    /// Only ids after this one.
    pub after: Option<WorkspaceId>,
    pub limit: u32,
}

impl WorkspaceQuery {
    pub fn all(limit: u32) -> Self {
        Self {
            org_id: None,
            parent_id: None,
            statuses: Vec::new(),
            name: None,
            includes_removed: false,
            is_behind: false,
            after: None,
            limit,
        }
    }
}

/// Events in sequence order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventQuery {
    /// Only sequences after this one; 0 from the start.
    pub after: u64,
    /// What the reader may see.
    pub org_id: Option<OrgId>,
    pub workspace_id: Option<WorkspaceId>,
    pub limit: u32,
}

/// Tokens in order of creation.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenQuery {
    pub org_id: Option<OrgId>,
    pub owner: Option<Principal>,
    pub includes_ended: bool,
    pub after: Option<warren_model::TokenId>,
    pub limit: u32,
}
