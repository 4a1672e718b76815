//! Checking values against JSON Schemas: arguments of calls, answers of users, the last answer of an agent (A20, A30, A33).
//!
//! A schema comes from whoever wrote the agent, and a question's schema even from the model, so that a check is bounded:
//! nothing is fetched, patterns are matched in linear time, and how much work a check may be is known before it is begun
//! ([`work`]).

mod work;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use warren_model::fingerprint;

/// How many schemas are kept ready.
const KEPT: usize = 512;
/// Of one pattern, compiled.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// A schema of more is refused; an agent's own are no longer than this either.
const MAX_SCHEMA_BYTES: usize = 64 << 10;
/// Of what is told about a value that does not fit.
const MAX_TOLD_BYTES: usize = 500;

/// A schema that is ready to be used, or why it cannot be.
type Ready = Result<Arc<Schema>, String>;

#[derive(Debug)]
struct Schema {
    validator: Validator,
    cost: work::Cost,
}

/// Schemas that were used before. Cheap to clone; all clones are one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schemas(Arc<Mutex<HashMap<String, Ready>>>);

impl Schemas {
    /// Why a value does not fit a schema, with the path of what is wrong. A check that cannot be made does not pass.
    pub(crate) fn problem(&self, schema: &Value, value: &Value) -> Option<String> {
        match self.ready(schema) {
            Ok(schema) => schema.problem(value),
            Err(problem) => Some(format!("its schema cannot be used: {problem}")),
        }
    }

    fn ready(&self, schema: &Value) -> Ready {
        let key = fingerprint(schema);
        if let Some(ready) = self.kept().get(&key) {
            return ready.clone();
        }
        let ready = prepare(schema).map(Arc::new);
        let mut kept = self.kept();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, ready.clone());
        ready
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<String, Ready>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a schema cannot be used.
pub(crate) fn schema_problem(schema: &Value) -> Option<String> {
    prepare(schema).err()
}

fn prepare(schema: &Value) -> Result<Schema, String> {
    if !schema.is_object() {
        return Err("expected a JSON schema, which is an object".to_owned());
    }
    let bytes = schema.to_string().len();
    if bytes > MAX_SCHEMA_BYTES {
        return Err(format!("it has {bytes} bytes, and may have {MAX_SCHEMA_BYTES}"));
    }
    let cost = work::Cost::of(schema)?;
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    let validator = jsonschema::options().offline().with_pattern_options(patterns).build(schema);
    let validator = validator.map_err(|error| told(error.instance_path().as_str(), &error.to_string()))?;
    Ok(Schema { validator, cost })
}

impl Schema {
    fn problem(&self, value: &Value) -> Option<String> {
        if let Some(problem) = self.cost.problem(value) {
            return Some(problem);
        }
        let error = self.validator.iter_errors(value).next()?;
        // The value itself may be long; its path says which one is meant.
        Some(told(error.instance_path().as_str(), &error.masked_with("this value").to_string()))
    }
}

/// `/a/0/b` is told as `a.0.b`.
fn told(pointer: &str, sentence: &str) -> String {
    let path = pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~");
    let sentence = warren_model::truncate_utf8(sentence, MAX_TOLD_BYTES);
    if path.is_empty() { sentence.to_owned() } else { format!("{path}: {sentence}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // A20
    #[test]
    fn what_does_not_fit_is_told_with_its_path() {
        let schema = json!({
            "type": "object",
            "properties": {
                "to": { "type": "array", "items": { "type": "string", "pattern": "^[a-z]+@[a-z]+$" } },
                "n": { "type": "integer", "minimum": 1 },
            },
            "required": ["to"],
            "additionalProperties": false,
        });
        let schemas = Schemas::default();
        let problem = |value: Value| schemas.problem(&schema, &value);
        assert_eq!(problem(json!({ "to": ["a@b"], "n": 2 })), None);
        let told = |value: Value| problem(value).unwrap_or_default();
        assert!(
            told(json!({ "to": ["a@b", "x"] })).starts_with("to.1: "),
            "{}",
            told(json!({ "to": ["x"] }))
        );
        assert!(told(json!({ "to": [], "n": 0 })).starts_with("n: "));
        assert!(told(json!({})).contains("\"to\" is a required property"), "{}", told(json!({})));
        assert!(told(json!({ "to": [], "x": 1 })).contains("'x'"), "{}", told(json!({ "to": [], "x": 1 })));
        let secret = "correct horse ".repeat(100);
        let told = told(json!({ "to": [secret] }));
        assert!(!told.contains("horse"), "{told}");
    }

    // A20, A30: nothing is fetched, and a check is bounded
    #[test]
    fn a_schema_that_cannot_be_used_is_told() {
        for (schema, expected) in [
            (json!([]), "an object"),
            (json!({ "type": "wrong" }), "type"),
            (json!({ "$ref": "https://example.com/schema.json" }), "$ref"),
            (json!({ "$ref": "#/$defs/absent" }), "$ref"),
            (json!({ "$ref": "#" }), "itself"),
            (
                json!({ "allOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "not": { "$ref": "#" } } } }),
                "itself",
            ),
            (json!({ "$dynamicRef": "#x" }), "$dynamicRef"),
            (json!({ "pattern": "(?=x)" }), "pattern"),
            (json!({ "pattern": "a{1000}{1000}{1000}" }), "pattern"),
            (json!({ "$schema": "https://example.com/own" }), "meta-schema"),
            (json!({ "description": "x".repeat(70_000) }), "bytes"),
        ] {
            let problem = schema_problem(&schema).unwrap_or_else(|| panic!("{schema}"));
            assert!(problem.contains(expected), "{schema}: {problem}");
            assert!(Schemas::default().problem(&schema, &json!({})).is_some(), "it lets nothing pass");
        }
        assert_eq!(schema_problem(&json!({ "$schema": "http://json-schema.org/draft-07/schema#" })), None);
    }
}
