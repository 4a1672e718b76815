//! What is said: messages made of parts, and the artifacts that work leaves behind.
//!
//! The shape follows A2A 1.0 closely enough that nothing of a message is lost on its way through Warren, and is our own:
//! it is stored, so it must not change with a protocol's next version.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::canonical_json;
use crate::text_enum::text_enum;

text_enum! {
    /// Which side speaks.
    Role {
        /// Who asked: a person, another workspace, a schedule.
        User = "user",
        Agent = "agent",
    }
}

/// Begins the address of a file of the workspace that a message is in.
pub const WORKSPACE_SCHEME: &str = "workspace:";

/// What one part of a message carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Text(String),
    /// Bytes, in base64.
    Raw(String),
    /// Where the bytes are.
    Url(String),
    Data(Value),
}

/// One part of a message or artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    #[serde(flatten)]
    pub content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Part {
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Content::Text(text.into()), media_type: None, filename: None, metadata: Map::new() }
    }

    pub fn data(data: Value) -> Self {
        Self { content: Content::Data(data), media_type: None, filename: None, metadata: Map::new() }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Made by who sent it; the same id again is the same message (X16).
    pub id: String,
    pub role: Role,
    pub parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks that it speaks of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
}

impl Message {
    pub const MAX_ID_BYTES: usize = 128;

    pub fn new(id: impl Into<String>, role: Role, parts: Vec<Part>) -> Self {
        Self {
            id: id.into(),
            role,
            parts,
            metadata: Map::new(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// Tells what is said in one message from what is said in another: the same text for the same content, whatever the
    /// order of its keys (X16). Without its id, which Warren makes anew where the sender names a key instead.
    pub fn fingerprint(&self) -> String {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = json.as_object_mut() {
            fields.remove("id");
        }
        fingerprint(&json)
    }

    /// All text parts, one after the other (X5: all of them count).
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match &part.content {
            Content::Text(text) => Some(text.as_str()),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The same text for the same value, whatever the order of its keys.
pub fn fingerprint(value: &Value) -> String {
    let digest = Sha256::digest(canonical_json(value).as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Something that work produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl Artifact {
    /// Adds a piece of the same artifact: its parts behind those that are there, and what it notes beside what is.
    pub fn append(&mut self, piece: &Self) {
        self.parts.extend(piece.parts.iter().cloned());
        self.metadata.extend(piece.metadata.iter().map(|(name, value)| (name.clone(), value.clone())));
        let new = piece.extensions.iter().filter(|one| !self.extensions.contains(one));
        let new: Vec<_> = new.cloned().collect();
        self.extensions.extend(new);
    }
}
