//! What is known of one thing, as a person reads it: a name and a value to a line.

use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::failure::Outcome;
use crate::table::readable_time;

/// Lines of one `show`.
#[derive(Debug, Default)]
pub(super) struct Facts(Vec<(String, String)>);

impl Facts {
    pub(super) fn add(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_owned(), readable_time(&value.into())));
    }

    pub(super) fn add_known(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    /// Everything in a document, by its path, such as `limits.box.network`.
    pub(super) fn add_document(&mut self, name: &str, document: &Value) {
        match document {
            Value::Object(fields) if fields.is_empty() => self.add(name, "-"),
            Value::Object(fields) => {
                for (field, value) in fields {
                    self.add_document(&format!("{name}.{field}"), value);
                }
            }
            Value::Array(values) if values.is_empty() => self.add(name, "-"),
            Value::Array(values) => {
                let values: Vec<String> = values.iter().map(scalar).collect();
                self.add(name, values.join(", "));
            }
            _ => self.add(name, scalar(document)),
        }
    }

    pub(super) fn print(&self, context: &Context) -> Outcome<()> {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        for (name, value) in &self.0 {
            let mut lines = value.lines();
            context.output.line(&format!("{name:<width$}  {}", lines.next().unwrap_or_default()))?;
            for line in lines {
                context.output.line(&format!("{:<width$}  {line}", ""))?;
            }
        }
        Ok(())
    }
}

/// The word of the API for it.
pub(super) fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).map_or_else(|_| String::new(), |value| scalar(&value))
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_told_by_the_paths_of_its_values() {
        let mut facts = Facts::default();
        let document = json!({ "kind": "sandbox", "limits": { "cpus": 1.5 }, "env": ["A", "B"], "none": [] });
        facts.add_document("provider", &document);
        let told: Vec<String> = facts.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            told,
            ["provider.env=A, B", "provider.kind=sandbox", "provider.limits.cpus=1.5", "provider.none=-"]
        );
    }
}
