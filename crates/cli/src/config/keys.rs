//! The table of keys, read off the schema of the tree.

use serde_json::Value;

/// What kind of text a variable or flag must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    Text,
    Number,
    Switch,
    /// Commas between them.
    TextList,
    /// Tables by names that people choose; in a variable, a JSON object.
    Tables,
}

/// One value that can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Such as `server.listen`.
    pub path: String,
    /// Such as `WARREN_SERVER_LISTEN`.
    pub variable: String,
    /// Such as `--listen`; most keys have none.
    pub flag: Option<&'static str>,
    pub default: Value,
    /// Sentences from the type's own comments.
    pub meaning: String,
    pub(crate) key_type: KeyType,
}

impl Key {
    /// Whether a dotted key is an entry of this one, which holds tables by names that people choose.
    pub(super) fn holds(&self, key: &str) -> bool {
        self.key_type == KeyType::Tables
            && key.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.starts_with('.'))
    }

    /// In words, for the reference page.
    pub fn type_name(&self) -> &'static str {
        match self.key_type {
            KeyType::Text => "text",
            KeyType::Number => "number",
            KeyType::Switch => "true or false",
            KeyType::TextList => "list of texts",
            KeyType::Tables => "tables by name",
        }
    }

    /// Reads a variable's text as this key's type.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, String> {
        match self.key_type {
            KeyType::Text => Ok(Value::from(text)),
            KeyType::Number => number(text).ok_or_else(|| format!("expected a number, got `{text}`")),
            KeyType::Switch => match text {
                "true" | "1" => Ok(Value::from(true)),
                "false" | "0" => Ok(Value::from(false)),
                _ => Err(format!("expected true or false, got `{text}`")),
            },
            KeyType::TextList => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Ok(items.map(Value::from).collect())
            }
            KeyType::Tables => serde_json::from_str(text)
                .ok()
                .filter(Value::is_object)
                .ok_or_else(|| "expected a JSON object".to_owned()),
        }
    }
}

fn number(text: &str) -> Option<Value> {
    let whole = text.parse::<u64>().map(Value::from);
    let signed = || text.parse::<i64>().map(Value::from);
    let fraction = || text.parse::<f64>().map(Value::from);
    whole.or_else(|_| signed()).ok().or_else(|| fraction().ok())
}

/// Flags of `warren up` that set a key.
pub(crate) const FLAGS: [(&str, &str); 5] = [
    ("server.listen", "--listen"),
    ("server.role", "--role"),
    ("server.replica_url", "--replica-url"),
    ("database.url", "--database"),
    ("log.format", "--log-format"),
];

/// Variables whose name does not follow from the key.
const SHORT_VARIABLES: [(&str, &str); 1] = [("log.filter", "WARREN_LOG")];

/// Every key, sorted: a JSON library may or may not keep the order of fields.
pub fn keys() -> Vec<Key> {
    let schema = super::schema();
    let defaults = serde_json::to_value(super::Config::default()).expect("the tree is JSON");
    let mut found = Vec::new();
    collect("", &schema, &defaults, &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(prefix: &str, schema: &Value, defaults: &Value, found: &mut Vec<Key>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let default = defaults.get(name).cloned().unwrap_or(Value::Null);
        if property.get("properties").is_some() {
            collect(&path, property, &default, found);
        } else {
            found.push(leaf(path, property, default));
        }
    }
}

fn leaf(path: String, property: &Value, default: Value) -> Key {
    let listed =
        |table: &[(&str, &'static str)]| table.iter().find(|(key, _)| *key == path).map(|(_, name)| *name);
    let by_rule = || format!("WARREN_{}", path.replace('.', "_").to_uppercase());
    let meaning = property.get("description").and_then(Value::as_str).unwrap_or_default();
    Key {
        variable: listed(&SHORT_VARIABLES).map_or_else(by_rule, str::to_owned),
        flag: listed(&FLAGS),
        default,
        meaning: meaning.split_whitespace().collect::<Vec<_>>().join(" "),
        key_type: type_of(property),
        path,
    }
}

/// An enum of names has no `type` where its variants are described one by one; it is text.
fn type_of(property: &Value) -> KeyType {
    let names: Vec<&str> = match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if names.contains(&"boolean") {
        KeyType::Switch
    } else if names.contains(&"integer") || names.contains(&"number") {
        KeyType::Number
    } else if names.contains(&"array") {
        KeyType::TextList
    } else if names.contains(&"object") {
        KeyType::Tables
    } else {
        KeyType::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str) -> Key {
        keys().into_iter().find(|key| key.path == path).unwrap_or_else(|| panic!("no key {path}"))
    }

    // S50
    #[test]
    fn every_key_has_a_meaning_and_a_variable_of_its_own() {
        let mut seen = std::collections::BTreeSet::new();
        for key in keys() {
            assert!(key.meaning.ends_with('.'), "{}: {:?}", key.path, key.meaning);
            assert!(seen.insert(key.variable.clone()), "{} twice", key.variable);
        }
        assert!(seen.len() > 15, "{seen:?}");
    }

    // S50
    #[test]
    fn types_and_defaults_come_from_the_tree() {
        assert_eq!(key("server.listen").key_type, KeyType::Text);
        assert_eq!(key("server.listen").default, "127.0.0.1:7878");
        assert_eq!(key("server.listen").flag, Some("--listen"));
        assert_eq!(key("server.allowed_hosts").key_type, KeyType::TextList);
        assert_eq!(key("server.public_metrics").key_type, KeyType::Switch);
        assert_eq!(key("limits.max_body_bytes").key_type, KeyType::Number);
        assert_eq!(key("limits.max_body_bytes").variable, "WARREN_LIMITS_MAX_BODY_BYTES");
        assert_eq!(key("database.url").default, Value::Null);
        assert_eq!(key("log.format").key_type, KeyType::Text);
        assert_eq!(key("log.filter").variable, "WARREN_LOG");
    }

    // S50
    #[test]
    fn every_flag_names_a_key() {
        for (path, flag) in FLAGS {
            assert_eq!(key(path).flag, Some(flag));
        }
    }
}
