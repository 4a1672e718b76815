//! A transaction as the nouns see it: statements, events kept back for the end, and the one rule of failing.
//!
//! When the database fails a statement, the whole transaction has failed: later statements answer with the same
//! error and it is never committed, even if the caller looks away. Postgres behaves like that anyway, and worse:
//! it answers a COMMIT of such a transaction with a quiet rollback. What callers may get over (a row that is
//! already there, a version that moved on) is therefore never told by a failing statement but by a count of rows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use warren_model::{Id, NewAuditEntry, RequestKind};
use warren_store::{Batch, Error, Page, ReadWork, Unreadable, Verdict, WriteWork};

use crate::audit;
use crate::connection::{SqlConnection, WordsCondition};
use crate::events::PendingEvent;
use crate::row::{Columns, Row};
use crate::select::page_size;
use crate::value::Value;

pub(crate) struct Transaction<'s> {
    connection: &'s mut dyn SqlConnection,
    pub(crate) pending: Vec<PendingEvent>,
    pub(crate) pending_audit: Vec<NewAuditEntry>,
    failure: Option<Error>,
}

impl<'s> Transaction<'s> {
    pub(crate) fn new(connection: &'s mut dyn SqlConnection) -> Self {
        Self { connection, pending: Vec::new(), pending_audit: Vec::new(), failure: None }
    }

    pub(crate) fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, Error> {
        self.admit(values)?;
        let result = self.connection.execute(sql, values);
        self.remember(result)
    }

