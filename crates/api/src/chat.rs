//! Conversations and what is said in them.

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

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
    /// The session in which the agent of a hosted workspace answers it; absent before its first message, and where another
    /// runtime answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    pub version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConversationPage {
    pub items: Vec<Conversation>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
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
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
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

/// A file of the agent's own workspace that goes with what it tells people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// Relative to the workspace root.
    pub path: String,
    /// What it is; absent: what its bytes look like. One that its bytes contradict is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub media_type: Option<String>,
}

/// What an agent tells people of its own accord.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    #[schema(min_length = 1)]
    pub text: String,
    /// Where; absent: in the youngest conversation, or a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 20)]
    pub attachments: Vec<Attachment>,
    /// Of the sender's own making: the same one again is the same notice, told once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128)]
    pub message_id: Option<String>,
}

/// Files that were uploaded to a workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Uploaded {
    /// To be put into a message to this workspace, as they are.
    pub parts: Vec<MessagePart>,
    /// Of all files.
    pub bytes: u64,
}

/// What a workspace does, for people who watch: the last lines, with repeats folded into one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Feed {
    /// At most 20, the oldest first.
    pub lines: Vec<FeedLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedLine {
    /// When it happened last.
    pub at: String,
    /// The kind of the event, such as `exchange.task.progressed`.
    pub kind: String,
    pub text: String,
    /// How often it happened in a row.
    pub count: u32,
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
