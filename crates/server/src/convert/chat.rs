//! Conversations between the model and the wire.

use warren_api as api;
use warren_model as model;

use super::exchange::{author, part, role};

pub(crate) fn conversation(
    row: &model::Conversation,
    session_id: Option<model::SessionId>,
) -> api::Conversation {
    api::Conversation {
        id: row.id.to_string(),
        workspace_id: row.workspace_id.to_string(),
        title: row.title.clone(),
        author: author(&row.author),
        messages: row.messages,
        session_id: session_id.map(|id| id.to_string()),
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
        version: row.version,
    }
}

pub(crate) fn chat_message(message: &model::ChatMessage) -> api::ChatMessage {
    api::ChatMessage {
        id: message.id.to_string(),
        conversation_id: message.conversation_id.to_string(),
        author: author(&message.author),
        role: role(message.role),
        parts: message.parts.iter().map(part).collect(),
        task_id: message.task_id.map(|id| id.to_string()),
        created_at: message.created_at.to_string(),
    }
}
