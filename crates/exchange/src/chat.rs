//! Conversations (X30): what is shown of the messages that are sent and of the answers to them.
//!
//! ```text
//!   message ─▶ accepted ──┬─ task, delivery, event
//!                         └─ chat message ─ event with its id        one transaction
//!   answer  ─▶ settled  ──┬─ task, delivery, event
//!                         └─ chat message ─ event with its id        one transaction
//! ```
//!
//! A conversation's id is the context of its tasks. Whatever reaches the workspace under that context is shown, however it
//! came: from a page, by A2A, handed on, or by a schedule. Nothing else writes messages, so that what was shown live and
//! what a reload shows are the same rows.

use serde_json::json;
use warren_fleet::access::Action;
use warren_fleet::{Error, Identity};
use warren_model::{
    ChatMessage, ChatMessageId, Conversation, ConversationId, ErrorCode, EventKind, NewEvent, Principal,
    Role, Status, Task, TaskState, TaskUpdate, Timestamp, WorkspaceId,
};
use warren_rules::{messages::chat, messages::memory};
use warren_store::{ChatSearch, ChatSpan, ConversationQuery, Page, TaskQuery, WriteTx};

use crate::Exchange;
use crate::endings::Moment;
use crate::send::{Accepted, Request, Send};

/// Messages in one page: each may be as large as a message may be.
pub const MAX_CHAT_PAGE: u32 = 100;
/// What a conversation is called until somebody names it.
const UNTITLED: &str = "New conversation";

/// A conversation to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConversation {
    pub workspace_id: WorkspaceId,
    pub title: Option<String>,
}

impl Exchange {
    /// Begins a conversation with a workspace that the caller may use.
    pub async fn begin_conversation(
        &self,
        who: &Identity,
        new: NewConversation,
    ) -> Result<Conversation, Error> {
        let row = self.fleet().workspace(who, Action::UseWorkspace, new.workspace_id).await?;
        if row.status == Status::Removed {
            return Err(Error::new(ErrorCode::WorkspaceNotFound));
        }
        let title = checked_title(new.title.unwrap_or_else(|| UNTITLED.to_owned()))?;
        let (now, max) = (self.clock().now(), self.terms().max_conversations);
        let conversation = Conversation {
            id: self.entropy().id(now),
            org_id: row.org_id,
            workspace_id: row.id,
            title,
            author: who.principal.clone(),
            messages: 0,
            last_message: None,
            created_at: now,
            updated_at: now,
            version: 1,
        };
        self.store()
            .write(move |tx| {
                let known = tx.count_conversations(conversation.workspace_id)?;
                chat::admit_conversation(known, max).map_err(full)?;
                tx.insert_conversation(&conversation)?;
                let told = Told { by: &conversation.author, now };
                told.append(tx, EventKind::ConversationCreated, &conversation, json!({}))?;
                Ok(conversation.clone())
            })
            .await
    }

    /// The youngest first.
    pub async fn conversations(
        &self,
        who: &Identity,
        mut query: ConversationQuery,
    ) -> Result<Page<Conversation, ConversationId>, Error> {
        self.fleet().workspace(who, Action::UseWorkspace, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.fleet().limits().max_page_size);
        let page = self.store().read(move |tx| tx.conversations(&query).map_err(Error::from)).await?;
        Ok(self.fleet().context().listed(page))
    }

    pub async fn conversation(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ConversationId,
    ) -> Result<Conversation, Error> {
        self.fleet().workspace(who, Action::UseWorkspace, workspace_id).await?;
        let row = self.store().read(move |tx| tx.conversation(id).map_err(Error::from)).await?;
        row.filter(|row| row.workspace_id == workspace_id).ok_or_else(unknown)
    }

    pub async fn rename_conversation(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ConversationId,
        title: String,
    ) -> Result<Conversation, Error> {
        self.conversation(who, workspace_id, id).await?;
        let (title, now, by) = (checked_title(title)?, self.clock().now(), who.principal.clone());
        self.store()
            .write(move |tx| {
                let mut row = tx.hold_conversation(id)?.ok_or_else(unknown)?;
                if row.title == title {
                    return Ok(row);
                }
                row.title.clone_from(&title);
                row.updated_at = now;
                row.version = tx.update_conversation(&row, row.version)?;
                Told { by: &by, now }.append(tx, EventKind::ConversationChanged, &row, json!({}))?;
                Ok(row)
            })
            .await
    }

