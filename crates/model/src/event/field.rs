//! What the fields of events look like to those who read them: in words, as a JSON schema, and by example.

use serde_json::{Value, json};

use crate::{Id, IdKind, Principal, ProviderKind, TemplateName, Timestamp, TokenKind};

/// A type that a field of an event's data may have.
pub(crate) trait FieldType: Sized {
    /// For the reference page.
    fn words() -> String;
    /// For the OpenAPI document.
    fn schema() -> Value;
    /// For tests that go through all kinds.
    fn example() -> Self;
}

/// The words and the schema of a type with a few spellings.
pub(crate) fn one_of(spellings: impl Iterator<Item = &'static str> + Clone) -> (String, Value) {
    let quoted: Vec<String> = spellings.clone().map(|spelling| format!("`{spelling}`")).collect();
    (quoted.join(" | "), json!({ "type": "string", "enum": spellings.collect::<Vec<_>>() }))
}

/// For enums that have `ALL` and `as_str`.
macro_rules! spelled_field {
    ($name:ident) => {
        impl $crate::event::FieldType for $name {
            fn words() -> String {
                $crate::event::one_of($name::ALL.iter().map(|one| one.as_str())).0
            }

            fn schema() -> serde_json::Value {
                $crate::event::one_of($name::ALL.iter().map(|one| one.as_str())).1
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

    /// Nobody nests them, and no type that refers to another schema is optional: a type and its spellings are all.
    fn schema() -> Value {
        let mut schema = T::schema();
        schema["type"] = json!([schema["type"], "null"]);
        if let Some(spellings) = schema["enum"].as_array_mut() {
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

    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }

    fn example() -> Self {
        vec![T::example()]
    }
}
