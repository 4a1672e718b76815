//! Puts the sources together and remembers which one each value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;

use serde_json::{Map, Value};
use warren_doors::Environment;
use warren_model::ErrorCode;

use super::keys::Key;
use super::{Config, document, keys, validate};
use crate::failure::Report;
use crate::nearest::nearest;

/// Values given by flags, by dotted key.
pub type Overrides = BTreeMap<&'static str, String>;

/// Which file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAt {
    /// Somebody named it, so it must be there.
    Named(PathBuf),
    /// Where it would be; it may be missing.
    Usual(PathBuf),
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// The tree in effect.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// One for every key.
    pub origins: BTreeMap<String, Origin>,
    /// The file that was read, if there is one.
    pub file: Option<PathBuf>,
    /// Sentences about what is odd but does not stop anything.
    pub warnings: Vec<String>,
}

/// Why the tree cannot be used; every sentence names its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(Vec<String>);

impl Problem {
    pub(super) fn new(sentence: String) -> Self {
        Self(vec![sentence])
    }

    pub(crate) fn into_report(self) -> Report {
        self.0.into_iter().fold(Report::new(ErrorCode::ConfigInvalid), Report::because)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

pub fn load(file: &FileAt, environment: &Environment, flags: &Overrides) -> Result<Loaded, Problem> {
    let keys = keys();
    let mut tree = as_map(serde_json::to_value(Config::default()).expect("the tree is JSON"));
    let mut origins: BTreeMap<String, Origin> =
        keys.iter().map(|key| (key.path.clone(), Origin::Default)).collect();
    let path = take_file(file, &keys, &mut tree, &mut origins)?;
    take_variables(environment, &keys, &mut tree, &mut origins)?;
    for (key, text) in flags {
        let flag = keys.iter().find(|known| known.path == *key).and_then(|known| known.flag);
        set(&mut tree, key, Value::from(text.as_str()));
        origins.insert((*key).to_owned(), Origin::Flag(flag.unwrap_or("--?")));
    }
    let config = typed(tree, &origins)?;
    let complaints = validate::complaints(&config);
    if !complaints.is_empty() {
        let told = complaints
            .into_iter()
            .map(|(key, sentence)| format!("{key} ({}): {sentence}", origin_of(&key, &origins)));
        return Err(Problem(told.collect()));
    }
    Ok(Loaded { config, origins, file: path, warnings: odd_variables(environment, &keys) })
}

fn take_file(
    file: &FileAt,
    keys: &[Key],
    tree: &mut Map<String, Value>,
    origins: &mut BTreeMap<String, Origin>,
) -> Result<Option<PathBuf>, Problem> {
    let (FileAt::Named(path) | FileAt::Usual(path)) = file;
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if matches!(file, FileAt::Usual(_)) && is_absence(&error) => return Ok(None),
        Err(error) => return Err(Problem::new(format!("{}: {error}", path.display()))),
    };
    let document = document::read(&text, path, keys)?;
    for key in keys {
        let Some(line) = document.lines.get(&key.path) else {
            continue;
        };
        if let Some(value) = get(&document.tree, &key.path) {
            set(tree, &key.path, value.clone());
            let origin = Origin::File { path: path.clone(), line: *line };
            origins.insert(key.path.clone(), origin);
        }
    }
    sections_are_tables(&document, path, keys)?;
    Ok(Some(path.clone()))
}

/// `server = 5` sets no key at all, so that it must be caught apart.
fn sections_are_tables(
    document: &document::Document,
    path: &std::path::Path,
    keys: &[Key],
) -> Result<(), Problem> {
    for (key, line) in &document.lines {
        let is_section = !keys.iter().any(|known| known.path == *key || known.holds(key));
        if is_section && !get(&document.tree, key).is_some_and(Value::is_object) {
            return Err(Problem::new(format!(
                "{}:{line}: `{key}` is a section; write `[{key}]` and its keys below",
                path.display()
            )));
        }
    }
    Ok(())
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn take_variables(
    environment: &Environment,
    keys: &[Key],
    tree: &mut Map<String, Value>,
    origins: &mut BTreeMap<String, Origin>,
) -> Result<(), Problem> {
    for key in keys {
        let Some(text) = environment.get(&key.variable) else {
            continue;
        };
        let value = key
            .parse(text)
            .map_err(|expected| Problem::new(format!("variable {}: {expected}", key.variable)))?;
        set(tree, &key.path, value);
        origins.insert(key.path.clone(), Origin::Variable(key.variable.clone()));
    }
    let misspelt = unknown_variables(environment, keys).find(|name| is_in_a_section(name, keys));
    match misspelt {
        Some(name) => Err(Problem::new(format!("unknown variable {name}{}", meant(name, keys)))),
        None => Ok(()),
    }
}

/// Variables that are read elsewhere than from the tree.
pub(crate) const OTHER_VARIABLES: [(&str, &str); 6] = [
    ("WARREN_URL", "The server's address, for commands that speak to one."),
    ("WARREN_TOKEN", "The token for that server."),
    ("WARREN_DATA", "The data folder of the local server."),
    ("WARREN_CONFIG", "The config file."),
    ("XDG_DATA_HOME", "The data folder is `warren` in it, where WARREN_DATA is not set."),
    ("NO_COLOR", "No colours, if it is not empty."),
];

fn unknown_variables<'a>(environment: &'a Environment, keys: &[Key]) -> impl Iterator<Item = &'a str> {
    environment.iter().map(|(name, _)| name).filter(|name| name.starts_with("WARREN_")).filter(|name| {
        let is_key = keys.iter().any(|key| key.variable == *name);
        !is_key && !OTHER_VARIABLES.iter().any(|(other, _)| other == name)
    })
}

