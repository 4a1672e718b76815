//! Inserts of many rows with few statements: each is a journey to the server in Postgres.

use std::fmt::Write as _;

use warren_store::Error;

use crate::transaction::Transaction;
use crate::value::Value;

/// Rows of one statement. Texts exist for powers of two up to it, so that prepared ones are found again.
const MAX_ROWS: usize = 64;

/// A statement that inserts rows; `tail` follows the values.
pub(crate) struct InsertMany {
    pub(crate) table: &'static str,
    pub(crate) columns: &'static [&'static str],
    pub(crate) tail: &'static str,
}

impl InsertMany {
    /// `values` are those of all rows, one after the other. Returns how many rows were written.
    pub(crate) fn run(&self, tx: &mut Transaction<'_>, values: &[Value<'_>]) -> Result<u64, Error> {
        let mut written = 0;
        let mut rest = values;
        while !rest.is_empty() {
            let rows = (rest.len() / self.columns.len()).min(MAX_ROWS);
            let rows = 1 << rows.ilog2();
            let (now, later) = rest.split_at(rows * self.columns.len());
            written += tx.execute(&self.text(rows), now)?;
            rest = later;
        }
        Ok(written)
    }

    fn text(&self, rows: usize) -> String {
        let mut sql = format!("INSERT INTO {} ({}) VALUES ", self.table, self.columns.join(", "));
        let mut number = 0;
        for row in 0..rows {
            sql.push_str(if row == 0 { "(" } else { ", (" });
            for column in 0..self.columns.len() {
                number += 1;
                let separator = if column == 0 { "" } else { ", " };
                let _ = write!(sql, "{separator}${number}");
            }
            sql.push(')');
        }
        sql.push(' ');
        sql.push_str(self.tail);
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_one_after_the_other() {
        let insert = InsertMany { table: "t", columns: &["a", "b"], tail: "ON CONFLICT DO NOTHING" };
        assert_eq!(insert.text(2), "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4) ON CONFLICT DO NOTHING");
    }
}
