//! What the nouns ask of an engine: run a statement, visit its rows.
//!
//! The nouns are written once, in SQL that both engines read (`$1` placeholders, `ON CONFLICT`, `RETURNING`). One
//! trap: to SQLite `$2` is a name, not a number; it numbers names by where they first stand. So every text uses its
//! placeholders in ascending order of first use, and debug builds check that.
//!
//! What differs is behind this trait: how a value is bound, how events are numbered, how a row is locked.

use warren_store::Error;

use crate::events::PendingEvent;
use crate::row::Row;
use crate::value::Value;

/// One open transaction of one engine.
pub(crate) trait SqlConnection {
    /// Runs a statement and answers with how many rows it changed.
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, Error>;

    /// Runs a statement and shows each row to `visit`.
    fn query(&mut self, sql: &str, values: &[Value<'_>], visit: &mut Visit<'_>) -> Result<(), Error>;

    /// Runs statements that take no values, as migrations are.
    fn run_script(&mut self, sql: &'static str) -> Result<(), Error>;

    /// Numbers the events and writes them. Called last, since it may lock the counter until the commit. Answers
    /// with the highest number given.
    fn number_events(&mut self, events: &[PendingEvent]) -> Result<u64, Error>;

    /// What a `SELECT` ends with so that its row stays as it is until the commit.
    fn row_lock(&self) -> &'static str;

    /// The same for a row that is then written, so that nobody else writes it or holds it meanwhile.
    fn row_hold(&self) -> &'static str;

    /// How a table's column `words` is searched: each of these words begins one of the row's. They are letters and digits
    /// only.
    fn words_condition(&self, table: &str, words: &[String]) -> WordsCondition;
}

/// A condition around one value.
#[derive(Debug)]
pub(crate) struct WordsCondition {
    pub(crate) head: String,
    pub(crate) value: String,
    pub(crate) tail: &'static str,
}

pub(crate) type Visit<'v> = dyn FnMut(&dyn Row) -> Result<(), Error> + 'v;