    /// Compare-and-set by version: runs a statement of `Table::update_versioned`, with the values of its changes and of
    /// its key. Returns the new version.
    pub(crate) fn update_versioned<'v>(
        &mut self,
        sql: &str,
        mut changes: Vec<Value<'v>>,
        key: impl IntoIterator<Item = Value<'v>>,
        expected_version: u64,
    ) -> Result<u64, Error> {
        let version = expected_version.checked_add(1).filter(|version| i64::try_from(*version).is_ok());
        let version = version.ok_or_else(|| Error::Refused("the version cannot grow further".into()))?;
        changes.extend(key);
        changes.push(Value::count(expected_version)?);
        match self.execute(sql, &changes)? {
            0 => Err(Error::Conflict),
            _ => Ok(version),
        }
    }

    /// Runs a query and reads each row with `read`; `table` names it in errors.
    pub(crate) fn rows<T>(
        &mut self,
        table: &'static str,
        sql: &str,
        values: &[Value<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.admit(values)?;
        let mut rows = Vec::new();
        let result = self.connection.query(sql, values, &mut |row| {
            rows.push(read(&mut Columns::new(table, row))?);
            Ok(())
        });
        self.remember(result).map(|()| rows)
    }

    /// The first `limit` rows that can be read, and those before them that cannot. The statement's last value is its own
    /// limit, which grows until nothing unreadable is in the way.
    pub(crate) fn readable<T>(
        &mut self,
        table: &'static str,
        sql: &str,
        values: &[Value<'_>],
        limit: u32,
        read: fn(&mut Columns<'_>) -> Result<T, Error>,
    ) -> Result<Batch<T>, Error> {
        let mut asked = i64::from(limit);
        loop {
            let bounded: Vec<_> = values.iter().cloned().chain([Value::Int(Some(asked))]).collect();
            let mut batch = self.batch(table, sql, &bounded, read)?;
            let found = batch.rows.len() + batch.unreadable.len();
            if batch.unreadable.is_empty()
                || batch.rows.len() >= limit as usize
                || found < usize::try_from(asked).unwrap_or(usize::MAX)
            {
                batch.rows.truncate(limit as usize);
                return Ok(batch);
            }
            asked = asked.saturating_mul(2);
        }
    }

    /// What `Select::page` asks for, cut to the page; rows that cannot be read take their place in it and are named.
    /// `key` reads where the next page begins from the columns alone: a row without a key has no place in any list.
    pub(crate) fn page<T, C>(
        &mut self,
        table: &'static str,
        select: &(String, Vec<Value<'_>>),
        limit: u32,
        read: fn(&mut Columns<'_>) -> Result<T, Error>,
        key: fn(&mut Columns<'_>) -> Result<C, Error>,
    ) -> Result<Page<T, C>, Error> {
        self.page_of(&Listing { table, read, key, id: uuid_id }, select, limit)
    }

    /// The same for rows that are known by something else than an id.
    pub(crate) fn page_of<T, C>(
        &mut self,
        list: &Listing<T, C>,
        (sql, values): &(String, Vec<Value<'_>>),
        limit: u32,
    ) -> Result<Page<T, C>, Error> {
        self.admit(values)?;
        let size = page_size(limit) as usize;
        let mut page = Page { rows: Vec::new(), next: None, unreadable: Vec::new() };
        let (mut last, mut has_more) = (None, false);
        let result = self.connection.query(sql, values, &mut |row| {
            if page.rows.len() + page.unreadable.len() == size {
                has_more = true;
                return Ok(());
            }
            last = Some((list.key)(&mut Columns::new(list.table, row))?);
            match (list.read)(&mut Columns::new(list.table, row)) {
                Ok(row) => page.rows.push(row),
                Err(Error::Corrupt(problem)) => {
                    page.unreadable.push(Unreadable { table: list.table, id: (list.id)(row), problem });
                }
                Err(error) => return Err(error),
            }
            Ok(())
        });
        self.remember(result)?;
        page.next = last.filter(|_| has_more);
        Ok(page)
    }

    /// All rows: those that can be read, and those that cannot.
    pub(crate) fn batch<T>(
        &mut self,
        table: &'static str,
        sql: &str,
        values: &[Value<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, Error>,
    ) -> Result<Batch<T>, Error> {
        self.admit(values)?;
        let mut batch = Batch { rows: Vec::new(), unreadable: Vec::new() };
        let result = self.connection.query(sql, values, &mut |row| {
            match read(&mut Columns::new(table, row)) {
                Ok(row) => batch.rows.push(row),
                Err(Error::Corrupt(problem)) => {
                    batch.unreadable.push(Unreadable { table, id: uuid_id(row), problem });
                }
                Err(error) => return Err(error),
            }
            Ok(())
        });
        self.remember(result).map(|()| batch)
    }

    pub(crate) fn first<T>(
        &mut self,
        table: &'static str,
        sql: &str,
        values: &[Value<'_>],
        read: fn(&mut Columns<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        Ok(self.rows(table, sql, values, read)?.pop())
    }

    pub(crate) fn row_lock(&self) -> &'static str {
        self.connection.row_lock()
    }

    pub(crate) fn row_hold(&self) -> &'static str {
        self.connection.row_hold()
    }

    pub(crate) fn words_condition(&self, table: &str, words: &[String]) -> WordsCondition {
        self.connection.words_condition(table, words)
    }

    /// Refuses work after a failure, and values that only one engine could keep. The latter never reach the
    /// database, but doom the transaction all the same.
    fn admit(&mut self, values: &[Value<'_>]) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let checked = values.iter().try_for_each(Value::check);
        self.remember(checked)
    }

    pub(crate) fn remember<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result {
            self.failure = Some(error.clone());
        }
        result
    }

    /// Writes what was kept back. `Ok` means that a commit is right; it carries the highest event number given.
    fn finish(mut self) -> Result<Option<u64>, Error> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        // Always before the events: two transactions that want both locks take them in the same order.
        if !self.pending_audit.is_empty() {
            audit::append(self.connection, &self.pending_audit)?;
        }
        if self.pending.is_empty() {
            return Ok(None);
        }
        self.connection.number_events(&self.pending).map(Some)
    }
}

/// How a list reads its rows.
pub(crate) struct Listing<T, C> {
    pub(crate) table: &'static str,
    pub(crate) read: fn(&mut Columns<'_>) -> Result<T, Error>,
    /// Where the next page begins, from the columns alone.
    pub(crate) key: fn(&mut Columns<'_>) -> Result<C, Error>,
    /// What a row that cannot be read is called.
    pub(crate) id: fn(&dyn Row) -> String,
}

/// Names a row by its first column, an id.
fn uuid_id(row: &dyn Row) -> String {
    let id = row.uuid(0).ok().flatten().map(Id::<RequestKind>::from_bytes);
    id.map(|id| id.to_string()).unwrap_or_default()
}

/// Names a row by its first column, a text.
pub(crate) fn text_id(row: &dyn Row) -> String {
    row.text(0).ok().flatten().unwrap_or_default().to_owned()
}

/// Names a row by its first column, a number.
pub(crate) fn count_id(row: &dyn Row) -> String {
    row.int(0).ok().flatten().map(|number| number.to_string()).unwrap_or_default()
}

/// What is to be done with a transaction after its work ran.
#[derive(Debug)]
pub(crate) enum Ending {
    /// Commit; the highest event number given, if any.
    Commit(Option<u64>),
    /// The caller changed its mind and has its reason.
    Rollback,
    /// Roll back and tell the caller.
    Fail(Error),
}

/// Runs a caller's writing work. A panic in it is the caller's failure, not the database's.
pub(crate) fn run_write_work(connection: &mut dyn SqlConnection, work: &mut WriteWork) -> Ending {
    let mut transaction = Transaction::new(connection);
    match catch_unwind(AssertUnwindSafe(|| work(&mut transaction))) {
        Ok(Verdict::Commit) => match transaction.finish() {
            Ok(newest) => Ending::Commit(newest),
            Err(error) => Ending::Fail(error),
        },
        Ok(Verdict::Rollback) => Ending::Rollback,
        Err(_) => Ending::Fail(panicked()),
    }
}

/// Runs a caller's reading work.
pub(crate) fn run_read_work(connection: &mut dyn SqlConnection, work: &mut ReadWork) -> Result<(), Error> {
    let mut transaction = Transaction::new(connection);
    match catch_unwind(AssertUnwindSafe(|| work(&mut transaction))) {
        Ok(Verdict::Commit | Verdict::Rollback) => Ok(()),
        Err(_) => Err(panicked()),
    }
}

/// The message of the panic stays out of it: the panic hook has printed it, and it may hold a secret.
fn panicked() -> Error {
    Error::Refused("the work inside the transaction panicked".into())
}
