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

use warren_fleet::Fleet;
use warren_model::event::{ChatMessagePosted, ConversationChanged, ConversationCreated, ConversationRemoved};
use warren_model::{
    ChatMessage, ChatMessageId, Conversation, ConversationId, ErrorCode, EventData, NewEvent, Principal,
    Role, Status, Task, TaskState, TaskUpdate, Timestamp, WorkspaceId,
};
use warren_rules::{messages::chat, messages::memory};
use warren_service::Action;
use warren_service::{Context, Error, Identity};
use warren_store::{ChatSearch, ChatSpan, ConversationQuery, Page, TaskQuery, WriteTx};

use crate::Config;
use crate::messages::{Accepted, Messages, NewMessage, Speaker, Submission, TxInputs};

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

/// What is shown of messages and answers.
#[derive(Debug, Clone)]
pub struct Conversations {
    context: Context,
    fleet: Fleet,
    config: Config,
    messages: Messages,
}

impl Conversations {
    pub(crate) fn new(context: Context, fleet: Fleet, config: Config, messages: Messages) -> Self {
        Self { context, fleet, config, messages }
    }

    /// Begins a conversation with a workspace that the caller may use.
    #[tracing::instrument(name = "exchange.conversations.begin", skip_all, fields(workspace.id = %new.workspace_id))]
    pub async fn begin(&self, who: &Identity, new: NewConversation) -> Result<Conversation, Error> {
        let row = self.fleet.workspaces.get(who, Action::UseWorkspace, new.workspace_id).await?;
        if row.status == Status::Removed {
            return Err(Error::new(ErrorCode::WorkspaceNotFound));
        }
        let title = checked_title(new.title.unwrap_or_else(|| UNTITLED.to_owned()))?;
        let (now, max) = (self.context.now(), self.config.max_conversations);
        let conversation = Conversation {
            id: self.context.entropy().id(now),
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
        self.context
            .store()
            .write(move |tx| {
                let known = tx.count_conversations(conversation.workspace_id)?;
                chat::admit_conversation(known, max).map_err(full)?;
                tx.insert_conversation(&conversation)?;
                let change = ConversationChange { by: &conversation.author, now };
                let data = ConversationCreated { conversation_id: conversation.id };
                change.append(tx, &conversation, data)?;
                Ok(conversation.clone())
            })
            .await
    }

    /// The youngest first.
    #[tracing::instrument(name = "exchange.conversations.list", skip_all, fields(workspace.id = %query.workspace_id))]
    pub async fn list(
        &self,
        who: &Identity,
        mut query: ConversationQuery,
    ) -> Result<Page<Conversation, ConversationId>, Error> {
        self.fleet.workspaces.get(who, Action::ReadWork, query.workspace_id).await?;
        query.limit = query.limit.clamp(1, self.context.limits().max_page_size);
        let page = self.context.store().read(move |tx| tx.conversations(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    #[tracing::instrument(name = "exchange.conversations.get", skip_all, fields(workspace.id = %workspace_id, conversation.id = %id))]
    pub async fn get(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ConversationId,
    ) -> Result<Conversation, Error> {
        self.find(who, Action::ReadWork, workspace_id, id).await
    }

    /// A conversation that the caller may take part in.
    pub async fn for_use(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ConversationId,
    ) -> Result<Conversation, Error> {
        self.find(who, Action::UseWorkspace, workspace_id, id).await
    }

    /// A conversation of this workspace, where the caller may do this.
    async fn find(
        &self,
        who: &Identity,
        action: Action,
        workspace_id: WorkspaceId,
        id: ConversationId,
    ) -> Result<Conversation, Error> {
        self.fleet.workspaces.get(who, action, workspace_id).await?;
        let row = self.context.store().read(move |tx| tx.conversation(id).map_err(Error::from)).await?;
        row.filter(|row| row.workspace_id == workspace_id).ok_or_else(unknown)
    }

    #[tracing::instrument(name = "exchange.conversations.rename", skip_all, fields(workspace.id = %workspace_id, conversation.id = %id))]
    pub async fn rename(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ConversationId,
        title: String,
    ) -> Result<Conversation, Error> {
        self.find(who, Action::UseWorkspace, workspace_id, id).await?;
        let (title, now, by) = (checked_title(title)?, self.context.now(), who.principal.clone());
        self.context
            .store()
            .write(move |tx| {
                let mut row = tx.hold_conversation(id)?.ok_or_else(unknown)?;
                if row.title == title {
                    return Ok(row);
                }
                row.title.clone_from(&title);
                row.updated_at = now;
                row.version = tx.update_conversation(&row, row.version)?;
                let data = ConversationChanged { conversation_id: row.id };
                ConversationChange { by: &by, now }.append(tx, &row, data)?;
                Ok(row)
            })
            .await
    }

    /// Deletes a conversation with its messages. Work that it began goes on.
    #[tracing::instrument(name = "exchange.conversations.remove", skip_all, fields(workspace.id = %workspace_id, conversation.id = %id))]
    pub async fn remove(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        id: ConversationId,
    ) -> Result<(), Error> {
        self.find(who, Action::UseWorkspace, workspace_id, id).await?;
        let (now, by) = (self.context.now(), who.principal.clone());
        self.context
            .store()
            .write(move |tx| {
                let row = tx.hold_conversation(id)?.ok_or_else(unknown)?;
                tx.remove_conversation(id)?;
                let data = ConversationRemoved { conversation_id: row.id, messages: row.messages };
                ConversationChange { by: &by, now }.append(tx, &row, data)
            })
            .await
    }

    /// What was said, by id, from either end.
    #[tracing::instrument(name = "exchange.conversations.messages", skip_all, fields(workspace.id = %workspace_id, conversation.id = %id))]
    pub async fn messages(
        &self,
        who: &Identity,
        (workspace_id, id): (WorkspaceId, ConversationId),
        span: ChatSpan,
        limit: u32,
    ) -> Result<Page<ChatMessage, ChatMessageId>, Error> {
        self.get(who, workspace_id, id).await?;
        let limit = limit.clamp(1, MAX_CHAT_PAGE);
        let page = self
            .context
            .store()
            .read(move |tx| tx.chat_messages(id, span, limit).map_err(Error::from))
            .await?;
        Ok(self.context.listed(page))
    }

    /// Sends a message in a conversation: what is shown and the work it asks for are written together, or not at all.
    /// Without a task it goes to work of this conversation that asked for input, if there is any.
    #[tracing::instrument(name = "exchange.conversations.say", skip_all, fields(conversation.id = %id))]
    pub async fn say(&self, who: &Identity, id: ConversationId, send: NewMessage) -> Result<Accepted, Error> {
        let conversation = self.find(who, Action::UseWorkspace, send.workspace_id, id).await?;
        let context = conversation.context_id();
        let send = NewMessage { context_id: Some(context.clone()), ..send };
        if send.task_id.is_some() {
            return self.messages.send(who, send).await;
        }
        let query = TaskQuery {
            context_id: Some(context),
            state: Some(TaskState::InputRequired),
            ..TaskQuery::of(send.workspace_id, 1)
        };
        let asked = self.context.store().read(move |tx| tx.tasks(&query).map_err(Error::from)).await?;
        let Some(asked) = asked.rows.first() else { return self.messages.send(who, send).await };
        let reply = NewMessage { task_id: Some(asked.id), ..send.clone() };
        match self.messages.send(who, reply).await {
            // Somebody else replied in the meantime.
            Err(error) if error.code == ErrorCode::TaskNotOpen => self.messages.send(who, send).await,
            accepted => accepted,
        }
    }

    /// What was said in answer to a message, if anything was.
    #[tracing::instrument(name = "exchange.conversations.answer_to", skip_all, fields(chat_message.id = %message.id))]
    pub async fn answer_to(&self, message: &ChatMessage) -> Result<Option<ChatMessage>, Error> {
        let (id, task_id) = (message.id, message.task_id);
        let Some(task_id) = task_id else { return Ok(None) };
        let of_task =
            self.context.store().read(move |tx| tx.chat_messages_of(task_id).map_err(Error::from)).await?;
        Ok(of_task.into_iter().find(|other| other.id > id && other.role == Role::Agent))
    }

    /// Messages of a workspace that hold all of the words of `text`, the youngest first (X35).
    #[tracing::instrument(name = "exchange.conversations.search", skip_all, fields(workspace.id = %workspace_id))]
    pub async fn search(
        &self,
        who: &Identity,
        workspace_id: WorkspaceId,
        text: &str,
        before: Option<ChatMessageId>,
        limit: u32,
    ) -> Result<Page<ChatMessage, ChatMessageId>, Error> {
        self.fleet.workspaces.get(who, Action::ReadWork, workspace_id).await?;
        let words = memory::words(text);
        if !(1..=chat::MAX_QUERY_WORDS).contains(&words.len()) {
            let detail = format!("q: expected 1 to {} words", chat::MAX_QUERY_WORDS);
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let limit = limit.clamp(1, MAX_CHAT_PAGE);
        let search = ChatSearch { words, org_id: None, workspace_id: Some(workspace_id), before, limit };
        let page = self.context.store().read(move |tx| tx.search_chat(&search).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
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
    submission: &Submission,
    task: &Task,
) -> Result<Option<ChatMessage>, Error> {
    let Some(row) = held(tx, &task.context_id, task.workspace_id)? else { return Ok(None) };
    chat::admit_message(&row, submission.config.max_chat_messages).map_err(full)?;
    let message = ChatMessage {
        id: submission.chat_message_id,
        conversation_id: row.id,
        org_id: row.org_id,
        workspace_id: row.workspace_id,
        author: submission.sender.principal.clone(),
        role: Role::User,
        parts: submission.new.message.parts.clone(),
        task_id: Some(task.id),
        created_at: submission.now,
    };
    post(tx, row, message).map(Some)
}

/// Shows what a delivery came to, in the transaction that settles it.
pub(crate) fn show_answer(
    tx: &mut dyn WriteTx,
    task: &Task,
    updates: &[TaskUpdate],
    speaker: Speaker,
    inputs: &TxInputs,
) -> Result<(), Error> {
    let (author, parts) = match speaker {
        Speaker::Agent => (Principal::workspace(task.workspace_id), chat::answer(task, updates)),
        Speaker::Warren => {
            let said = task.status_message.as_ref().map(|message| message.parts.clone());
            (Principal::system("exchange"), said.unwrap_or_default())
        }
    };
    let parts = chat::fit(parts, inputs.config.max_message_bytes);
    if parts.is_empty() {
        return Ok(());
    }
    let Some(row) = held(tx, &task.context_id, task.workspace_id)? else { return Ok(()) };
    let message = ChatMessage {
        id: inputs.answer_id,
        conversation_id: row.id,
        org_id: row.org_id,
        workspace_id: row.workspace_id,
        author,
        role: Role::Agent,
        parts,
        task_id: Some(task.id),
        created_at: inputs.now,
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
    let change = ConversationChange { by: &message.author, now: message.created_at };
    let data = ChatMessagePosted {
        conversation_id: row.id,
        message_id: message.id,
        task_id: message.task_id,
        author: message.author.clone(),
    };
    change.append(tx, &row, data)?;
    Ok(message)
}

/// Who changed a conversation, and when.
pub(crate) struct ConversationChange<'a> {
    pub(crate) by: &'a Principal,
    pub(crate) now: Timestamp,
}

impl ConversationChange<'_> {
    pub(crate) fn append(
        &self,
        tx: &mut dyn WriteTx,
        row: &Conversation,
        data: impl Into<EventData>,
    ) -> Result<(), Error> {
        Ok(tx.append_event(&NewEvent {
            at: self.now,
            org_id: row.org_id,
            workspace_id: Some(row.workspace_id),
            principal: self.by.clone(),
            data: data.into(),
        })?)
    }
}