/// A wrong name within one of our sections is surely a mistake. Others may belong to something else.
fn is_in_a_section(name: &str, keys: &[Key]) -> bool {
    keys.iter().any(|key| {
        let section = key.path.split('.').next().unwrap_or_default().to_uppercase();
        name.starts_with(&format!("WARREN_{section}_"))
    })
}

fn odd_variables(environment: &Environment, keys: &[Key]) -> Vec<String> {
    unknown_variables(environment, keys)
        .map(|name| format!("the variable {name} is not one of Warren's{}", meant(name, keys)))
        .collect()
}

fn meant(name: &str, keys: &[Key]) -> String {
    let others = OTHER_VARIABLES.iter().map(|(other, _)| *other);
    nearest(name, keys.iter().map(|key| key.variable.as_str()).chain(others))
        .map_or_else(String::new, |meant| format!("; did you mean {meant}?"))
}

/// Reads the merged tree as its type; a wrong type is told with the key and where its value came from.
fn typed(tree: Map<String, Value>, origins: &BTreeMap<String, Origin>) -> Result<Config, Problem> {
    serde_path_to_error::deserialize(Value::Object(tree)).map_err(|error| {
        let key = error.path().to_string();
        // `server.allowed_hosts[0]` came from where `server.allowed_hosts` did.
        let known = key.split('[').next().unwrap_or(&key);
        Problem::new(format!("{key} ({}): {}", origin_of(known, origins), error.inner()))
    })
}

fn origin_of(key: &str, origins: &BTreeMap<String, Origin>) -> String {
    // An entry of a table came from where the table did.
    let mut above = std::iter::successors(Some(key), |key| key.rsplit_once('.').map(|(parent, _)| parent));
    let origin = above.find_map(|key| origins.get(key));
    origin.map_or_else(|| "unknown".to_owned(), ToString::to_string)
}

fn as_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn get<'a>(tree: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        Some((first, rest)) => get(tree.get(first)?.as_object()?, rest),
        None => tree.get(key),
    }
}

fn set(tree: &mut Map<String, Value>, key: &str, value: Value) {
    match key.split_once('.') {
        Some((first, rest)) => {
            let inner = tree.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                set(inner, rest, value);
            }
        }
        None => {
            tree.insert(key.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests;
