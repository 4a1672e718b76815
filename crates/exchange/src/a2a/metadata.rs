//! Warren's own corner of a message's metadata.
//!
//! Keys there are written by Warren alone: what a client puts there is taken out before anything is stored, so that an
//! agent can trust what it reads (X4).

use serde_json::{Map, Value, json};
use warren_model::Principal;

/// Who wrote the message: `{"kind": "user", "id": "…"}`.
pub const AUTHOR: &str = "warren/author";
/// What came beside the message in its request and belongs to the agent: `{"metadata": …, "acceptedOutputModes": …}`.
/// Not beneath `warren/`, which is emptied where messages are accepted; so it is noted before that.
pub const REQUEST: &str = "warren.request";

const NAMESPACE: &str = "warren";

/// Whether only Warren writes this key: `warren` itself, and what follows it after something that is no letter or digit.
pub fn is_reserved(key: &str) -> bool {
    let key = key.trim().to_ascii_lowercase();
    key.strip_prefix(NAMESPACE).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
}

pub fn strip_reserved(metadata: &mut Map<String, Value>) {
    metadata.retain(|key, _| !is_reserved(key));
}

pub fn author_of(author: &Principal) -> Value {
    json!({ "kind": author.kind.as_str(), "id": author.id })
}
