//! Tables, each stated once: which columns hold a record, and how every one of them is written and read.
//!
//! ```text
//!   table! {
//!       TASKS: Task in "tasks" {
//!           id, author, created_at,         // set with the insert and never changed
//!           ;
//!           state, history: Json,           // written by updates too
//!       }
//!   }
//! ```
//!
//! An entry is a field of the record. Its column has the same name unless other columns stand in brackets
//! (`timing: TimingColumns [cron, time_zone, every_seconds]`). How it is stored follows from its type
//! ([`Stored`](crate::stored::Stored)) unless a [`Codec`](crate::stored::Codec) is named. Lists of columns,
//! placeholders, the values of an insert and the reader of a row all follow from that, in one order.

use std::fmt::Write as _;
use std::sync::LazyLock;

use warren_store::{Batch, Error, Page};

use crate::row::Columns;
use crate::transaction::Transaction;
use crate::value::Value;

/// The text of a statement, put together when it is first used.
pub(crate) type Statement = LazyLock<String>;

/// How rows of one table are written and read. Made by [`table!`].
pub(crate) struct Table<T: 'static> {
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Field<T>],
    pub(crate) read: fn(&mut Columns<'_>) -> Result<T, Error>,
}

/// One field of a record and the columns that hold it.
pub(crate) struct Field<T> {
    pub(crate) columns: &'static [&'static str],
    /// Whether updates write it.
    pub(crate) is_changing: bool,
    pub(crate) write: Write<T>,
    pub(crate) differs: fn(&T, &T) -> bool,
}

type Write<T> = for<'a> fn(&'a T, &mut Vec<Value<'a>>) -> Result<(), Error>;

impl<T> Table<T> {
    /// Everything that is read, in the order of the reader.
    pub(crate) fn columns(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }

    /// How many columns there are before this one.
    pub(crate) fn position(&self, column: &str) -> usize {
        self.names().take_while(|name| *name != column).count()
    }

    /// `tail` is what follows the name of the table.
    pub(crate) fn select(&self, tail: &str) -> String {
        format!("SELECT {} FROM {} {tail}", self.columns(), self.name)
    }

    /// With the values of `values`.
    pub(crate) fn insert(&self, tail: &str) -> String {
        self.insert_with(&[], tail)
    }

    /// As `insert`; the values of `more` columns follow those of `values`.
    pub(crate) fn insert_with(&self, more: &[&str], tail: &str) -> String {
        let names: Vec<&str> = self.names().chain(more.iter().copied()).collect();
        let placeholders: Vec<String> = (1..=names.len()).map(|number| format!("${number}")).collect();
        format!(
            "INSERT INTO {} ({}) VALUES ({}) {tail}",
            self.name,
            names.join(", "),
            placeholders.join(", ")
        )
    }

    /// Inserts, or writes over the row with the same `key`. With the values of `values`, then those of `more` columns.
    pub(crate) fn put_with(&self, more: &[&str], key: &[&str]) -> String {
        let names = self.names().chain(more.iter().copied()).filter(|name| !key.contains(name));
        let changes: Vec<String> = names.map(|name| format!("{name} = excluded.{name}")).collect();
        let tail = format!("ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), changes.join(", "));
        self.insert_with(more, &tail)
    }

    pub(crate) fn put(&self, key: &[&str]) -> String {
        self.put_with(&[], key)
    }

    /// With the values of `changes`, then those of `conditions`: columns that must be equal to them.
    pub(crate) fn update(&self, conditions: &[&str]) -> String {
        self.update_with(&[], "", conditions)
    }

    /// As `update`, for rows that are counted up by each change; see `Transaction::update_versioned`.
    pub(crate) fn update_versioned(&self, conditions: &[&str]) -> String {
        self.update_with(&[], VERSION_GROWS, conditions)
    }

    /// As `update_versioned`; the values of `more` columns stand between those of `changes` and the conditions.
    pub(crate) fn update_versioned_with(&self, more: &[&str], conditions: &[&str]) -> String {
        self.update_with(more, VERSION_GROWS, conditions)
    }

    fn update_with(&self, more: &[&str], and: &str, conditions: &[&str]) -> String {
        let changing = self.fields.iter().filter(|field| field.is_changing);
        let names = changing.flat_map(|field| field.columns).map(|name| *name as &str);
        let names = names.chain(more.iter().copied());
        update(self.name, names, and, conditions)
    }

    /// The statement and the values that turn `from` into `to`: only the columns that differ are written, since an engine
    /// leaves the indexes of the others alone. Those named in `always` are written in any case.
    pub(crate) fn update_versioned_differences<'a>(
        &self,
        from: &T,
        to: &'a T,
        always: &[&str],
        conditions: &[&str],
    ) -> Result<(String, Vec<Value<'a>>), Error> {
        let is_written = |field: &&Field<T>| {
            field.is_changing
                && ((field.differs)(from, to) || field.columns.iter().any(|name| always.contains(name)))
        };
        let changed = || self.fields.iter().filter(is_written);
        let mut values = Vec::with_capacity(8);
        changed().try_for_each(|field| (field.write)(to, &mut values))?;
        let names = changed().flat_map(|field| field.columns).copied();
        Ok((update(self.name, names, VERSION_GROWS, conditions), values))
    }

