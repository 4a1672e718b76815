//! Every answer that a test gets is held against the API's document: a status that the operation names, a content type that
//! it names, and JSON that fits the schema. What a client generated from the document would stumble over fails a test here.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::http::Answer;

const SCHEMAS: &str = "#/components/schemas/";

struct Described {
    document: Value,
    /// By the text of the schema: most refusals have the same.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

static DESCRIBED: LazyLock<Described> = LazyLock::new(|| Described {
    document: serde_json::from_str(&warren_server::openapi_json()).expect("the document is JSON"),
    validators: Mutex::default(),
});

/// Panics if the answer is not one that the document promises. What the document does not describe is not checked: probes,
/// the page, and the protocols of others.
pub(crate) fn check(method: &str, path: &str, answer: &Answer) {
    let path = path.split('?').next().unwrap_or_default();
    let described = &*DESCRIBED;
    if let Some((id, operation)) = described.operation(method, path)
        && let Err(problem) = described.problem(operation, answer)
    {
        panic!(
            "{method} {path} ({id}) answered what the document does not say: {problem}\n{}",
            answer.text()
        );
    }
}

impl Described {
    /// The operation behind a path: of those that fit, the one with the fewest holes.
    fn operation(&self, method: &str, path: &str) -> Option<(&str, &Value)> {
        let segments: Vec<&str> = path.split('/').collect();
        let paths = self.document["paths"].as_object()?;
        let fitting = paths.iter().filter(|(template, item)| {
            let parts: Vec<&str> = template.split('/').collect();
            let fits = parts.iter().zip(&segments).all(|(part, one)| part.starts_with('{') || part == one);
            parts.len() == segments.len() && fits && item.get(method.to_lowercase()).is_some()
        });
        let (_, item) = fitting.min_by_key(|(template, _)| template.matches('{').count())?;
        let operation = &item[method.to_lowercase()];
        Some((operation["operationId"].as_str()?, operation))
    }

    fn problem(&self, operation: &Value, answer: &Answer) -> Result<(), String> {
        let status = answer.status.to_string();
        let responses = &operation["responses"];
        // Not of the operation, but of the way there.
        if [405, 421, 431].contains(&answer.status) {
            return Ok(());
        }
        let is_named = responses.get(&status).is_some();
        if !is_named && (answer.status < 500 || responses.get("default").is_none()) {
            return Err(format!("the status {status} is not named"));
        }
        let mut response = &responses[if is_named { status.as_str() } else { "default" }];
        if let Some(pointer) = response["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
            response = self.document.pointer(pointer).ok_or("a reference leads nowhere")?;
        }
        let media_type = answer.header("content-type").unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let Some(content) = response["content"].as_object() else {
            return if answer.body.is_empty() { Ok(()) } else { Err("a body is not named".into()) };
        };
        if answer.body.is_empty() && essence.is_empty() {
            return Err("a body is missing".into());
        }
        let schema = content.get(essence).ok_or_else(|| format!("the type `{essence}` is not named"))?;
        if !essence.ends_with("json") {
            return Ok(());
        }
        let validator = self.validator(&schema["schema"])?;
        let body = answer.json();
        let wrong = validator.iter_errors(&body).map(|error| format!("{}: {error}", error.instance_path()));
        let wrong: Vec<String> = wrong.take(3).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    fn validator(&self, schema: &Value) -> Result<Arc<Validator>, String> {
        let what = schema.to_string();
        let mut known = self.validators.lock().expect("nothing panics while it is held");
        if let Some(validator) = known.get(&what) {
            return Ok(Arc::clone(validator));
        }
        let schema = self.whole(schema);
        let validator = jsonschema::draft202012::new(&schema).map_err(|error| error.to_string())?;
        let validator = Arc::new(validator);
        known.insert(what, Arc::clone(&validator));
        Ok(validator)
    }

    /// The schema with those that it refers to, and not with all three hundred.
    fn whole(&self, schema: &Value) -> Value {
        let mut wanted = Vec::new();
        collect(schema, &mut wanted);
        let mut schemas = Map::new();
        while let Some(name) = wanted.pop() {
            if !schemas.contains_key(&name) {
                let one = &self.document["components"]["schemas"][&name];
                collect(one, &mut wanted);
                schemas.insert(name, one.clone());
            }
        }
        json!({ "allOf": [schema], "components": { "schemas": schemas } })
    }
}

fn collect(value: &Value, wanted: &mut Vec<String>) {
    match value {
        Value::String(text) => wanted.extend(text.strip_prefix(SCHEMAS).map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, wanted)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, media_type: &str, body: &Value) -> Answer {
        let headers = [(reqwest::header::CONTENT_TYPE, media_type.parse().expect("a header"))];
        Answer { status, headers: headers.into_iter().collect(), body: body.to_string().into_bytes() }
    }

    fn problem(method: &str, path: &str, answer: &Answer) -> Option<String> {
        let (_, operation) = DESCRIBED.operation(method, path).expect("a route of the document");
        DESCRIBED.problem(operation, answer).err()
    }

    // S20
    #[test]
    fn an_answer_that_the_document_does_not_promise_is_told() {
        let json = "application/json";
        let right = json!({ "path": "a", "entries": [], "next_cursor": null });
        let path = "/api/v1/workspaces/x/files/directory";
        assert_eq!(problem("GET", path, &answer(200, json, &right)), None);
        let told = problem("GET", path, &answer(200, json, &json!({ "path": 1 }))).expect("it does not fit");
        assert!(told.contains("/path"), "{told}");
        let told = problem("GET", path, &answer(418, json, &right)).expect("a teapot");
        assert!(told.contains("418 is not named"), "{told}");
        let told = problem("GET", path, &answer(200, "text/html", &right)).expect("not HTML");
        assert!(told.contains("text/html"), "{told}");
        assert!(DESCRIBED.operation("GET", "/healthz").is_none());
        assert_eq!(DESCRIBED.operation("GET", path).map(|(id, _)| id), Some("list_directory"));
    }
}
