//! Rows that this Warren cannot read, as after a downgrade. They hold up nobody else, stay as they are for whoever can
//! read them, and are told of once in the log.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use warren_store::{Batch, Page, Unreadable};

use crate::Fleet;

/// As many are remembered as told of. Beyond that, the log is told again.
const MAX_TOLD: usize = 10_000;

/// Those that were told of.
#[derive(Debug, Default)]
pub(crate) struct ToldOf(Mutex<HashSet<Unreadable>>);

impl ToldOf {
    fn is_new(&self, row: &Unreadable) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MAX_TOLD {
            told.clear();
        }
        told.insert(row.clone())
    }
}

impl Fleet {
    /// What can be worked on.
    pub fn readable<T>(&self, batch: Batch<T>) -> Vec<T> {
        self.tell_unreadable(&batch.unreadable);
        batch.rows
    }

    /// A list, of which the log is told what it lacks.
    pub fn listed<T, C>(&self, page: Page<T, C>) -> Page<T, C> {
        self.tell_unreadable(&page.unreadable);
        page
    }

    pub fn tell_unreadable(&self, rows: &[Unreadable]) {
        for row in rows.iter().filter(|row| self.0.unreadable.is_new(row)) {
            tracing::error!(
                table = row.table, row.id = %row.id, problem = %row.problem,
                "a row cannot be read by this version of Warren; it is left as it is, and others go on"
            );
        }
    }
}
