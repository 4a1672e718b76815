//! Statements and rows of one Postgres transaction, called from a thread that may block.

use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgRow, PgTypeInfo, PgValueRef};
use sqlx::{Arguments as _, AssertSqlSafe, Postgres, Row as _, Transaction, Type, ValueRef as _};
use tokio::runtime::Handle;
use warren_store::Error;

use super::error::{asks_to_run_again, translate};
use crate::connection::{SqlConnection, Visit, WordsCondition};
use crate::events::{PendingEvent, event_columns};
use crate::row::Row;
use crate::value::Value;

/// Takes the numbers and writes the events in one go: the lock on the counter is held for this statement and the
/// commit, and for nothing else.
const NUMBER_EVENTS: &str = concat!(
    "WITH counter AS (\
       UPDATE event_sequence SET newest = newest + $1 WHERE id = 1 RETURNING newest) \
     INSERT INTO events (",
    event_columns!(),
    ") SELECT counter.newest - $1 + new.position, new.at, new.kind, new.org_id::uuid, new.workspace_id::uuid, \
       new.principal, new.data::json \
     FROM counter, unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) \
       WITH ORDINALITY AS new (at, kind, org_id, workspace_id, principal, data, position) \
     RETURNING seq"
);

pub(super) struct PostgresConnection {
    transaction: Transaction<'static, Postgres>,
    runtime: Handle,
    /// Set when the database undid the transaction and running it again may succeed.
    asked_to_run_again: Option<Error>,
}

impl PostgresConnection {
    pub(super) fn new(transaction: Transaction<'static, Postgres>, runtime: Handle) -> Self {
        Self { transaction, runtime, asked_to_run_again: None }
    }

    pub(super) fn asked_to_run_again(&mut self) -> Option<Error> {
        self.asked_to_run_again.take()
    }

    pub(super) fn commit(self) -> Result<(), sqlx::Error> {
        self.runtime.block_on(self.transaction.commit())
    }

    /// A rollback that fails has the effect of one: the connection is gone and the server drops its transaction.
    pub(super) fn rollback(self) {
        if let Err(error) = self.runtime.block_on(self.transaction.rollback()) {
            tracing::debug!(%error, "a rollback failed");
        }
    }

    fn fetch(&mut self, sql: String, arguments: PgArguments) -> Result<Vec<PgRow>, Error> {
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments);
        let rows = self.runtime.block_on(query.fetch_all(&mut *self.transaction));
        self.note(rows)
    }

    fn note<T>(&mut self, result: Result<T, sqlx::Error>) -> Result<T, Error> {
        result.map_err(|error| {
            let translated = translate(&error);
            if asks_to_run_again(&error) {
                self.asked_to_run_again = Some(translated.clone());
            }
            translated
        })
    }
}

impl SqlConnection for PostgresConnection {
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, Error> {
        let query = sqlx::query_with(AssertSqlSafe(sql.to_owned()), bind(values)?);
        let done = self.runtime.block_on(query.execute(&mut *self.transaction));
        Ok(self.note(done)?.rows_affected())
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>], visit: &mut Visit<'_>) -> Result<(), Error> {
        let rows = self.fetch(sql.to_owned(), bind(values)?)?;
        rows.iter().try_for_each(|row| visit(row))
    }

    fn run_script(&mut self, sql: &'static str) -> Result<(), Error> {
        let done = self.runtime.block_on(sqlx::raw_sql(sql).execute(&mut *self.transaction));
        self.note(done).map(drop)
    }

    fn number_events(&mut self, events: &[PendingEvent]) -> Result<u64, Error> {
        let rows = self.fetch(NUMBER_EVENTS.to_owned(), event_arguments(events)?)?;
        let mut numbers = rows.iter().map(|row| row.int(0));
        let newest = numbers.try_fold(None, |newest, seq| Ok(newest.max(seq?)))?;
        newest
            .and_then(|seq| u64::try_from(seq).ok())
            .ok_or_else(|| Error::Corrupt("the counter of events is missing".into()))
    }

    /// Neither side is parsed: what counts as a word was decided before.
    fn words_condition(&self, table: &str, words: &[String]) -> WordsCondition {
        let wanted: Vec<String> = words.iter().map(|word| format!("'{word}':*")).collect();
        WordsCondition {
            head: format!("array_to_tsvector(string_to_array({table}.words, ' ')) @@ CAST(CAST("),
            value: wanted.join(" & "),
            tail: " AS text) AS tsquery)",
        }
    }

    fn row_lock(&self) -> &'static str {
        " FOR SHARE"
    }

    /// Rows that point to this one may still be inserted.
    fn row_hold(&self) -> &'static str {
        " FOR NO KEY UPDATE"
    }
}

