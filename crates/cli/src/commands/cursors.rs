//! Paging through a list, without going round in circles when a server hands out a cursor twice.

use std::collections::BTreeSet;

use warren_model::ErrorCode;

use crate::failure::{Outcome, Report};

/// All pages of a list, one after the other; `page` gives one, with the cursor of the next.
pub(super) async fn all_pages<T>(
    first: Option<String>,
    mut page: impl AsyncFnMut(Option<&str>) -> Outcome<(Vec<T>, Option<String>)>,
) -> Outcome<Vec<T>> {
    let (mut found, mut cursors, mut cursor) = (Vec::new(), Cursors::default(), first);
    loop {
        let (items, next) = page(cursor.as_deref()).await?;
        found.extend(items);
        cursor = cursors.follow(next)?;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

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
