//! Documents that people write, read strictly: YAML becomes the same values as JSON, and whatever is wrong with them is
//! told with its place.
//!
//! Of YAML only the plain part is taken. Anchors, aliases and merge keys are refused: a few lines of them can stand for
//! more than any memory holds, and a template is shared by its name instead.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

/// How long a document may be.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;
/// How deep lists and maps may be nested: as deep as the deepest tree of workspaces needs.
const MAX_NESTING: usize = 100;
const MAX_VALUES: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("the document has {bytes} bytes; the limit is {MAX_DOCUMENT_BYTES}")]
    TooLarge { bytes: usize },
    /// It cannot be read at all; says where.
    #[error("{0}")]
    Syntax(String),
    /// It can be read, but is not what is wanted here; names the path.
    #[error("{0}")]
    Shape(String),
}

/// Reads one YAML document. A key that stands twice is an error, as is anything that is not plain data.
pub fn parse_yaml(text: &str) -> Result<Value, DocumentError> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(DocumentError::TooLarge { bytes: text.len() });
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_anchors: 0,
            max_aliases: 0,
            max_depth: MAX_NESTING,
            flow_nesting_limit: MAX_NESTING,
            max_nodes: MAX_VALUES,
            max_documents: 1,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        strict_booleans: true,
        reject_unsupported_tags: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let sentence = error.without_snippet().to_string();
        DocumentError::Syntax(crate::truncate_utf8(&sentence, 500).to_owned())
    })
}

/// Takes values as `T`; an unknown field or a wrong type is told with its path.
pub fn read_document<T: DeserializeOwned>(value: Value) -> Result<T, DocumentError> {
    crate::from_json(value).map_err(|error| {
        let sentence = match error.path().to_string().as_str() {
            "." => error.inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        };
        DocumentError::Shape(sentence)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // F50
    #[test]
    fn yaml_becomes_the_values_that_json_has() {
        let text = "name: a\nlist: [1, 2.5, true, null, 'yes', no]\ntext: |\n  one\n  two\n";
        let expected =
            json!({ "name": "a", "list": [1, 2.5, true, null, "yes", "no"], "text": "one\ntwo\n" });
        assert_eq!(parse_yaml(text), Ok(expected));
    }

    // F50: bad input
    #[test]
    fn yaml_that_could_mislead_or_explode_is_refused() {
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        for (text, what) in [
            ("a: 1\na: 2\n", "a key twice"),
            ("a: {b: 1, b: 2}\n", "a key twice further in"),
            (bomb, "anchors"),
            ("a: *nothing\n", "an alias"),
            ("<<: {a: 1}\n", "a merge key"),
            ("a: [1\n", "a list without end"),
            ("a: 1\n---\nb: 2\n", "two documents"),
            ("a: .nan\n", "a number that is none"),
            ("a: !!python/object:os.system x\n", "a tag"),
        ] {
            let read = parse_yaml(text);
            assert!(matches!(read, Err(DocumentError::Syntax(_))), "{what}: {read:?}");
        }
        let deep = format!("{}{}", "[".repeat(MAX_NESTING + 1), "]".repeat(MAX_NESTING + 1));
        assert!(matches!(parse_yaml(&deep), Err(DocumentError::Syntax(_))));
        let long = format!("a: {}", "x".repeat(10 << 20));
        assert_eq!(parse_yaml(&long), Err(DocumentError::TooLarge { bytes: long.len() }));
    }

    #[test]
    fn a_wrong_field_is_named_by_its_path() {
        let problem = read_document::<std::collections::BTreeMap<String, Vec<u8>>>(json!({ "a": [1, "x"] }));
        let Err(DocumentError::Shape(sentence)) = problem else { panic!("{problem:?}") };
        assert!(sentence.starts_with("a[1]: "), "{sentence}");
    }
}
