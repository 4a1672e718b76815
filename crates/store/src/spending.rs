//! What workspaces spent, by month.

use warren_model::WorkspaceId;

use crate::Error;

pub trait SpendingReads {
    /// What a workspace spent in a month, such as `2026-11`, in millionths.
    fn spent(&mut self, id: WorkspaceId, month: &str) -> Result<u64, Error>;
}

pub trait SpendingWrites {
    /// Adds a difference to what was spent, and returns the sum. Of many at once, none is lost.
    ///
    /// Work of which the cost is not known yet reserves the most it may cost, and later settles the difference to what it
    /// did cost, which may be negative, in the transaction that ends it (A14). Whoever may not go over a limit compares the
    /// sum after adding, and rolls back. The sum never goes below zero.
    fn add_spending(&mut self, id: WorkspaceId, month: &str, difference_micros: i64) -> Result<u64, Error>;
}
