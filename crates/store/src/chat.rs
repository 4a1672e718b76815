//! Conversations and what was said in them.

use warren_model::{
    ChatMessage, ChatMessageId, Conversation, ConversationId, OrgId, TaskId, Timestamp, WorkspaceId,
};

use crate::{Error, Page};

/// Which conversations of a workspace are listed, the youngest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationQuery {
    pub workspace_id: WorkspaceId,
    /// Only those older than this one.
    pub before: Option<ConversationId>,
    pub limit: u32,
}

/// Which messages of a conversation are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatSpan {
    /// From the first on, in order.
    After(Option<ChatMessageId>),
    /// From the last back: the youngest first.
    Before(Option<ChatMessageId>),
}

/// Messages with words that these words begin, all of them; the youngest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatSearch {
    /// Letters and digits alone, in lower case; at least one word.
    pub words: Vec<String>,
    pub org_id: Option<OrgId>,
    pub workspace_id: Option<WorkspaceId>,
    pub before: Option<ChatMessageId>,
    pub limit: u32,
}

/// A notice that was told before, under a key of its workspace (X16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeKey {
    pub workspace_id: WorkspaceId,
    pub key: String,
    /// Of what was told: the same key for something else is an error.
    pub fingerprint: String,
    pub message_id: ChatMessageId,
    pub at: Timestamp,
}

pub trait ChatReads {
    fn conversation(&mut self, id: ConversationId) -> Result<Option<Conversation>, Error>;
    fn conversations(
        &mut self,
        query: &ConversationQuery,
    ) -> Result<Page<Conversation, ConversationId>, Error>;
    fn count_conversations(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error>;
    fn chat_message(&mut self, id: ChatMessageId) -> Result<Option<ChatMessage>, Error>;
    fn chat_messages(
        &mut self,
        conversation_id: ConversationId,
        span: ChatSpan,
        limit: u32,
    ) -> Result<Page<ChatMessage, ChatMessageId>, Error>;
    /// Those that belong to a task, in order.
    fn chat_messages_of(&mut self, task_id: TaskId) -> Result<Vec<ChatMessage>, Error>;
    fn notice_key(&mut self, workspace_id: WorkspaceId, key: &str) -> Result<Option<NoticeKey>, Error>;
    fn search_chat(&mut self, search: &ChatSearch) -> Result<Page<ChatMessage, ChatMessageId>, Error>;
}

pub trait ChatWrites {
    fn insert_conversation(&mut self, conversation: &Conversation) -> Result<(), Error>;
    /// Reads a conversation; nobody else changes it until this transaction ends.
    fn hold_conversation(&mut self, id: ConversationId) -> Result<Option<Conversation>, Error>;
    /// Compare-and-set, as for workspaces. Returns the new version.
    fn update_conversation(
        &mut self,
        conversation: &Conversation,
        expected_version: u64,
    ) -> Result<u64, Error>;
    /// Deletes a conversation with its messages. Returns whether there was one.
    fn remove_conversation(&mut self, id: ConversationId) -> Result<bool, Error>;
    /// Deletes messages that are older than this moment, and conversations in which nothing was said since, at most
    /// `limit` of each. Returns how many messages and conversations.
    fn prune_chat(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
    /// `words` are what it is found by, with a space between them.
    fn insert_chat_message(&mut self, message: &ChatMessage, words: &str) -> Result<(), Error>;
    /// Writes a key, over an older one of the same name.
    fn put_notice_key(&mut self, key: &NoticeKey) -> Result<(), Error>;
    /// Forgets those before this moment, at most `limit`. Returns how many.
    fn prune_notice_keys(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
