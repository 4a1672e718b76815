//! Puts together the few lists that take filters. Texts differ only by which filters are there, so that prepared
//! statements are found again.

use std::fmt::Write as _;

use crate::value::Value;

pub(crate) struct Select<'a> {
    sql: String,
    values: Vec<Value<'a>>,
    has_condition: bool,
}

impl<'a> Select<'a> {
    /// `head` is the statement up to, not including, `WHERE`.
    pub(crate) fn new(head: &str) -> Self {
        Self { sql: head.to_owned(), values: Vec::new(), has_condition: false }
    }

    /// A condition without a value.
    pub(crate) fn and(&mut self, condition: &str) {
        self.sql.push_str(if self.has_condition { " AND " } else { " WHERE " });
        self.sql.push_str(condition);
        self.has_condition = true;
    }

    /// A condition that ends with its value, such as `id >`.
    pub(crate) fn and_value(&mut self, condition: &str, value: impl Into<Value<'a>>) {
        self.and(condition);
        self.push_value(value.into());
    }

    /// A condition around its value, such as `(at IS NULL OR at >`, the value, `)`.
    pub(crate) fn and_around(&mut self, head: &str, value: impl Into<Value<'a>>, tail: &str) {
        self.and_value(head, value);
        self.sql.push_str(tail);
    }

    /// Only rows behind the pair of values in the order of the pair of columns.
    pub(crate) fn and_pair_after(&mut self, columns: &str, first: Value<'a>, second: Value<'a>) {
        self.and(columns);
        self.sql.push_str(" > (");
        self.push_value(first);
        self.sql.push(',');
        self.push_value(second);
        self.sql.push(')');
    }

    /// Only rows before the pair of values in the order of the pair of columns.
    pub(crate) fn and_pair_before(&mut self, columns: &str, first: Value<'a>, second: Value<'a>) {
        self.and(columns);
        self.sql.push_str(" < (");
        self.push_value(first);
        self.sql.push(',');
        self.push_value(second);
        self.sql.push(')');
    }

    pub(crate) fn and_any_of(&mut self, column: &str, values: impl Iterator<Item = impl Into<Value<'a>>>) {
        self.and(column);
        self.sql.push_str(" IN (");
        for (position, value) in values.enumerate() {
            if position > 0 {
                self.sql.push_str(", ");
            }
            self.push_value(value.into());
        }
        self.sql.push(')');
    }

    /// Ends the statement: in order of `key`, one row more than the page holds, to see whether there is more.
    pub(crate) fn page(mut self, key: &str, limit: u32) -> (String, Vec<Value<'a>>) {
        let _ = write!(self.sql, " ORDER BY {key} LIMIT");
        self.push_value(Value::Int(Some(i64::from(page_size(limit)) + 1)));
        (self.sql, self.values)
    }

    /// Ends the statement without order or limit, where the conditions bound it.
    pub(crate) fn all(self) -> (String, Vec<Value<'a>>) {
        (self.sql, self.values)
    }

    fn push_value(&mut self, value: Value<'a>) {
        self.values.push(value);
        let _ = write!(self.sql, " ${}", self.values.len());
    }
}

/// A page of nothing would never end, so that a limit of 0 counts as 1.
pub(crate) fn page_size(limit: u32) -> u32 {
    limit.max(1)
}
