//! Rows as the engines hand them out, and how they are read.

use warren_model::{Id, IdKind, Timestamp};
use warren_store::Error;

/// One row of an answer, by position.
pub(crate) trait Row {
    fn int(&self, at: usize) -> Result<Option<i64>, Error>;
    fn real(&self, at: usize) -> Result<Option<f64>, Error>;
    fn bool(&self, at: usize) -> Result<Option<bool>, Error>;
    /// Text or JSON.
    fn text(&self, at: usize) -> Result<Option<&str>, Error>;
    fn bytes(&self, at: usize) -> Result<Option<&[u8]>, Error>;
    fn uuid(&self, at: usize) -> Result<Option<[u8; 16]>, Error>;
}

/// Reads a row from left to right, so that a list of columns and its reader cannot drift apart by a number.
pub(crate) struct Columns<'r> {
    row: &'r dyn Row,
    table: &'static str,
    at: usize,
    /// The first value that could not be read and was replaced.
    problem: Option<String>,
}

impl<'r> Columns<'r> {
    pub(crate) fn new(table: &'static str, row: &'r dyn Row) -> Self {
        Self { row, table, at: 0, problem: None }
    }

    fn step(&mut self) -> usize {
        self.at += 1;
        self.at - 1
    }

    /// Goes to the column before which there are this many.
    pub(crate) fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    /// How many columns were read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Puts a replacement in the place of what cannot be read, notes why, and goes on at the column `end`.
    pub(crate) fn or_note<T>(
        &mut self,
        field: Result<T, Error>,
        end: usize,
        replacement: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        match field {
            Err(Error::Corrupt(problem)) => {
                self.problem.get_or_insert(problem);
                self.at = end;
                Ok(replacement())
            }
            other => other,
        }
    }

    /// Why the first value was replaced, if one was.
    pub(crate) fn take_problem(&mut self) -> Option<String> {
        self.problem.take()
    }

    /// A value that does not make sense in the column that was just read.
    pub(crate) fn corrupt(&self, problem: impl std::fmt::Display) -> Error {
        Error::Corrupt(format!("{}, column {}: {problem}", self.table, self.at))
    }

    fn present<T>(&self, value: Option<T>) -> Result<T, Error> {
        value.ok_or_else(|| self.corrupt("a value is missing"))
    }

    pub(crate) fn optional_int(&mut self) -> Result<Option<i64>, Error> {
        let at = self.step();
        self.row.int(at)
    }

    pub(crate) fn count(&mut self) -> Result<u64, Error> {
        let number = self.optional_int()?;
        u64::try_from(self.present(number)?).map_err(|_| self.corrupt("a count is negative"))
    }

    pub(crate) fn optional_count(&mut self) -> Result<Option<u64>, Error> {
        let number = self.optional_int()?;
        number
            .map(|number| u64::try_from(number).map_err(|_| self.corrupt("a count is negative")))
            .transpose()
    }

    pub(crate) fn optional_small_count(&mut self) -> Result<Option<u32>, Error> {
        let count = self.optional_count()?;
        count.map(|count| u32::try_from(count).map_err(|_| self.corrupt("a count is too large"))).transpose()
    }

    pub(crate) fn small_count(&mut self) -> Result<u32, Error> {
        u32::try_from(self.count()?).map_err(|_| self.corrupt("a count is too large"))
    }

    pub(crate) fn small_int(&mut self) -> Result<i32, Error> {
        let number = self.optional_int()?.unwrap_or(0);
        i32::try_from(number).map_err(|_| self.corrupt("a number is too large"))
    }

    pub(crate) fn real(&mut self) -> Result<f64, Error> {
        let at = self.step();
        let number = self.row.real(at)?;
        self.present(number)
    }

    pub(crate) fn bool(&mut self) -> Result<bool, Error> {
        let at = self.step();
        let truth = self.row.bool(at)?;
        self.present(truth)
    }

    pub(crate) fn optional_text(&mut self) -> Result<Option<&'r str>, Error> {
        let at = self.step();
        self.row.text(at)
    }

    pub(crate) fn text(&mut self) -> Result<&'r str, Error> {
        let text = self.optional_text()?;
        self.present(text)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'r [u8], Error> {
        let at = self.step();
        let bytes = self.row.bytes(at)?;
        self.present(bytes)
    }

    pub(crate) fn optional_id<K: IdKind>(&mut self) -> Result<Option<Id<K>>, Error> {
        let at = self.step();
        Ok(self.row.uuid(at)?.map(Id::from_bytes))
    }

    pub(crate) fn id<K: IdKind>(&mut self) -> Result<Id<K>, Error> {
        let id = self.optional_id()?;
        self.present(id)
    }

    pub(crate) fn optional_time(&mut self) -> Result<Option<Timestamp>, Error> {
        Ok(self.optional_int()?.map(Timestamp::from_micros))
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, Error> {
        let at = self.optional_time()?;
        self.present(at)
    }

    /// Text that stands for one of a set of values.
    pub(crate) fn word<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Error> {
        let word = self.text()?;
        parse(word).ok_or_else(|| self.corrupt(format_args!("unknown word `{word}`")))
    }

    pub(crate) fn optional_word<T>(
        &mut self,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let word = self.optional_text()?;
        word.map(|word| parse(word).ok_or_else(|| self.corrupt(format_args!("unknown word `{word}`"))))
            .transpose()
    }

    pub(crate) fn optional_json<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        let text = self.optional_text()?;
        text.map(|text| serde_json::from_str(text).map_err(|problem| self.corrupt(problem))).transpose()
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Error> {
        let value = self.optional_json()?;
        self.present(value)
    }
}

/// Reads a row that is one id.
pub(crate) fn read_id<K: IdKind>(row: &mut Columns<'_>) -> Result<Id<K>, Error> {
    row.id()
}

/// Reads a row that is one count, or nothing.
pub(crate) fn read_optional_count(row: &mut Columns<'_>) -> Result<Option<u64>, Error> {
    row.optional_count()
}

/// Reads a row that is one count.
pub(crate) fn read_count(row: &mut Columns<'_>) -> Result<u64, Error> {
    row.count()
}
