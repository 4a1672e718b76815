//! What is asked, and how it is answered. Both bindings read the same types: JSON-RPC from `params`, HTTP+JSON from the
//! path, the query and the body.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::scalar::{boolean, integer, null_as_default};
use super::wire::{Message, PushConfig, Task, TaskState};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SendMessageConfiguration {
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty",
        alias = "accepted_output_modes"
    )]
    pub accepted_output_modes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "task_push_notification_config")]
    pub task_push_notification_config: Option<PushConfig>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "integer", alias = "history_length")]
    pub history_length: Option<i64>,
    /// Answer as soon as the task exists. Without it, the answer waits until the task ends or stops for input.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "boolean",
        alias = "return_immediately"
    )]
    pub return_immediately: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageRequest {
    pub message: Message,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<SendMessageConfiguration>,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SendMessageResponse {
    Task(Task),
    Message(Message),
}

impl<'de> Deserialize<'de> for SendMessageResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            task: Option<Task>,
            message: Option<Message>,
        }
        match Fields::deserialize(deserializer)? {
            Fields { task: Some(task), message: None } => Ok(Self::Task(task)),
            Fields { task: None, message: Some(message) } => Ok(Self::Message(message)),
            Fields { .. } => Err(D::Error::custom("expected exactly one of task and message")),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskRequest {
    pub id: String,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "integer",
        alias = "history_length"
    )]
    pub history_length: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListTasksRequest {
    #[serde(skip_serializing_if = "Option::is_none", alias = "context_id")]
    pub context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "integer", alias = "page_size")]
    pub page_size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "page_token")]
    pub page_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "integer", alias = "history_length")]
    pub history_length: Option<i64>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", alias = "status_timestamp_after")]
    pub status_timestamp_after: Option<String>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "boolean",
        alias = "include_artifacts"
    )]
    pub include_artifacts: Option<bool>,
}

/// All four are there even when they say nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResponse {
    #[serde(default)]
    pub tasks: Vec<Task>,
    #[serde(default)]
    pub next_page_token: String,
    #[serde(default)]
    pub page_size: u32,
    #[serde(default)]
    pub total_size: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelTaskRequest {
    pub id: String,
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeToTaskRequest {
    pub id: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetExtendedAgentCardRequest {}

/// Names one config: to read it and to delete it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfigRequest {
    #[serde(alias = "task_id")]
    pub task_id: String,
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPushConfigsRequest {
    #[serde(alias = "task_id")]
    pub task_id: String,
}

/// Never more than one page: a task has few of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPushConfigsResponse {
    #[serde(default)]
    pub configs: Vec<PushConfig>,
}
