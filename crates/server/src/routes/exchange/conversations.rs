//! Conversations, what is said in them, and the search over them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use warren_api::{
    ChangeConversation, ChatMessagePage, Conversation, ConversationPage, CreateConversation, PostMessage,
    PostedMessage, Problem,
};
use warren_exchange::{ChatSpan, ConversationQuery};
use warren_exchange::{FileView, MAX_CHAT_PAGE, NewConversation, NewMessage};
use warren_model as model;
use warren_model::ErrorCode;
use warren_service::Page;

use super::{check_wait, idempotency_key};
use crate::App;
use crate::auth::Caller;
use crate::convert::exchange::{message_from, task_state};
use crate::convert::{chat as convert, optional_id_from};
use crate::extract::{Json, PathId, PathPair, Query};
use crate::names::Names;
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::Failure;

/// Begin a conversation with a workspace.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/conversations", operation_id = "create_conversation", tag = "chat",
    params(("id" = String, Path)), request_body = CreateConversation,
    responses((status = 201, body = Conversation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(workspace_id): PathId<model::WorkspaceKind>,
    Json(body): Json<CreateConversation>,
) -> Result<Response, Failure> {
    let new = NewConversation { workspace_id, title: body.title };
    let row = app.exchange.conversations.begin(&who, new).await?;
    Ok((StatusCode::CREATED, axum::Json(convert::conversation(&row, None))).into_response())
}

/// List the conversations of a workspace, the youngest first.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/conversations", operation_id = "list_conversations", tag = "chat",
    params(("id" = String, Path), PageParams),
    responses((status = 200, body = ConversationPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(workspace_id): PathId<model::WorkspaceKind>,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<ConversationPage>, Failure> {
    let limit = page_size(params.limit, app.limits().max_page_size)?;
    let query = ConversationQuery { workspace_id, before: cursor(params.cursor)?, limit };
    let page = app.exchange.conversations.list(&who, query).await?;
    let sessions = app.agents.sessions.of_conversations(&page.rows).await?;
    Ok(axum::Json(ConversationPage {
        items: page
            .rows
            .iter()
            .map(|row| convert::conversation(row, sessions.get(&row.id).copied()))
            .collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Show a conversation.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/conversations/{conversation}", operation_id = "show_conversation", tag = "chat",
    params(("id" = String, Path), ("conversation" = String, Path)),
    responses((status = 200, body = Conversation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, conversation): PathPair<model::ConversationKind>,
) -> Result<axum::Json<Conversation>, Failure> {
    let row = app.exchange.conversations.get(&who, id, conversation).await?;
    answer(&app, &row).await
}

/// Change a conversation's title. What is absent stays.
#[utoipa::path(
    patch, path = "/api/v1/workspaces/{id}/conversations/{conversation}", operation_id = "change_conversation", tag = "chat",
    params(("id" = String, Path), ("conversation" = String, Path)), request_body = ChangeConversation,
    responses((status = 200, body = Conversation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, conversation): PathPair<model::ConversationKind>,
    Json(body): Json<ChangeConversation>,
) -> Result<axum::Json<Conversation>, Failure> {
    let row = match body.title {
        Some(title) => app.exchange.conversations.rename(&who, id, conversation, title).await?,
        None => app.exchange.conversations.for_use(&who, id, conversation).await?,
    };
    answer(&app, &row).await
}

/// A conversation with the session that answers it.
async fn answer(app: &App, row: &model::Conversation) -> Result<axum::Json<Conversation>, Failure> {
    let sessions = app.agents.sessions.of_conversations(std::slice::from_ref(row)).await?;
    Ok(axum::Json(convert::conversation(row, sessions.get(&row.id).copied())))
}

/// Delete a conversation with its messages. Work that it began goes on.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}/conversations/{conversation}", operation_id = "remove_conversation", tag = "chat",
    params(("id" = String, Path), ("conversation" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, conversation): PathPair<model::ConversationKind>,
) -> Result<StatusCode, Failure> {
    app.exchange.conversations.remove(&who, id, conversation).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Post a message in a conversation.
///
/// The message and the work that it asks for are written together. The answer comes as a message of its own, in the
/// transaction that ends the work; `chat.message.posted` tells the ids of both.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/conversations/{conversation}/messages", operation_id = "post_message", tag = "chat",
    params(("id" = String, Path), ("conversation" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = PostMessage,
    responses(
        (status = 200, body = PostedMessage, description = "It was posted before, or its agent has it."),
        (status = 202, body = PostedMessage, description = "It stands there, and its work waits."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, conversation): PathPair<model::ConversationKind>,
    headers: HeaderMap,
    Json(body): Json<PostMessage>,
) -> Result<Response, Failure> {
    check_wait(body.wait_ms)?;
    let new_id = app.entropy.id::<model::DeliveryKind>(app.clock.now()).to_string();
    let send = NewMessage {
        task_id: optional_id_from("task_id", body.task_id.as_deref())?,
        idempotency_key: idempotency_key(&headers)?,
        ..NewMessage::new(id, message_from(body.message, new_id, "message")?)
    };
    let mut accepted = Box::pin(app.exchange.conversations.say(&who, conversation, send)).await?;
    // Deleted between the look and the writing.
    let message =
        accepted.chat_message.take().ok_or_else(|| Failure::from(ErrorCode::ConversationNotFound))?;
    let mut answer = None;
    if body.wait_ms > 0 {
        let until = app.clock.now().plus_ms(i64::try_from(body.wait_ms).unwrap_or(i64::MAX));
        accepted.task =
            app.exchange.messages.settled(accepted.task.id, FileView::of(&who, id), Some(until)).await?;
        answer = app.exchange.conversations.answer_to(&message).await?;
    }
    let queued = accepted.position.is_some() && accepted.task.state == model::TaskState::Submitted;
    let status = if queued { StatusCode::ACCEPTED } else { StatusCode::OK };
    let body = PostedMessage {
        message: convert::chat_message(&message),
        task_id: accepted.task.id.to_string(),
        task_state: task_state(accepted.task.state),
        queued,
        position: accepted.position.filter(|_| queued),
        is_repeat: accepted.is_repeat,
        answer: answer.as_ref().map(convert::chat_message),
    };
    Ok((status, axum::Json(body)).into_response())
}

/// From which end a conversation is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReadOrder {
    /// The oldest first.
    #[default]
    Oldest,
    /// The youngest first.
    Newest,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessageParams {
    #[serde(default)]
    #[param(inline)]
    order: ReadOrder,
    /// From `next_cursor` of the page before, or any message's id: what lies behind it.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 100 at most.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
}

/// Read a conversation, from either end.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/conversations/{conversation}/messages", operation_id = "list_chat_messages", tag = "chat",
    params(("id" = String, Path), ("conversation" = String, Path), MessageParams),
    responses((status = 200, body = ChatMessagePage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn messages(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, conversation): PathPair<model::ConversationKind>,
    Query(params): Query<MessageParams>,
) -> Result<axum::Json<ChatMessagePage>, Failure> {
    let limit = page_size(params.limit, MAX_CHAT_PAGE)?;
    let from = cursor(params.cursor)?;
    let span = match params.order {
        ReadOrder::Oldest => ChatSpan::After(from),
        ReadOrder::Newest => ChatSpan::Before(from),
    };
    let page = app.exchange.conversations.messages(&who, (id, conversation), span, limit).await?;
    Ok(axum::Json(message_page(&app, &page).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchParams {
    /// 1 to 16 words; each must begin a word of what is found.
    q: String,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 100 at most.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
}

/// Search the conversations of a workspace, the youngest message first.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/search", operation_id = "search_conversations", tag = "chat",
    params(("id" = String, Path), SearchParams),
    responses((status = 200, body = ChatMessagePage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<SearchParams>,
) -> Result<axum::Json<ChatMessagePage>, Failure> {
    let limit = page_size(params.limit, MAX_CHAT_PAGE)?;
    let before = cursor(params.cursor)?;
    let page = app.exchange.conversations.search(&who, id, &params.q, before, limit).await?;
    Ok(axum::Json(message_page(&app, &page).await?))
}

async fn message_page(
    app: &App,
    page: &Page<model::ChatMessage, model::ChatMessageId>,
) -> Result<ChatMessagePage, Failure> {
    Ok(ChatMessagePage {
        items: Names::in_messages(app, &page.rows).await?,
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    })
}
