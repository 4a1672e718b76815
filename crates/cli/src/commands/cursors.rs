//! Paging through a list, without going round in circles when a server hands out a cursor twice.

use std::collections::BTreeSet;

use warren_model::ErrorCode;

use crate::failure::{Outcome, Report};

/// The cursors that were followed.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    followed: BTreeSet<String>,
}

impl Cursors {
    /// The cursor of the next page; `None` after the last.
    pub(super) fn follow(&mut self, next: Option<String>) -> Outcome<Option<String>> {
        match next {
            Some(cursor) if !self.followed.insert(cursor.clone()) => {
                Err(Report::new(ErrorCode::UnexpectedAnswer)
                    .because("the server gave the same page cursor twice; the list has no end")
                    .into())
            }
            next => Ok(next),
        }
    }
}
