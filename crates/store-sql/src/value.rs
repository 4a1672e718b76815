//! Values that are bound to statements.

use std::borrow::Cow;

use warren_model::{Id, IdKind, Timestamp};
use warren_store::Error;

/// A value to bind. An absent one has a type too: Postgres wants to know it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Int(Option<i64>),
    Real(f64),
    Bool(bool),
    Text(Option<Cow<'a, str>>),
    Json(Option<Cow<'a, str>>),
    Bytes(&'a [u8]),
    Uuid(Option<[u8; 16]>),
}

impl Value<'_> {
    /// A counter, such as a version. Both engines count up to 2⁶³ - 1.
    pub(crate) fn count(count: u64) -> Result<Self, Error> {
        match i64::try_from(count) {
            Ok(count) => Ok(Self::Int(Some(count))),
            Err(_) => Err(Error::Refused(format!("the number {count} is too large to store"))),
        }
    }

    pub(crate) fn optional_count(count: Option<u64>) -> Result<Self, Error> {
        count.map_or(Ok(Self::Int(None)), Self::count)
    }

    /// Refuses what only one of the engines could keep, so that a program works on both or on neither: Postgres
    /// has no NUL in text, SQLite has no NaN.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Text(Some(text)) if text.contains('\0') => {
                Err(Error::Refused("text must not hold the character NUL".into()))
            }
            Self::Real(number) if !number.is_finite() => {
                Err(Error::Refused("a number must be finite".into()))
            }
            Self::Int(_)
            | Self::Real(_)
            | Self::Bool(_)
            | Self::Text(_)
            | Self::Json(_)
            | Self::Bytes(_)
            | Self::Uuid(_) => Ok(()),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(Cow::Borrowed(text)))
    }
}
impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Some(Cow::Owned(text)))
    }
}
impl From<Option<String>> for Value<'_> {
    fn from(text: Option<String>) -> Self {
        Self::Text(text.map(Cow::Owned))
    }
}
impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text.map(Cow::Borrowed))
    }
}
impl<K: IdKind> From<Id<K>> for Value<'_> {
    fn from(id: Id<K>) -> Self {
        Self::Uuid(Some(*id.as_bytes()))
    }
}
impl<K: IdKind> From<Option<Id<K>>> for Value<'_> {
    fn from(id: Option<Id<K>>) -> Self {
        Self::Uuid(id.map(|id| *id.as_bytes()))
    }
}
impl From<Timestamp> for Value<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Int(Some(at.as_micros()))
    }
}
impl From<Option<Timestamp>> for Value<'_> {
    fn from(at: Option<Timestamp>) -> Self {
        Self::Int(at.map(Timestamp::as_micros))
    }
}