    /// The values of all columns.
    pub(crate) fn values<'a>(&self, record: &'a T) -> Result<Vec<Value<'a>>, Error> {
        let mut values = Vec::with_capacity(self.fields.len() + 4);
        self.fields.iter().try_for_each(|field| (field.write)(record, &mut values))?;
        Ok(values)
    }

    /// The values of the columns that updates write.
    pub(crate) fn changes<'a>(&self, record: &'a T) -> Result<Vec<Value<'a>>, Error> {
        let mut values = Vec::with_capacity(self.fields.len() + 4);
        let mut changing = self.fields.iter().filter(|field| field.is_changing);
        changing.try_for_each(|field| (field.write)(record, &mut values))?;
        Ok(values)
    }

    fn names<'n>(&self) -> impl Iterator<Item = &'n str> + use<'_, 'n, T> {
        self.fields.iter().flat_map(|field| field.columns).copied()
    }

    pub(crate) fn first(
        &self,
        tx: &mut Transaction<'_>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Option<T>, Error> {
        tx.first(self.name, sql, values, self.read)
    }

    pub(crate) fn rows(
        &self,
        tx: &mut Transaction<'_>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, Error> {
        tx.rows(self.name, sql, values, self.read)
    }

    /// See `Transaction::batch`.
    pub(crate) fn batch(
        &self,
        tx: &mut Transaction<'_>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Batch<T>, Error> {
        tx.batch(self.name, sql, values, self.read)
    }

    /// See `Transaction::readable`.
    pub(crate) fn readable(
        &self,
        tx: &mut Transaction<'_>,
        sql: &str,
        values: &[Value<'_>],
        limit: u32,
    ) -> Result<Batch<T>, Error> {
        tx.readable(self.name, sql, values, limit, self.read)
    }

    /// See `Transaction::page`.
    pub(crate) fn page<C>(
        &self,
        tx: &mut Transaction<'_>,
        select: &(String, Vec<Value<'_>>),
        limit: u32,
        key: fn(&mut Columns<'_>) -> Result<C, Error>,
    ) -> Result<Page<T, C>, Error> {
        tx.page(self.name, select, limit, self.read, key)
    }
}

const VERSION_GROWS: &str = "version = version + 1";

/// Placeholders are numbered from left to right; see `SqlConnection`.
fn update<'n>(table: &str, names: impl Iterator<Item = &'n str>, and: &str, conditions: &[&str]) -> String {
    let mut sql = format!("UPDATE {table} SET ");
    let mut number = 0;
    for name in names {
        let separator = if number == 0 { "" } else { ", " };
        number += 1;
        let _ = write!(sql, "{separator}{name} = ${number}");
    }
    if !and.is_empty() {
        let separator = if number == 0 { "" } else { ", " };
        let _ = write!(sql, "{separator}{and}");
    }
    for (position, condition) in conditions.iter().enumerate() {
        let word = if position == 0 { "WHERE" } else { "AND" };
        number += 1;
        let _ = write!(sql, " {word} {condition} = ${number}");
    }
    sql
}

/// States a table; see the top of this module.
macro_rules! table {
    (
        $(#[$about:meta])*
        $name:ident: $record:ident in $table:literal {
            $($fixed:ident $(: $fixed_codec:ident)? $([$($fixed_column:ident),*])?),* $(,)?
            $(; $($changing:ident $(: $codec:ident)? $([$($column:ident),*])?),* $(,)?)?
        }
    ) => {
        $(#[$about])*
        static $name: $crate::table::Table<$record> = $crate::table::Table {
            name: $table,
            fields: &[
                $($crate::table::field!(false, $fixed $(: $fixed_codec)? $([$($fixed_column),*])?),)*
                $($($crate::table::field!(true, $changing $(: $codec)? $([$($column),*])?),)*)?
            ],
            read: |row| Ok($record {
                $($fixed: <$crate::table::codec!($($fixed_codec)?) as $crate::stored::Codec<_>>::read(row)?,)*
                $($($changing: <$crate::table::codec!($($codec)?) as $crate::stored::Codec<_>>::read(row)?,)*)?
            }),
        };
    };
}

macro_rules! field {
    ($is_changing:literal, $field:ident $(: $codec:ident)?) => {
        $crate::table::field!($is_changing, $field $(: $codec)? [$field])
    };
    ($is_changing:literal, $field:ident $(: $codec:ident)? [$($column:ident),*]) => {
        $crate::table::Field {
            columns: &[$(stringify!($column)),*],
            is_changing: $is_changing,
            write: |record, values| {
                <$crate::table::codec!($($codec)?) as $crate::stored::Codec<_>>::write(&record.$field, values)
            },
            differs: |one, other| one.$field != other.$field,
        }
    };
}

macro_rules! codec {
    () => {
        $crate::stored::Plain
    };
    ($codec:ident) => {
        $codec
    };
}

pub(crate) use {codec, field, table};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::Json;

    #[derive(Debug, PartialEq)]
    struct Letter {
        number: u64,
        body: Vec<u32>,
        is_read: bool,
        stamp: Option<u32>,
    }

    table! {
        LETTERS: Letter in "letters" {
            number, body: Json [text]; is_read, stamp
        }
    }

    #[test]
    fn every_statement_follows_from_the_one_list() {
        assert_eq!(
            LETTERS.select("WHERE number = $1"),
            "SELECT number, text, is_read, stamp FROM letters WHERE number = $1"
        );
        assert_eq!(
            LETTERS.insert_with(&["words"], "ON CONFLICT DO NOTHING"),
            "INSERT INTO letters (number, text, is_read, stamp, words) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"
        );
        assert_eq!(
            LETTERS.put(&["number"]),
            "INSERT INTO letters (number, text, is_read, stamp) VALUES ($1, $2, $3, $4) ON CONFLICT (number) \
             DO UPDATE SET text = excluded.text, is_read = excluded.is_read, stamp = excluded.stamp"
        );
        assert_eq!(
            LETTERS.update(&["number", "stamp"]),
            "UPDATE letters SET is_read = $1, stamp = $2 WHERE number = $3 AND stamp = $4"
        );
        assert_eq!(LETTERS.position("is_read"), 2);
    }

    #[test]
    fn a_change_writes_only_what_differs() {
        let one = Letter { number: 1, body: vec![1], is_read: false, stamp: None };
        let other = Letter { number: 1, body: vec![1], is_read: false, stamp: Some(5) };
        let (sql, values) = LETTERS.update_versioned_differences(&one, &other, &[], &["number"]).unwrap();
        assert_eq!(sql, "UPDATE letters SET stamp = $1, version = version + 1 WHERE number = $2");
        assert_eq!(values, [Value::Int(Some(5))]);
        let (sql, _) = LETTERS.update_versioned_differences(&one, &one, &[], &["number"]).unwrap();
        assert_eq!(sql, "UPDATE letters SET version = version + 1 WHERE number = $1");
        let (sql, _) = LETTERS.update_versioned_differences(&one, &one, &["stamp"], &["number"]).unwrap();
        assert_eq!(sql, "UPDATE letters SET stamp = $1, version = version + 1 WHERE number = $2");
    }
}
