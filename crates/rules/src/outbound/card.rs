//! The URLs in an agent card: what a peer writes down about itself and somebody may later call.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// A URL of a card, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardUrl {
    /// Such as `supportedInterfaces[0].url`.
    pub path: String,
    pub url: String,
    pub usage: UrlUse,
}

/// What a URL of a card is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlUse {
    /// Messages are sent there, so that its name must lead somewhere that may be called.
    Interface,
    /// For people, or for keys and sign-in: never called for the card's sake, so that no name is looked up.
    Reference,
}

/// As deep as a card is read; the parser of requests stops earlier.
const MAX_DEPTH: usize = 64;

/// Every URL of a card: by the names that fields for URLs have, old and new, wherever they stand, and in the protected
/// headers of its signatures.
pub fn card_urls(card: &Value) -> Vec<CardUrl> {
    let mut found = Vec::new();
    collect(card, "", MAX_DEPTH, &mut found);
    found
}

fn collect(value: &Value, path: &str, depth: usize, found: &mut Vec<CardUrl>) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                field(name, value, path, depth, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{index}]"), depth - 1, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn field(name: &str, value: &Value, path: String, depth: usize, found: &mut Vec<CardUrl>) {
    match value {
        Value::String(text) if is_url_field(name) => {
            let usage = if is_interface(&path) { UrlUse::Interface } else { UrlUse::Reference };
            found.push(CardUrl { path, url: text.clone(), usage });
        }
        Value::String(text) if name == "protected" => {
            if let Some(header) = protected_header(text) {
                collect(&header, &path, depth - 1, found);
            }
        }
        other => collect(other, &path, depth - 1, found),
    }
}

fn is_url_field(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with("url") || matches!(lower.as_str(), "jku" | "x5u" | "href")
}

/// `url` of the card itself or of one of its interfaces.
fn is_interface(path: &str) -> bool {
    let of_interface = |list: &str| {
        let behind = path.strip_prefix(list).and_then(|rest| rest.strip_prefix('['));
        behind.and_then(|rest| rest.split_once(']')).is_some_and(|(_, name)| name == ".url")
    };
    path == "url" || ["supportedInterfaces", "additionalInterfaces"].into_iter().any(of_interface)
}

fn protected_header(text: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // X6
    #[test]
    fn every_field_that_holds_a_url_is_found_with_its_place() {
        let protected = URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256","jku":"http://k/"}"#);
        let card = json!({
            "name": "a", "url": "http://a/", "description": "see http://not-a-field/",
            "supportedInterfaces": [{ "url": "http://b/", "protocolBinding": "JSONRPC" }],
            "additionalInterfaces": [{ "url": "http://c/" }],
            "iconUrl": "http://d/", "documentationUrl": "http://e/", "provider": { "url": "http://f/" },
            "securitySchemes": { "o": { "flows": { "clientCredentials": { "tokenUrl": "http://g/" } } } },
            "signatures": [{ "protected": protected, "header": { "jku": "http://h/" } }],
        });
        let mut found: Vec<_> = card_urls(&card).into_iter().map(|one| (one.url, one.usage)).collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            ("http://a/", UrlUse::Interface),
            ("http://b/", UrlUse::Interface),
            ("http://c/", UrlUse::Interface),
            ("http://d/", UrlUse::Reference),
            ("http://e/", UrlUse::Reference),
            ("http://f/", UrlUse::Reference),
            ("http://g/", UrlUse::Reference),
            ("http://h/", UrlUse::Reference),
            ("http://k/", UrlUse::Reference),
        ];
        assert_eq!(found, expected.map(|(url, usage)| (url.to_owned(), usage)));
        assert!(card_urls(&card).iter().any(|one| one.path == "supportedInterfaces[0].url"));
        assert!(card_urls(&card).iter().any(|one| one.path == "signatures[0].protected.jku"));
    }
}
