//! The nouns on the wire.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::scalar::{null_as_default, proto_enum};

proto_enum! {
    /// Which side speaks.
    Role {
        Unspecified = "ROLE_UNSPECIFIED",
        User = "ROLE_USER",
        Agent = "ROLE_AGENT",
    }
}

proto_enum! {
    /// How a task is.
    TaskState {
        Unspecified = "TASK_STATE_UNSPECIFIED",
        Submitted = "TASK_STATE_SUBMITTED",
        Working = "TASK_STATE_WORKING",
        Completed = "TASK_STATE_COMPLETED",
        Failed = "TASK_STATE_FAILED",
        Canceled = "TASK_STATE_CANCELED",
        InputRequired = "TASK_STATE_INPUT_REQUIRED",
        Rejected = "TASK_STATE_REJECTED",
        AuthRequired = "TASK_STATE_AUTH_REQUIRED",
    }
}

/// What a part carries: exactly one of these.
#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    Text(String),
    /// Standard base64 with padding, whatever alphabet it came in.
    Raw(String),
    Url(String),
    /// Any JSON, null included.
    Data(Value),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "PartFields", try_from = "PartFields")]
pub struct Part {
    pub content: PartContent,
    pub metadata: Map<String, Value>,
    pub filename: Option<String>,
    pub media_type: Option<String>,
}

/// A part as the JSON has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Present and null is the value null.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    data: Option<Value>,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "is_blank")]
    filename: Option<String>,
    #[serde(default, skip_serializing_if = "is_blank", alias = "media_type")]
    media_type: Option<String>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Absent and empty are one in ProtoJSON.
fn is_blank(text: &Option<String>) -> bool {
    text.as_deref().is_none_or(str::is_empty)
}

/// Either alphabet, with padding or without, as ProtoJSON allows; bits that belong to no byte are let pass.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let alphabet = if text.contains(['-', '_']) { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    GeneralPurpose::new(alphabet, config).decode(text).ok()
}

impl TryFrom<PartFields> for Part {
    type Error = String;

    fn try_from(fields: PartFields) -> Result<Self, String> {
        let raw = match fields.raw.as_deref().map(decode_base64) {
            None => None,
            Some(Some(bytes)) => Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
            Some(None) => return Err("raw: expected base64".to_owned()),
        };
        let contents = [
            fields.text.map(PartContent::Text),
            raw.map(PartContent::Raw),
            fields.url.map(PartContent::Url),
            fields.data.map(PartContent::Data),
        ];
        let mut contents = contents.into_iter().flatten();
        let (Some(content), None) = (contents.next(), contents.next()) else {
            return Err("expected exactly one of text, raw, url and data".to_owned());
        };
        let not_blank = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(Self {
            content,
            metadata: fields.metadata,
            filename: not_blank(fields.filename),
            media_type: not_blank(fields.media_type),
        })
    }
}

impl From<Part> for PartFields {
    fn from(part: Part) -> Self {
        let (mut text, mut raw, mut url, mut data) = (None, None, None, None);
        match part.content {
            PartContent::Text(it) => text = Some(it),
            PartContent::Raw(it) => raw = Some(it),
            PartContent::Url(it) => url = Some(it),
            PartContent::Data(it) => data = Some(it),
        }
        let Part { metadata, filename, media_type, .. } = part;
        Self { text, raw, url, data, metadata, filename, media_type }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    #[serde(alias = "message_id")]
    pub message_id: String,
    #[serde(default, skip_serializing_if = "is_blank", alias = "context_id")]
    pub context_id: Option<String>,
    #[serde(default, skip_serializing_if = "is_blank", alias = "task_id")]
    pub task_id: Option<String>,
    pub role: Role,
    #[serde(default, deserialize_with = "null_as_default")]
    pub parts: Vec<Part>,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty",
        alias = "reference_task_ids"
    )]
    pub reference_task_ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    pub state: TaskState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: String,
    #[serde(default, skip_serializing_if = "is_blank", alias = "context_id")]
    pub context_id: Option<String>,
    pub status: TaskStatus,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    #[serde(alias = "artifact_id")]
    pub artifact_id: String,
    #[serde(default, skip_serializing_if = "is_blank")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "is_blank")]
    pub description: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub parts: Vec<Part>,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    #[serde(alias = "task_id")]
    pub task_id: String,
    #[serde(default, alias = "context_id")]
    pub context_id: String,
    pub status: TaskStatus,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactUpdate {
    #[serde(alias = "task_id")]
    pub task_id: String,
    #[serde(default, alias = "context_id")]
    pub context_id: String,
    pub artifact: Artifact,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not", alias = "last_chunk")]
    pub last_chunk: bool,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One event of a stream, and the body of a push notification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamResponse {
    Task(Task),
    Message(Message),
    StatusUpdate(StatusUpdate),
    ArtifactUpdate(ArtifactUpdate),
}

/// By hand: the derived one would refuse a field beside the one that counts.
impl<'de> Deserialize<'de> for StreamResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            task: Option<Task>,
            message: Option<Message>,
            #[serde(alias = "status_update")]
            status_update: Option<StatusUpdate>,
            #[serde(alias = "artifact_update")]
            artifact_update: Option<ArtifactUpdate>,
        }
        let fields = Fields::deserialize(deserializer)?;
        let answers = [
            fields.task.map(Self::Task),
            fields.message.map(Self::Message),
            fields.status_update.map(Self::StatusUpdate),
            fields.artifact_update.map(Self::ArtifactUpdate),
        ];
        let mut answers = answers.into_iter().flatten();
        match (answers.next(), answers.next()) {
            (Some(answer), None) => Ok(answer),
            _ => Err(D::Error::custom(
                "expected exactly one of task, message, statusUpdate and artifactUpdate",
            )),
        }
    }
}

/// How a push notification proves itself to its receiver.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfo {
    /// Such as `Bearer`.
    pub scheme: String,
    #[serde(default, skip_serializing_if = "is_blank")]
    pub credentials: Option<String>,
}

/// Credentials enter no log.
impl std::fmt::Debug for AuthenticationInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthenticationInfo").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// Where to tell about a task.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfig {
    #[serde(default, skip_serializing_if = "is_blank")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "is_blank", alias = "task_id")]
    pub task_id: Option<String>,
    pub url: String,
    #[serde(default, skip_serializing_if = "is_blank")]
    pub token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

impl std::fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushConfig")
            .field("id", &self.id)
            .field("task_id", &self.task_id)
            .finish_non_exhaustive()
    }
}
