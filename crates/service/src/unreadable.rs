//! Rows that this Warren cannot read, as after a downgrade. They hold up nobody else and stay as they are for a version
//! that can read them. The log names each of them once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use warren_store::{Batch, Page, Unreadable};

use crate::Context;

/// How many are remembered. Beyond that, the log names some of them again.
const MAX_TOLD: usize = 10_000;

/// The unreadable rows that the log has heard of.
#[derive(Debug, Default)]
pub(crate) struct LoggedRows(Mutex<HashSet<Unreadable>>);

impl LoggedRows {
    fn is_new(&self, row: &Unreadable) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MAX_TOLD {
            told.clear();
        }
        told.insert(row.clone())
    }
}

impl Context {
    /// The rows of a batch that can be read.
    pub fn readable<T>(&self, batch: Batch<T>) -> Vec<T> {
        self.tell_unreadable(&batch.unreadable);
        batch.rows
    }

    /// A page as it is; the rows that it lacks are logged.
    pub fn listed<T, C>(&self, page: Page<T, C>) -> Page<T, C> {
        self.tell_unreadable(&page.unreadable);
        page
    }

    /// Logs rows that cannot be read, each of them once.
    pub fn tell_unreadable(&self, rows: &[Unreadable]) {
        for row in rows.iter().filter(|row| self.logged_rows().is_new(row)) {
            tracing::error!(
                table = row.table, row.id = %row.id, problem = %row.problem,
                "a row cannot be read by this version of Warren; it is left as it is, and others go on"
            );
        }
    }
}
