//! JSON as typed values. For JSON Schema, and so for every client that goes by our document, `60.0` is an integer; serde
//! takes it for something else.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Numbers up to here are the same as `f64` and as integer.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a value. What was sent is taken as it is wherever that can be; only if it cannot, whole numbers that are written
/// with a fraction of zero become integers. An error names the path.
pub fn from_json<T: DeserializeOwned>(
    mut value: Value,
) -> Result<T, serde_path_to_error::Error<serde_json::Error>> {
    match serde_path_to_error::deserialize(&value) {
        Err(_) if make_whole(&mut value) => serde_path_to_error::deserialize(value),
        read => read,
    }
}

/// Returns true if there were any.
fn make_whole(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => {
            let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return false };
            if float.fract() != 0.0 || float.abs() > MAX_EXACT {
                return false;
            }
            *number = (float as i64).into();
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| make_whole(item) | any),
        Value::Object(fields) => fields.values_mut().fold(false, |any, item| make_whole(item) | any),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Limits {
        seconds: u32,
        cpus: f64,
        other: Value,
    }

    // S20
    #[test]
    fn a_whole_number_is_an_integer_however_it_is_written() {
        let read = |value| from_json::<Limits>(value).map_err(|error| error.to_string());
        let limits = read(json!({ "seconds": 60.0, "cpus": 1.5, "other": 2.5 })).unwrap();
        assert_eq!(limits, Limits { seconds: 60, cpus: 1.5, other: json!(2.5) });
        let refused = read(json!({ "seconds": 60.5, "cpus": 1.0, "other": null })).unwrap_err();
        assert!(refused.starts_with("seconds: invalid type: floating point `60.5`"), "{refused}");
        assert!(read(json!({ "seconds": -1.0, "cpus": 1, "other": null })).is_err());
        assert!(read(json!({ "seconds": 1e300, "cpus": 1, "other": null })).is_err());
    }

    // S20
    #[test]
    fn what_can_be_taken_as_it_is_stays_so() {
        let limits: Limits = from_json(json!({ "seconds": 60, "cpus": 2, "other": [1.0] })).unwrap();
        assert_eq!(limits.other.to_string(), "[1.0]");
    }
}
