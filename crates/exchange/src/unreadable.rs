//! Rows that this Warren cannot read, as after a downgrade: they hold up nobody else, and the log is told of them once.

use warren_store::{Batch, Page, Unreadable};

use crate::Exchange;

impl Exchange {
    /// What can be worked on.
    pub(crate) fn readable<T>(&self, batch: Batch<T>) -> Vec<T> {
        self.fleet().readable(batch)
    }

    /// A list, of which the log is told what it lacks.
    pub(crate) fn listed<T, C>(&self, page: Page<T, C>) -> Page<T, C> {
        self.fleet().listed(page)
    }

    pub(crate) fn tell_unreadable(&self, rows: &[Unreadable]) {
        self.fleet().tell_unreadable(rows);
    }
}
