//! Messages in, and the tasks they lead to.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api as api;
use warren_api::{AcceptedMessage, Problem, SendMessage, Task, TaskPage};
use warren_exchange::TaskQuery;
use warren_exchange::{FileView, NewMessage};
use warren_model as model;

use super::{WaitParams, check_wait, idempotency_key};
use crate::App;
use crate::auth::Caller;
use crate::convert::{exchange as convert, moment_from, optional_id_from};
use crate::extract::{Json, PathId, PathPair, Query};
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;

/// Send a message to a workspace.
///
/// Answers 202 while it waits in the queue, and 200 once its agent has it. What was accepted ends exactly once:
/// answered, failed, expired or cancelled. The same `Idempotency-Key`, or the same message id, is the same message.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/messages", operation_id = "send_message", tag = "exchange",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), request_body = SendMessage,
    responses(
        (status = 200, body = AcceptedMessage, description = "Its agent has it."),
        (status = 202, body = AcceptedMessage, description = "It waits."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn send(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    headers: HeaderMap,
    Json(body): Json<SendMessage>,
) -> Result<Response, Failure> {
    check_wait(body.wait_ms)?;
    let new_id = app.entropy.id::<model::DeliveryKind>(app.clock.now()).to_string();
    let send = NewMessage {
        context_id: body.context_id,
        task_id: optional_id_from("task_id", body.task_id.as_deref())?,
        priority: body.priority,
        idempotency_key: idempotency_key(&headers)?,
        deadline_at: moment_from(app.clock.now(), "timeout_ms", body.timeout_ms)?,
        expires_at: moment_from(app.clock.now(), "expires_in_ms", body.expires_in_ms)?,
        ..NewMessage::new(id, convert::message_from(body.message, new_id, "message")?)
    };
    let (mut accepted, follower) = app.exchange.messages.send_and_follow(&who, send).await?;
    if body.wait_ms > 0 {
        let until = app.clock.now().plus_ms(i64::try_from(body.wait_ms).unwrap_or(i64::MAX));
        accepted.task = app.exchange.messages.settled_of(accepted.task, follower, Some(until)).await?;
    }
    let queued = accepted.position.is_some() && accepted.task.state == model::TaskState::Submitted;
    let status = if queued { StatusCode::ACCEPTED } else { StatusCode::OK };
    let body = AcceptedMessage {
        queued,
        queue_id: accepted.delivery_id.to_string(),
        position: accepted.position.filter(|_| queued),
        is_repeat: accepted.is_repeat,
        task: convert::task(&accepted.task),
    };
    Ok((status, axum::Json(body)).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TaskParams {
    context_id: Option<String>,
    state: Option<api::TaskState>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the tasks of a workspace, the youngest first.
///
/// A peer sees what it asked for itself.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/tasks", operation_id = "list_tasks", tag = "exchange",
    params(("id" = String, Path), TaskParams),
    responses((status = 200, body = TaskPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<TaskParams>,
) -> Result<axum::Json<TaskPage>, Failure> {
    let query = TaskQuery {
        context_id: params.context_id,
        state: params.state.map(convert::task_state_from),
        before: cursor(params.cursor)?,
        ..TaskQuery::of(id, page_size(params.limit, app.limits().max_page_size)?)
    };
    let (page, total) = app.exchange.messages.tasks(&who, query).await?;
    Ok(axum::Json(TaskPage {
        items: page.rows.iter().map(convert::task).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
        total,
    }))
}

/// Show a task.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/tasks/{task}", operation_id = "show_task", tag = "exchange",
    params(("id" = String, Path), ("task" = String, Path), WaitParams),
    responses((status = 200, body = Task), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, task): PathPair<model::TaskKind>,
    Query(params): Query<WaitParams>,
) -> Result<axum::Json<Task>, Failure> {
    check_wait(params.wait_ms)?;
    let mut row = app.exchange.messages.task(&who, id, task).await?;
    if params.wait_ms > 0 {
        let until = app.clock.now().plus_ms(i64::try_from(params.wait_ms).unwrap_or(i64::MAX));
        row = app.exchange.messages.settled(task, FileView::of(&who, id), Some(until)).await?;
    }
    Ok(axum::Json(convert::task(&row)))
}

/// Cancel a task.
///
/// What waits ends at once. Where an agent works on it, it is asked to stop; one that refuses is believed.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/tasks/{task}/cancel", operation_id = "cancel_task", tag = "exchange",
    params(("id" = String, Path), ("task" = String, Path)),
    responses((status = 200, body = Task), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathPair(id, task): PathPair<model::TaskKind>,
) -> Result<axum::Json<Task>, Failure> {
    let task = app.exchange.messages.cancel_task(&who, id, task).await?;
    Ok(axum::Json(convert::task(&task)))
}
