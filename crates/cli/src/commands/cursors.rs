//! Paging through a list, without going round in circles when a server hands out a cursor twice.

use std::collections::BTreeSet;

use warren_model::ErrorCode;

use crate::failure::{Outcome, Report};

/// All pages of a list, one after the other; `page` gives one, with the cursor of the next.
pub(super) async fn all_pages<T>(
    first: Option<String>,
    page: impl AsyncFnMut(Option<&str>) -> Outcome<(Vec<T>, Option<String>)>,
) -> Outcome<Vec<T>> {
    first_of_pages(usize::MAX, first, page).await
}

/// The same, until there are `limit`.
pub(super) async fn first_of_pages<T>(
    limit: usize,
    first: Option<String>,
    mut page: impl AsyncFnMut(Option<&str>) -> Outcome<(Vec<T>, Option<String>)>,
) -> Outcome<Vec<T>> {
    let (mut found, mut cursors, mut cursor) = (Vec::new(), Cursors::default(), first);
    while found.len() < limit {
        let (items, next) = page(cursor.as_deref()).await?;
        found.extend(items);
        cursor = cursors.follow(next)?;
        if cursor.is_none() {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// The cursors that were followed.
#[derive(Debug, Default)]
struct Cursors {
    followed: BTreeSet<String>,
}

impl Cursors {
    /// The cursor of the next page; `None` after the last.
    fn follow(&mut self, next: Option<String>) -> Outcome<Option<String>> {
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
