//! Statements and rows of one SQLite connection.

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection};
use uuid::Uuid;
use warren_store::Error;

use super::error::translate;
use crate::connection::{SqlConnection, Visit, WordsCondition};
use crate::events::{PendingEvent, event_columns};
use crate::row::Row;
use crate::value::Value;

/// Two statements, as SQLite makes a table for what one returns that writes.
const NEWEST_EVENT: &str = "SELECT newest FROM event_sequence WHERE id = 1";
const COUNT_EVENTS: &str = "UPDATE event_sequence SET newest = $1 WHERE id = 1";
const INSERT_EVENT: &str =
    concat!("INSERT INTO events (", event_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7)");

pub(super) struct SqliteConnection<'c> {
    connection: &'c Connection,
}

impl<'c> SqliteConnection<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection }
    }

    fn prepare(&self, sql: &str, values: &[Value<'_>]) -> Result<CachedStatement<'c>, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(translate)?;
        for (position, value) in values.iter().enumerate() {
            debug_assert_eq!(
                statement.parameter_name(position + 1),
                Some(format!("${}", position + 1).as_str()),
                "SQLite numbers `$n` by where it first stands, so that texts must use them in order: {sql}"
            );
            bind(&mut statement, position + 1, value).map_err(translate)?;
        }
        Ok(statement)
    }

    fn take_numbers(&mut self, count: usize) -> Result<u64, Error> {
        let mut known = None;
        self.query(NEWEST_EVENT, &[], &mut |row| {
            known = row.int(0)?;
            Ok(())
        })?;
        let newest = known
            .and_then(|known| u64::try_from(known).ok()?.checked_add(count as u64))
            .ok_or_else(|| Error::Corrupt("the counter of events is missing".into()))?;
        self.execute(COUNT_EVENTS, &[Value::count(newest)?])?;
        Ok(newest)
    }
}

impl SqlConnection for SqliteConnection<'_> {
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, Error> {
        let changed = self.prepare(sql, values)?.raw_execute().map_err(translate)?;
        Ok(changed as u64)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], visit: &mut Visit<'_>) -> Result<(), Error> {
        let mut statement = self.prepare(sql, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(translate)? {
            visit(row)?;
        }
        Ok(())
    }

    fn run_script(&mut self, sql: &'static str) -> Result<(), Error> {
        self.connection.execute_batch(sql).map_err(translate)
    }

    /// There is one writer, so that the order in which work runs is the order in which it commits.
    fn number_events(&mut self, events: &[PendingEvent]) -> Result<u64, Error> {
        let newest = self.take_numbers(events.len())?;
        let first = newest + 1 - events.len() as u64;
        for (seq, event) in (first..).zip(events) {
            let values = [
                Value::count(seq)?,
                Value::Int(Some(event.at)),
                event.kind.into(),
                event.org_id.into(),
                event.workspace_id.into(),
                event.principal.as_str().into(),
                Value::Json(Some(event.data.as_str().into())),
            ];
            self.execute(INSERT_EVENT, &values)?;
        }
        Ok(newest)
    }

    fn words_condition(&self, table: &str, words: &[String]) -> WordsCondition {
        let wanted: Vec<String> = words.iter().map(|word| format!("\"{word}\"*")).collect();
        WordsCondition {
            head: format!("row IN (SELECT rowid FROM {table}_words WHERE {table}_words MATCH"),
            value: wanted.join(" "),
            tail: ")",
        }
    }

    /// The one writer holds the whole file.
    fn row_lock(&self) -> &'static str {
        ""
    }

    fn row_hold(&self) -> &'static str {
        ""
    }
}

fn bind(statement: &mut CachedStatement<'_>, at: usize, value: &Value<'_>) -> rusqlite::Result<()> {
    match value {
        Value::Int(number) => statement.raw_bind_parameter(at, number),
        Value::Real(number) => statement.raw_bind_parameter(at, number),
        Value::Bool(truth) => statement.raw_bind_parameter(at, truth),
        Value::Text(text) | Value::Json(text) => statement.raw_bind_parameter(at, text.as_deref()),
        Value::Bytes(bytes) => statement.raw_bind_parameter(at, bytes),
        Value::Uuid(Some(bytes)) => {
            let mut buffer = Uuid::encode_buffer();
            let text: &str = Uuid::from_bytes(*bytes).hyphenated().encode_lower(&mut buffer);
            statement.raw_bind_parameter(at, text)
        }
        Value::Uuid(None) => statement.raw_bind_parameter(at, None::<i64>),
    }
}

impl Row for rusqlite::Row<'_> {
    fn int(&self, at: usize) -> Result<Option<i64>, Error> {
        self.get(at).map_err(translate)
    }

    fn real(&self, at: usize) -> Result<Option<f64>, Error> {
        self.get(at).map_err(translate)
    }

    fn bool(&self, at: usize) -> Result<Option<bool>, Error> {
        self.get(at).map_err(translate)
    }

    fn text(&self, at: usize) -> Result<Option<&str>, Error> {
        let value = self.get_ref(at).map_err(translate)?;
        value.as_str_or_null().map_err(|problem| Error::Corrupt(format!("column {}: {problem}", at + 1)))
    }

    fn bytes(&self, at: usize) -> Result<Option<&[u8]>, Error> {
        match self.get_ref(at).map_err(translate)? {
            ValueRef::Null => Ok(None),
            ValueRef::Blob(bytes) => Ok(Some(bytes)),
            ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) => {
                Err(Error::Corrupt(format!("column {}: not bytes", at + 1)))
            }
        }
    }

    fn uuid(&self, at: usize) -> Result<Option<[u8; 16]>, Error> {
        let Some(text) = self.text(at)? else {
            return Ok(None);
        };
        match Uuid::try_parse(text) {
            Ok(uuid) => Ok(Some(uuid.into_bytes())),
            Err(problem) => Err(Error::Corrupt(format!("column {}: {problem}", at + 1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::makes_a_table;

    // P9
    #[test]
    fn an_event_gets_its_number_without_making_a_table() {
        for sql in [NEWEST_EVENT, COUNT_EVENTS, INSERT_EVENT] {
            assert!(!makes_a_table(sql), "{sql}");
        }
    }
}
