//! `warren config`: what is in effect, and why.

use serde_json::{Map, Value, json};

use crate::arguments::ConfigCommand;
use crate::config::{self, Config, Key, Loaded, Overrides, redacted_url};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;

pub(crate) fn run(context: &Context, command: &ConfigCommand) -> Outcome<Exit> {
    match command {
        ConfigCommand::Check => check(context)?,
        ConfigCommand::Show { origin } => show(context, *origin)?,
        ConfigCommand::Schema => {
            let schema = serde_json::to_string_pretty(&config::schema()).expect("a schema is JSON");
            context.output.text(&format!("{schema}\n"))?;
        }
    }
    Ok(Exit::OK)
}

fn check(context: &Context) -> Outcome<()> {
    let loaded = context.load_config(&Overrides::new())?;
    let file = loaded.file.as_ref().map(|path| path.display().to_string());
    if context.output.is_json {
        let verdict = json!({ "valid": true, "file": file, "warnings": loaded.warnings });
        return context.output.json(&verdict);
    }
    for warning in &loaded.warnings {
        context.output.note(&format!("warning: {warning}"));
    }
    match file {
        Some(file) => context.output.line(&format!("The configuration is valid ({file}).")),
        None => context.output.line("The configuration is valid (no file; defaults and variables only)."),
    }
}

fn show(context: &Context, with_origin: bool) -> Outcome<()> {
    let loaded = context.load_config(&Overrides::new())?;
    let shown = redacted(&loaded.config);
    let rows = config::keys().into_iter().map(|key| row(&key, &shown, &loaded)).collect::<Vec<_>>();
    if context.output.is_json {
        return context.output.json(&as_json(&rows, &shown, with_origin));
    }
    if with_origin {
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| vec![row.key.clone(), row.value.to_string(), row.origin.clone()]).collect();
        return context.output.table(&["key", "value", "origin"], &rows);
    }
    let text = toml::to_string(&without_nulls(shown)).expect("the tree is TOML");
    context.output.text(&text)
}

struct Row {
    key: String,
    value: Value,
    origin: String,
}

fn row(key: &Key, tree: &Value, loaded: &Loaded) -> Row {
    let pointer = format!("/{}", key.path.replace('.', "/"));
    Row {
        value: tree.pointer(&pointer).cloned().unwrap_or(Value::Null),
        origin: loaded.origins.get(&key.path).map_or_else(String::new, ToString::to_string),
        key: key.path.clone(),
    }
}

fn redacted(config: &Config) -> Value {
    let mut shown = config.clone();
    shown.database.url = shown.database.url.as_deref().map(redacted_url);
    serde_json::to_value(shown).expect("the tree is JSON")
}

fn as_json(rows: &[Row], tree: &Value, with_origin: bool) -> Value {
    if !with_origin {
        return tree.clone();
    }
    let by_key: Map<String, Value> = rows
        .iter()
        .map(|row| (row.key.clone(), json!({ "value": row.value, "origin": row.origin })))
        .collect();
    Value::Object(by_key)
}

/// TOML has no null: what is not set is left out.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        other => other,
    }
}
