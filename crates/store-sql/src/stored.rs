//! How the fields of records are kept in columns.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use warren_model::session::{BusyMode, SessionName};
use warren_model::{
    AgentName, ApprovalState, DelegationState, DeliveryEnd, DeliveryReason, DeliveryState, EventKind, Id,
    IdKind, KeyId, MissedPolicy, Network, OrgRole, OverlapPolicy, Principal, Role, RunCause, RunState,
    SecretName, ShortName, Status, StatusReason, TaskState, TemplateName, Timestamp, TokenKind,
    WebhookCallState, WorkspaceName,
};
use warren_store::Error;

use crate::row::Columns;
use crate::value::Value;

/// Writes and reads a field of type `T`, in one column or in several.
pub(crate) trait Codec<T> {
    /// Adds a value for each of its columns.
    fn write<'a>(field: &'a T, values: &mut Vec<Value<'a>>) -> Result<(), Error>;
    /// Takes each of its columns.
    fn read(row: &mut Columns<'_>) -> Result<T, Error>;
}

/// A type that is kept in one column, always in the same way.
pub(crate) trait Stored: Sized {
    fn write(&self) -> Result<Value<'_>, Error>;
    fn read(row: &mut Columns<'_>) -> Result<Self, Error>;
}

/// As the type says.
pub(crate) struct Plain;

impl<T: Stored> Codec<T> for Plain {
    fn write<'a>(field: &'a T, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.push(field.write()?);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<T, Error> {
        T::read(row)
    }
}

/// As JSON.
pub(crate) struct Json;

impl<T: Serialize + DeserializeOwned> Codec<T> for Json {
    fn write<'a>(field: &'a T, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.push(Value::json(field)?);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<T, Error> {
        row.json()
    }
}

/// As JSON, of which there may be so much that it is refused; see [`Value::bounded_json`].
pub(crate) struct BoundedJson;

impl<T: Serialize + DeserializeOwned> Codec<T> for BoundedJson {
    fn write<'a>(field: &'a T, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.push(Value::bounded_json(field)?);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<T, Error> {
        row.json()
    }
}

/// As JSON, or as nothing.
pub(crate) struct OptionalJson;

impl<T: Serialize + DeserializeOwned> Codec<Option<T>> for OptionalJson {
    fn write<'a>(field: &'a Option<T>, values: &mut Vec<Value<'a>>) -> Result<(), Error> {
        values.push(field.as_ref().map_or(Ok(Value::Json(None)), Value::json)?);
        Ok(())
    }

    fn read(row: &mut Columns<'_>) -> Result<Option<T>, Error> {
        row.optional_json()
    }
}

/// Says for each type what is written, and what is read.
macro_rules! stored {
    ($($type:ty: |$field:ident| $value:expr, |$row:ident| $read:expr;)*) => {
        $(impl Stored for $type {
            fn write(&self) -> Result<Value<'_>, Error> {
                let $field = self;
                Ok($value)
            }

            fn read($row: &mut Columns<'_>) -> Result<Self, Error> {
                Ok($read)
            }
        })*
    };
}

