//! How many rows at once are handed out: in pages, and in batches of what is due.

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