    /// Deletes a conversation with its messages. Work that it began goes on.
    pub async fn remove_conversation(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ConversationId,
    ) -> Result<(), Error> {
        self.conversation(who, workspace_id, id).await?;
        let (now, by) = (self.clock().now(), who.principal.clone());
        self.store()
            .write(move |tx| {
                let row = tx.hold_conversation(id)?.ok_or_else(unknown)?;
                tx.remove_conversation(id)?;
                let data = json!({ "messages": row.messages });
                Told { by: &by, now }.append(tx, EventKind::ConversationRemoved, &row, data)
            })
            .await
    }

    /// What was said, by id, from either end.
    pub async fn chat_messages(
        &self,
        who: &Identity,
        (workspace_id, id): (WorkspaceId, ConversationId),
        span: ChatSpan,
        limit: u32,
    ) -> Result<Page<ChatMessage, ChatMessageId>, Error> {
        self.conversation(who, workspace_id, id).await?;
        let limit = limit.clamp(1, MAX_CHAT_PAGE);
        let page =
            self.store().read(move |tx| tx.chat_messages(id, span, limit).map_err(Error::from)).await?;
        Ok(self.fleet().context().listed(page))
    }

    /// Sends a message in a conversation: what is shown and the work it asks for are written together, or not at all.
    /// Without a task it goes to work of this conversation that asked for input, if there is any.
    pub async fn say(&self, who: &Identity, id: ConversationId, send: Send) -> Result<Accepted, Error> {
        let conversation = self.conversation(who, send.workspace_id, id).await?;
        let context = conversation.context_id();
        let send = Send { context_id: Some(context.clone()), ..send };
        if send.task_id.is_some() {
            return self.send(who, send).await;
        }
        let query = TaskQuery {
            context_id: Some(context),
            state: Some(TaskState::InputRequired),
            ..TaskQuery::of(send.workspace_id, 1)
        };
        let asked = self.store().read(move |tx| tx.tasks(&query).map_err(Error::from)).await?;
        let Some(asked) = asked.rows.first() else { return self.send(who, send).await };
        let reply = Send { task_id: Some(asked.id), ..send.clone() };
        match self.send(who, reply).await {
            // Somebody else replied in the meantime.
            Err(error) if error.code == ErrorCode::TaskNotOpen => self.send(who, send).await,
            accepted => accepted,
        }
    }

    /// What was said in answer to a message, if anything was.
    pub async fn chat_answer(&self, message: &ChatMessage) -> Result<Option<ChatMessage>, Error> {
        let (id, task_id) = (message.id, message.task_id);
        let Some(task_id) = task_id else { return Ok(None) };
        let of_task = self.store().read(move |tx| tx.chat_messages_of(task_id).map_err(Error::from)).await?;
        Ok(of_task.into_iter().find(|other| other.id > id && other.role == Role::Agent))
    }