stored! {
    Timestamp: |at| (*at).into(), |row| row.time()?;
    Option<Timestamp>: |at| (*at).into(), |row| row.optional_time()?;
    String: |text| text.as_str().into(), |row| row.text()?.to_owned();
    Option<String>: |text| text.as_deref().into(), |row| row.optional_text()?.map(str::to_owned);
    u64: |count| Value::count(*count)?, |row| row.count()?;
    Option<u64>: |count| Value::optional_count(*count)?, |row| row.optional_count()?;
    u32: |count| Value::Int(Some((*count).into())), |row| row.small_count()?;
    Option<u32>: |count| Value::Int(count.map(i64::from)), |row| row.optional_small_count()?;
    i32: |number| Value::Int(Some((*number).into())), |row| row.small_int()?;
    bool: |truth| Value::Bool(*truth), |row| row.bool()?;
    f64: |number| Value::Real(*number), |row| row.real()?;
    Vec<u8>: |bytes| Value::Bytes(bytes), |row| row.bytes()?.to_vec();
    Principal: |principal| principal.to_string().into(), |row| row.word(Principal::parse)?;
    // One that cannot be read counts as nobody: it is told to people and decides nothing.
    Option<Principal>: |principal| principal.as_ref().map(ToString::to_string).into(),
        |row| row.optional_text()?.and_then(Principal::parse);
    Option<StatusReason>: |reason| reason.as_ref().map(StatusReason::as_str).into(),
        |row| row.optional_text()?.map(StatusReason::new);
    Option<DeliveryReason>: |reason| reason.map(DeliveryReason::as_str).into(),
        |row| row.optional_text()?.map(DeliveryReason::read);
    Option<DeliveryEnd>: |end| end.map(DeliveryEnd::as_str).into(), |row| row.optional_word(DeliveryEnd::parse)?;
    WorkspaceName: |name| name.as_str().into(), |row| row.word(|name| name.parse().ok())?;
    TemplateName: |name| name.as_str().into(), |row| row.word(|name| name.parse().ok())?;
    SecretName: |name| name.as_str().into(), |row| row.word(|name| name.parse().ok())?;
    SessionName: |name| name.as_str().into(), |row| row.word(|name| name.parse().ok())?;
    AgentName: |name| name.as_str().into(), |row| row.word(|name| name.parse().ok())?;
    ShortName: |name| name.as_str().into(), |row| row.word(|name| name.parse().ok())?;
    KeyId: |id| id.as_str().into(), |row| row.word(KeyId::parse)?;
}

impl<K: IdKind> Stored for Id<K> {
    fn write(&self) -> Result<Value<'_>, Error> {
        Ok((*self).into())
    }

    fn read(row: &mut Columns<'_>) -> Result<Self, Error> {
        row.id()
    }
}

impl<K: IdKind> Stored for Option<Id<K>> {
    fn write(&self) -> Result<Value<'_>, Error> {
        Ok((*self).into())
    }

    fn read(row: &mut Columns<'_>) -> Result<Self, Error> {
        row.optional_id()
    }
}

/// Types of which each value has a word.
macro_rules! words {
    ($($type:ident)*) => {
        stored! { $($type: |value| value.as_str().into(), |row| row.word($type::parse)?;)* }
    };
}

words! {
    ApprovalState BusyMode DelegationState DeliveryState EventKind MissedPolicy Network OrgRole OverlapPolicy Role RunCause RunState
    Status TaskState TokenKind WebhookCallState
}

impl<const N: usize> Stored for [u8; N] {
    fn write(&self) -> Result<Value<'_>, Error> {
        Ok(Value::Bytes(self))
    }

    fn read(row: &mut Columns<'_>) -> Result<Self, Error> {
        let bytes = row.bytes()?;
        bytes.try_into().map_err(|_| row.corrupt(format_args!("{N} bytes belong here")))
    }
}

/// What one value of a session may have at most: both engines take more, and would suffer from it.
const MAX_JSON_BYTES: usize = 16 << 20;

impl Value<'_> {
    /// As `json`, for what comes from models, tools and callers: too much of it never reaches the database (A20).
    pub(crate) fn bounded_json(value: &impl Serialize) -> Result<Self, Error> {
        match Self::json(value)? {
            Self::Json(Some(text)) if text.len() > MAX_JSON_BYTES => {
                Err(Error::TooLarge { bytes: text.len(), limit: MAX_JSON_BYTES })
            }
            json => Ok(json),
        }
    }

    pub(crate) fn json(value: &impl Serialize) -> Result<Self, Error> {
        let text = serde_json::to_string(value)
            .map_err(|problem| Error::Refused(format!("a value cannot be written as JSON: {problem}")))?;
        Ok(Self::Json(Some(Cow::Owned(text))))
    }
}
