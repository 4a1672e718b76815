//! The TOML file: its values, and the line on which each key stands.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::keys::Key;
use super::load::Problem;
use crate::nearest::nearest;

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) tree: Map<String, Value>,
    /// By dotted key.
    pub(super) lines: BTreeMap<String, usize>,
}

pub(super) fn read(text: &str, path: &Path, keys: &[Key]) -> Result<Document, Problem> {
    let at = |line: usize| format!("{}:{line}", path.display());
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        Problem::new(format!("{}: {}", at(line), error.message()))
    })?;
    let mut lines = BTreeMap::new();
    note_lines("", table.get_ref(), text, &mut lines);
    for (key, line) in &lines {
        if let Some(complaint) = unknown(key, keys) {
            return Err(Problem::new(format!("{}: {complaint}", at(*line))));
        }
    }
    let tree: Map<String, Value> = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        Problem::new(format!("{}: {}", at(line), error.message()))
    })?;
    Ok(Document { tree, lines })
}

/// Tables that are sections are entered; every other value is a leaf.
fn note_lines(prefix: &str, table: &DeTable<'_>, text: &str, lines: &mut BTreeMap<String, usize>) {
    for (name, value) in table {
        let name_text = name.get_ref();
        let path = if prefix.is_empty() { name_text.to_string() } else { format!("{prefix}.{name_text}") };
        lines.insert(path.clone(), line_of(text, name.span().start));
        if let DeValue::Table(inner) = value.get_ref() {
            note_lines(&path, inner, text, lines);
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// Why a key is not one of ours, with the name that was probably meant.
fn unknown(key: &str, keys: &[Key]) -> Option<String> {
    let is_section = |key: &str| keys.iter().any(|known| known.path.starts_with(&format!("{key}.")));
    if is_section(key) || keys.iter().any(|known| known.path == key || known.holds(key)) {
        return None;
    }
    // A key below an unknown section is reported by its section, which comes first.
    let parent = key.rsplit_once('.').map_or("", |(parent, _)| parent);
    let siblings = siblings_below(parent, keys);
    let last = key.rsplit('.').next().unwrap_or(key);
    let meant = nearest(last, siblings.iter().map(String::as_str))
        .map(|name| join(parent, name))
        .or_else(|| nearest(key, keys.iter().map(|known| known.path.as_str())).map(str::to_owned))
        .or_else(|| elsewhere(last, keys));
    Some(match meant {
        Some(meant) => format!("unknown key `{key}`; did you mean `{meant}`?"),
        None => format!("unknown key `{key}`; here are known: {}", siblings.join(", ")),
    })
}

/// The right name in the wrong section.
fn elsewhere(last: &str, keys: &[Key]) -> Option<String> {
    keys.iter().find(|known| known.path.rsplit('.').next() == Some(last)).map(|known| known.path.clone())
}

fn siblings_below(parent: &str, keys: &[Key]) -> Vec<String> {
    let prefix = join(parent, "");
    let mut names: Vec<String> = keys
        .iter()
        .filter_map(|known| known.path.strip_prefix(&prefix))
        .filter_map(|rest| rest.split('.').next())
        .map(str::to_owned)
        .collect();
    names.dedup();
    names
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}
