//! What workspaces spent, by month.

use warren_model::WorkspaceId;

use crate::Error;

pub trait SpendingReads {
    /// What a workspace spent in a month, such as `2026-11`, in millionths.
    fn spent(&mut self, id: WorkspaceId, month: &str) -> Result<u64, Error>;
}

pub trait SpendingWrites {
    /// Adds to what was spent and answers with the sum. Of many at once, none is lost.
    fn add_spending(&mut self, id: WorkspaceId, month: &str, micros: u64) -> Result<u64, Error>;
}
