//! How ProtoJSON spells its scalars.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An enum with the names of the protocol. Read by name or number; an unknown one is an error that names it.
macro_rules! proto_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                let known = match &value {
                    serde_json::Value::String(text) => Self::parse(text),
                    serde_json::Value::Number(number) => number
                        .as_u64()
                        .and_then(|number| usize::try_from(number).ok())
                        .and_then(|number| Self::ALL.get(number).copied()),
                    _ => None,
                };
                let names = || Self::ALL.iter().skip(1).map(|one| one.as_str()).collect::<Vec<_>>().join(", ");
                known.ok_or_else(|| serde::de::Error::custom(format_args!("expected one of {}", names())))
            }
        }
    };
}
pub(super) use proto_enum;

/// Null and absent are one.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A whole number, as a number or as text, as it is in a query.
pub(super) fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Number(number) => {
            number.as_i64().map(Some).ok_or_else(|| D::Error::custom("expected a whole number"))
        }
        Value::String(text) => {
            text.parse().map(Some).map_err(|_| D::Error::custom("expected a whole number"))
        }
        _ => Err(D::Error::custom("expected a whole number")),
    }
}

/// A truth value, or its text, as it is in a query.
pub(super) fn boolean<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Bool(truth) => Ok(Some(truth)),
        Value::String(text) if text == "true" => Ok(Some(true)),
        Value::String(text) if text == "false" => Ok(Some(false)),
        _ => Err(D::Error::custom("expected true or false")),
    }
}
