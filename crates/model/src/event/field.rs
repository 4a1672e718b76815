//! What the fields of events look like to those who read them: in words, as a JSON schema, and by example.

use serde_json::{Value, json};

use crate::{Id, IdKind, Principal, ProviderKind, TemplateName, Timestamp, TokenKind};

/// A type that a field of an event's data may have.
pub(crate) trait FieldType: Sized {
    /// For the reference page.
    fn words() -> String;
    /// Where it is, or holds, one word out of a list.
    fn spellings() -> Option<Spellings> {
        None
    }
    /// For the OpenAPI document.
    fn schema() -> Value;
    /// For tests that go through all kinds.
    fn example() -> Self;
}

/// A type whose values are words out of a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spellings {
    pub type_name: &'static str,
    pub all: Vec<&'static str>,
}

/// For enums that have `ALL` and `as_str`.
macro_rules! spelled_field {
    ($name:ident) => {
        impl $crate::event::FieldType for $name {
            fn words() -> String {
                format!("`{}`", stringify!($name))
            }

            fn spellings() -> Option<$crate::event::Spellings> {
                let all = $name::ALL.iter().map(|one| one.as_str()).collect();
                Some($crate::event::Spellings { type_name: stringify!($name), all })
            }

            fn schema() -> serde_json::Value {
                let all: Vec<&str> = $name::ALL.iter().map(|one| one.as_str()).collect();
                serde_json::json!({ "type": "string", "enum": all })
            }

            fn example() -> Self {
                $name::ALL[0]
            }
        }
    };
}

pub(crate) use spelled_field;

spelled_field!(ProviderKind);
spelled_field!(TokenKind);

macro_rules! plain_fields {
    ($($type:ty, $words:literal, $schema:tt, $example:expr;)*) => {$(
        impl FieldType for $type {
            fn words() -> String {
                $words.to_owned()
            }

            fn schema() -> Value {
                json!($schema)
            }

            fn example() -> Self {
                $example
            }
        }
    )*};
}

plain_fields! {
    String, "text", { "type": "string" }, "text".to_owned();
    bool, "true or false", { "type": "boolean" }, true;
    f64, "number", { "type": "number", "format": "double" }, 0.25;
    i32, "whole number", { "type": "integer", "format": "int32" }, -1;
    u32, "whole number", { "type": "integer", "format": "int32", "minimum": 0 }, 3;
    u64, "whole number", { "type": "integer", "format": "int64", "minimum": 0 }, 7;
    Timestamp, "time", { "type": "string", "format": "date-time" }, Self::from_micros(1_763_200_000_123_456);
    Principal, "principal", { "$ref": "#/components/schemas/Principal" }, Self::system("example");
}

impl FieldType for TemplateName {
    fn words() -> String {
        String::words()
    }

    fn schema() -> Value {
        String::schema()
    }

    fn example() -> Self {
        "example".parse().expect("a name of lower-case letters")
    }
}

impl<K: IdKind> FieldType for Id<K> {
    fn words() -> String {
        format!("{} id", K::NOUN)
    }

    fn schema() -> Value {
        json!({ "type": "string", "format": "uuid" })
    }

    fn example() -> Self {
        Self::from_parts(Timestamp::example(), [1; 10])
    }
}

impl<T: FieldType> FieldType for Option<T> {
    fn words() -> String {
        format!("{} or null", T::words())
    }

    fn spellings() -> Option<Spellings> {
        T::spellings()
    }

    /// Nobody nests them, and no type that refers to another schema is optional: a type and its spellings are all.
    fn schema() -> Value {
        let mut schema = T::schema();
        schema["type"] = json!([schema["type"], "null"]);
        if let Some(spellings) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            spellings.push(Value::Null);
        }
        schema
    }

    fn example() -> Self {
        Some(T::example())
    }
}

impl<T: FieldType> FieldType for Vec<T> {
    fn words() -> String {
        format!("list of {}", T::words())
    }

    fn spellings() -> Option<Spellings> {
        T::spellings()
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }

    fn example() -> Self {
        vec![T::example()]
    }
}
