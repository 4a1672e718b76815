//! How large a JSON text is, told before it is turned into values: a value costs many times the bytes that wrote it,
//! and a reader that recurses runs out of stack where the depth is the sender's to choose.

/// As much as a text may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonBounds {
    pub max_depth: usize,
    /// Members of objects and items of arrays, all together.
    pub max_values: usize,
}

impl Default for JsonBounds {
    fn default() -> Self {
        Self { max_depth: 64, max_values: 100_000 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    #[error("nested more than {0} deep")]
    Depth(usize),
    #[error("more than {0} values")]
    Values(usize),
}

impl JsonBounds {
    /// Counts without building anything. What is not JSON is left to the parser.
    pub fn check(&self, text: &[u8]) -> Result<(), TooMuch> {
        let (mut depth, mut values) = (0_usize, 1_usize);
        let mut bytes = text.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => skip_string(&mut bytes),
                b'{' | b'[' => {
                    depth += 1;
                    values += 1;
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' => values += 1,
                _ => {}
            }
            if depth > self.max_depth {
                return Err(TooMuch::Depth(self.max_depth));
            }
            if values > self.max_values {
                return Err(TooMuch::Values(self.max_values));
            }
        }
        Ok(())
    }
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    // X6
    #[test]
    fn depth_and_number_are_counted_outside_of_texts_only() {
        let bounds = JsonBounds { max_depth: 2, max_values: 6 };
        assert_eq!(bounds.check(br#"{"a":[1,2]}"#), Ok(()));
        assert_eq!(bounds.check(br#"{"[[[[":"\"{{{{,,,,,,,,"}"#), Ok(()));
        assert_eq!(bounds.check(b"[[[]]]"), Err(TooMuch::Depth(2)));
        assert_eq!(bounds.check(b"[1,2,3,4,5,6,7]"), Err(TooMuch::Values(6)));
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        assert_eq!(JsonBounds::default().check(&deep), Err(TooMuch::Depth(64)));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from)
        ];
        leaf.prop_recursive(5, 64, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn values(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(values).sum(),
            Value::Object(fields) => fields.values().map(values).sum(),
            _ => 0,
        }
    }

    proptest! {
        // X6
        #[test]
        fn the_count_is_exact_in_depth_and_never_too_small_in_number(json in any_json()) {
            let text = json.to_string();
            let exact = JsonBounds { max_depth: depth(&json), max_values: usize::MAX };
            prop_assert_eq!(exact.check(text.as_bytes()), Ok(()));
            if exact.max_depth > 0 {
                let less = JsonBounds { max_depth: exact.max_depth - 1, ..exact };
                prop_assert!(less.check(text.as_bytes()).is_err());
            }
            let enough = JsonBounds { max_depth: usize::MAX, max_values: 2 * values(&json) };
            prop_assert_eq!(enough.check(text.as_bytes()), Ok(()));
            let one_less = JsonBounds { max_values: values(&json) - 1, ..enough };
            prop_assert!(one_less.max_values == 0 || one_less.check(text.as_bytes()).is_err());
        }
    }
}
