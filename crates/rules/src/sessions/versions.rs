//! What differs between two versions of an agent, part by part (A6).

use std::collections::BTreeMap;

use serde_json::Value;
use warren_model::{AgentChange, AgentChangeKind, AgentDefinition};

/// What is deeper is told by what holds it: a schema has changed, and not a word in its fourth level.
const MAX_DEPTH: usize = 3;
/// A value that is longer is told as changed, without it.
const MAX_SHOWN_BYTES: usize = 200;

/// What a session that moves from one version to another meets; empty if they say the same.
pub fn changes(before: &AgentDefinition, after: &AgentDefinition) -> Vec<AgentChange> {
    let written = |agent| serde_json::to_value(agent).unwrap_or_default();
    let mut found = Vec::new();
    compare("", &written(before), &written(after), 0, &mut found);
    found
}

fn compare(path: &str, before: &Value, after: &Value, depth: usize, found: &mut Vec<AgentChange>) {
    if before == after {
        return;
    }
    match (parts_of(before), parts_of(after)) {
        (Some(before), Some(after)) if depth < MAX_DEPTH => {
            let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
            for name in names {
                let path = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
                match (before.get(name), after.get(name)) {
                    (Some(before), Some(after)) => compare(&path, before, after, depth + 1, found),
                    (Some(before), None) => found.push(change(path, Some(before), None)),
                    (None, after) => found.push(change(path, None, after.copied())),
                }
            }
        }
        _ => found.push(change(path.to_owned(), Some(before), Some(after))),
    }
}

/// The parts of a document that have names: fields, entries that are called something, and words of a list.
fn parts_of(value: &Value) -> Option<BTreeMap<&str, &Value>> {
    match value {
        Value::Object(fields) => Some(fields.iter().map(|(name, value)| (name.as_str(), value)).collect()),
        Value::Array(entries) => {
            let name_of = |entry: &'_ Value| entry.as_str().or_else(|| entry.get("name")?.as_str()).is_some();
            if !entries.iter().all(name_of) {
                return None;
            }
            let named = entries.iter().filter_map(|entry| {
                let name = entry.as_str().or_else(|| entry.get("name")?.as_str())?;
                Some((name, entry))
            });
            Some(named.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn change(path: String, before: Option<&Value>, after: Option<&Value>) -> AgentChange {
    let kind = match (before, after) {
        (None, _) => AgentChangeKind::Added,
        (_, None) => AgentChangeKind::Removed,
        (Some(_), Some(_)) => AgentChangeKind::Changed,
    };
    AgentChange { path, kind, before: shown(before), after: shown(after) }
}

fn shown(value: Option<&Value>) -> Option<Value> {
    let value = value?;
    let is_short = match value {
        Value::String(text) => text.len() <= MAX_SHOWN_BYTES,
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::Array(_) | Value::Object(_) => false,
    };
    is_short.then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(fields: &Value) -> AgentDefinition {
        let mut document = json!({ "name": "helper", "model": "scripted/tour" });
        let fields = fields.as_object().unwrap().clone();
        document.as_object_mut().unwrap().extend(fields);
        AgentDefinition::read(document).unwrap()
    }

    fn told(before: &Value, after: &Value) -> Vec<String> {
        let found = changes(&agent(before), &agent(after));
        let word = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        let line = |one: &AgentChange| {
            format!("{} {} {} {}", one.kind, one.path, word(&one.before), word(&one.after))
        };
        found.iter().map(line).collect()
    }

    // A6
    #[test]
    fn the_same_agent_has_not_changed() {
        assert_eq!(
            told(&json!({ "system": "Be kind." }), &json!({ "system": "Be kind." })),
            Vec::<String>::new()
        );
    }

    // A6
    #[test]
    fn what_differs_is_told_by_its_place() {
        let before = json!({
            "system": "Be kind.",
            "tools": { "workspace": ["workspace_rm", "workspace_read_file"], "client": [{ "name": "weather", "description": "a" }] },
            "limits": { "run": { "steps": 10 } },
        });
        let after = json!({
            "model": "scripted/other",
            "system": "x".repeat(1_000),
            "tools": { "workspace": ["workspace_read_file"], "client": [{ "name": "weather", "description": "b" }] },
            "limits": { "run": { "steps": 20 } },
            "effort": "high",
        });
        let expected = [
            "changed limits.run.steps 10 20",
            "changed model \"scripted/tour\" \"scripted/other\"",
            "changed system \"Be kind.\" -",
            "changed tools.client.weather - -",
            "removed tools.workspace.workspace_rm \"workspace_rm\" -",
            "added effort - \"high\"",
        ];
        assert_eq!(told(&before, &after), expected);
    }

    // A6: a tool that may be called is named, also where there was no list before
    #[test]
    fn a_list_that_was_not_there_is_told_as_one() {
        let found = told(&json!({}), &json!({ "tools": { "workspace": ["workspace_ls"] } }));
        assert_eq!(found, ["added tools.workspace - -"]);
    }
}
