//! Conversations and what is said in them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Author, MessagePart, MessageRole, TaskMessage, TaskState};

/// A conversation to begin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateConversation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub title: Option<String>,
}

/// What of a conversation changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeConversation {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub title: Option<String>,
}

/// A chat with a workspace. Its id is the `context_id` of its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Conversation {
    pub id: String,
    pub workspace_id: String,
    pub title: String,
    /// Who began it.
    pub author: Author,
    /// How many messages it has.
    pub messages: u64,
    pub created_at: String,
    pub updated_at: String,
    pub version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConversationPage {
    pub items: Vec<Conversation>,
    pub next_cursor: Option<String>,
}

/// One message of a conversation. It never changes; a later one has a greater id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatMessage {
    /// Made by Warren. The live event and the list name a message by the same id.
    pub id: String,
    pub conversation_id: String,
    /// Who said it: a person is a `user`; an agent, a schedule or Warren itself never is.
    pub author: Author,
    /// Which side: `user` asks, `agent` answers.
    pub role: MessageRole,
    pub parts: Vec<MessagePart>,
    /// The work that it asked for, or came of.
    pub task_id: Option<String>,
    pub created_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChatMessagePage {
    pub items: Vec<ChatMessage>,
    pub next_cursor: Option<String>,
}

/// A message to post in a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PostMessage {
    pub message: TaskMessage,
    /// Work that waits for this message. Absent: work of this conversation that asked for input, or else new work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Waits so long for the answer; 0: not at all.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub wait_ms: u64,
}

/// A message that stands in its conversation, and the work that it led to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PostedMessage {
    pub message: ChatMessage,
    pub task_id: String,
    pub task_state: TaskState,
    /// It waits until the workspace is free.
    pub queued: bool,
    /// How many are before it; absent unless it waits.
    pub position: Option<u64>,
    /// It was posted before, under the same key or message id.
    pub is_repeat: bool,
    /// What was answered within `wait_ms`.
    pub answer: Option<ChatMessage>,
}