/// One array per column.
fn event_arguments(events: &[PendingEvent]) -> Result<PgArguments, Error> {
    let mut arguments = PgArguments::default();
    let add = |added: Result<(), BoxDynError>| added.map_err(unbindable);
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    add(arguments.add(count))?;
    add(arguments.add(events.iter().map(|event| event.at).collect::<Vec<_>>()))?;
    add(arguments.add(events.iter().map(|event| event.kind).collect::<Vec<_>>()))?;
    add(arguments.add(events.iter().map(|event| event.org_id.to_string()).collect::<Vec<_>>()))?;
    let workspace_ids = events.iter().map(|event| event.workspace_id.map(|id| id.to_string()));
    add(arguments.add(workspace_ids.collect::<Vec<_>>()))?;
    add(arguments.add(events.iter().map(|event| event.principal.as_str()).collect::<Vec<_>>()))?;
    add(arguments.add(events.iter().map(|event| event.data.as_str()).collect::<Vec<_>>()))?;
    Ok(arguments)
}

fn bind(values: &[Value<'_>]) -> Result<PgArguments, Error> {
    let mut arguments = PgArguments::default();
    for value in values {
        let added = match value {
            Value::Int(number) => arguments.add(number),
            Value::Real(number) => arguments.add(number),
            Value::Bool(truth) => arguments.add(truth),
            Value::Text(text) => arguments.add(text.as_deref()),
            Value::Json(text) => arguments.add(text.as_deref().map(Json)),
            Value::Bytes(bytes) => arguments.add(bytes),
            Value::Uuid(bytes) => arguments.add(bytes.map(UuidBytes)),
        };
        added.map_err(unbindable)?;
    }
    Ok(arguments)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
fn unbindable(problem: BoxDynError) -> Error {
    Error::Refused(format!("a value cannot be sent: {problem}"))
}

/// A UUID as Postgres takes it: sixteen bytes.
struct UuidBytes([u8; 16]);

impl Type<Postgres> for UuidBytes {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(2950))
    }
}
impl Encode<'_, Postgres> for UuidBytes {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }
}

/// JSON that is already text; `json` (not `jsonb`) takes it as it is.
struct Json<'a>(&'a str);

impl Type<Postgres> for Json<'_> {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(114))
    }
}
impl Encode<'_, Postgres> for Json<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }
}

fn raw(row: &PgRow, at: usize) -> Result<Option<PgValueRef<'_>>, Error> {
    let value = row.try_get_raw(at).map_err(|error| translate(&error))?;
    Ok(if value.is_null() { None } else { Some(value) })
}

fn unreadable(at: usize, problem: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!("column {}: {problem}", at + 1))
}

impl Row for PgRow {
    fn int(&self, at: usize) -> Result<Option<i64>, Error> {
        self.try_get(at).map_err(|error| translate(&error))
    }

    fn real(&self, at: usize) -> Result<Option<f64>, Error> {
        self.try_get(at).map_err(|error| translate(&error))
    }

    fn bool(&self, at: usize) -> Result<Option<bool>, Error> {
        self.try_get(at).map_err(|error| translate(&error))
    }

    fn text(&self, at: usize) -> Result<Option<&str>, Error> {
        raw(self, at)?.map(|value| value.as_str().map_err(|problem| unreadable(at, problem))).transpose()
    }

    fn bytes(&self, at: usize) -> Result<Option<&[u8]>, Error> {
        raw(self, at)?.map(|value| value.as_bytes().map_err(|problem| unreadable(at, problem))).transpose()
    }

    fn uuid(&self, at: usize) -> Result<Option<[u8; 16]>, Error> {
        self.bytes(at)?
            .map(|bytes| bytes.try_into().map_err(|_| unreadable(at, "a UUID has 16 bytes")))
            .transpose()
    }
}