    /// Messages of a workspace that hold all of the words of `text`, the youngest first (X35).
    pub async fn search_conversations(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        text: &str,
        before: Option<ChatMessageId>,
        limit: u32,
    ) -> Result<Page<ChatMessage, ChatMessageId>, Error> {
        self.fleet().workspace(who, Action::UseWorkspace, workspace_id).await?;
        let words = memory::words(text);
        if !(1..=chat::MAX_QUERY_WORDS).contains(&words.len()) {
            let detail = format!("q: expected 1 to {} words", chat::MAX_QUERY_WORDS);
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let limit = limit.clamp(1, MAX_CHAT_PAGE);
        let search = ChatSearch { words, org_id: None, workspace_id: Some(workspace_id), before, limit };
        let page = self.store().read(move |tx| tx.search_chat(&search).map_err(Error::from)).await?;
        Ok(self.fleet().context().listed(page))
    }
}

pub(crate) fn unknown() -> Error {
    Error::new(ErrorCode::ConversationNotFound)
}

pub(crate) fn full(full: chat::Full) -> Error {
    Error::with_detail(ErrorCode::ConversationLimit, full.to_string())
}

fn checked_title(title: String) -> Result<String, Error> {
    match chat::title_problem(&title) {
        Some(problem) => Err(Error::with_detail(ErrorCode::InvalidRequest, problem)),
        None => Ok(title),
    }
}

/// The conversation that a context is, held until the transaction ends.
fn held(
    tx: &mut dyn WriteTx,
    context_id: &str,
    workspace_id: WorkspaceId,
) -> Result<Option<Conversation>, Error> {
    let Ok(id) = context_id.parse::<ConversationId>() else { return Ok(None) };
    // Most contexts are none, and holding costs a write.
    if tx.conversation(id)?.is_none_or(|row| row.workspace_id != workspace_id) {
        return Ok(None);
    }
    Ok(tx.hold_conversation(id)?)
}

/// Shows a message that was accepted, in the transaction that accepts it.
pub(crate) fn show_request(
    tx: &mut dyn WriteTx,
    request: &Request,
    task: &Task,
) -> Result<Option<ChatMessage>, Error> {
    let Some(row) = held(tx, &task.context_id, task.workspace_id)? else { return Ok(None) };
    chat::admit_message(&row, request.terms.max_chat_messages).map_err(full)?;
    let message = ChatMessage {
        id: request.chat_message_id,
        conversation_id: row.id,
        org_id: row.org_id,
        workspace_id: row.workspace_id,
        author: request.sender.principal.clone(),
        role: Role::User,
        parts: request.send.message.parts.clone(),
        task_id: Some(task.id),
        created_at: request.now,
    };
    post(tx, row, message).map(Some)
}

/// Who has the last word about a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    Agent,
    /// The agent said nothing, and Warren says why.
    Warren,
}

/// Shows what a turn came to, in the transaction that settles it.
pub(crate) fn show_answer(
    tx: &mut dyn WriteTx,
    task: &Task,
    updates: &[TaskUpdate],
    speaker: Speaker,
    moment: &Moment,
) -> Result<(), Error> {
    let (author, parts) = match speaker {
        Speaker::Agent => (Principal::workspace(task.workspace_id), chat::answer(task, updates)),
        Speaker::Warren => {
            let said = task.status_message.as_ref().map(|message| message.parts.clone());
            (Principal::system("exchange"), said.unwrap_or_default())
        }
    };
    let parts = chat::fit(parts, moment.terms.max_message_bytes);
    if parts.is_empty() {
        return Ok(());
    }
    let Some(row) = held(tx, &task.context_id, task.workspace_id)? else { return Ok(()) };
    let message = ChatMessage {
        id: moment.answer_id,
        conversation_id: row.id,
        org_id: row.org_id,
        workspace_id: row.workspace_id,
        author,
        role: Role::Agent,
        parts,
        task_id: Some(task.id),
        created_at: moment.now,
    };
    post(tx, row, message).map(drop)
}

/// Writes a message behind all others of its conversation, with the event that tells its id.
pub(crate) fn post(
    tx: &mut dyn WriteTx,
    mut row: Conversation,
    mut message: ChatMessage,
) -> Result<ChatMessage, Error> {
    message.id = chat::next_id(message.id, row.last_message);
    tx.insert_chat_message(&message, &chat::words_of(&message.parts))?;
    row.messages += 1;
    row.last_message = Some(message.id);
    row.updated_at = message.created_at;
    tx.update_conversation(&row, row.version)?;
    let told = Told { by: &message.author, now: message.created_at };
    let data = json!({ "message_id": message.id, "task_id": message.task_id, "author": message.author });
    told.append(tx, EventKind::ChatMessagePosted, &row, data)?;
    Ok(message)
}

/// Who did something to a conversation, and when.
pub(crate) struct Told<'a> {
    pub(crate) by: &'a Principal,
    pub(crate) now: Timestamp,
}

impl Told<'_> {
    pub(crate) fn append(
        &self,
        tx: &mut dyn WriteTx,
        kind: EventKind,
        row: &Conversation,
        mut data: serde_json::Value,
    ) -> Result<(), Error> {
        data["conversation_id"] = json!(row.id);
        Ok(tx.append_event(&NewEvent {
            at: self.now,
            kind,
            org_id: row.org_id,
            workspace_id: Some(row.workspace_id),
            principal: self.by.clone(),
            data,
        })?)
    }
}
