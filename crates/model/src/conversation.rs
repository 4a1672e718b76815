//! What people and agents say to each other, as it is shown: conversations and their messages (X30).
//!
//! A task is work and is forgotten after its time; a conversation is what was said and stays until somebody deletes it.

use crate::{
    ChatMessageId, ConversationId, Message, OrgId, Part, Principal, Role, TaskId, Timestamp, WorkspaceId,
};

/// A chat with a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    pub id: ConversationId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    pub title: String,
    /// Who began it.
    pub author: Principal,
    /// How many messages it has.
    pub messages: u64,
    /// The youngest message; the next one's id is greater.
    pub last_message: Option<ChatMessageId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Raised by every write.
    pub version: u64,
}

impl Conversation {
    pub const MAX_TITLE_BYTES: usize = 200;

    /// The context under which its tasks run.
    pub fn context_id(&self) -> String {
        self.id.to_string()
    }
}

/// One message of a conversation. It never changes: what was shown once is shown again.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// Made by Warren; within a conversation a later message has a greater one.
    pub id: ChatMessageId,
    pub conversation_id: ConversationId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    /// Who said it (X4).
    pub author: Principal,
    pub role: Role,
    pub parts: Vec<Part>,
    /// The work that it asked for, or came of.
    pub task_id: Option<TaskId>,
    pub created_at: Timestamp,
}

impl ChatMessage {
    /// All text parts, one after the other.
    pub fn text(&self) -> String {
        Message::new("", self.role, self.parts.clone()).text()
    }
}
