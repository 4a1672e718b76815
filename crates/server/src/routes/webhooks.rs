//! Webhooks, what is owed to them, channels, and the door that channels open.

use std::sync::Arc;

use axum::extract::{RawPathParams, State};
use axum::response::IntoResponse;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{
    Channel, ChannelList, CreateChannel, CreateWebhook, CreatedChannel, CreatedWebhook, PatchWebhook,
    Problem, ReceivedHook, Webhook, WebhookCall, WebhookCallPage, WebhookCallState, WebhookPage,
};
use warren_exchange::WebhookCallQuery;
use warren_exchange::webhooks as exchange;
use warren_model as model;
use warren_model::{ErrorCode, EventKind, IdKind};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query, WholeBody};
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::Failure;

/// Have somebody outside told of events. The secret is in this answer and nowhere else.
///
/// Each event is posted as JSON, signed as Standard Webhooks says, at least once, with waits that grow between the
/// attempts. Events that happened before are not told.
#[utoipa::path(
    post, path = "/api/v1/webhooks", operation_id = "create_webhook", tag = "webhooks",
    request_body = CreateWebhook,
    responses((status = 201, body = CreatedWebhook), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<CreateWebhook>,
) -> Result<impl IntoResponse, Failure> {
    let create = exchange::CreateWebhook {
        name: body.name,
        url: body.url,
        kinds: kinds_from(&body.events)?,
        workspace_id: body
            .workspace_id
            .as_deref()
            .map(|id| convert::id_from("workspace_id", id))
            .transpose()?,
        secret: body.secret,
    };
    let (webhook, secret) = app.exchange.webhooks.create(&who, create).await?;
    let answer = CreatedWebhook { webhook: shown(&webhook), secret: secret.reveal().to_owned() };
    Ok((StatusCode::CREATED, axum::Json(answer)))
}

/// List webhooks, oldest first.
#[utoipa::path(
    get, path = "/api/v1/webhooks", operation_id = "list_webhooks", tag = "webhooks", params(PageParams),
    responses((status = 200, body = WebhookPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<WebhookPage>, Failure> {
    let after = cursor(params.cursor)?;
    let limit = page_size(params.limit, app.limits().max_page_size)?;
    let page = app.exchange.webhooks.list(&who, after, limit).await?;
    Ok(axum::Json(WebhookPage {
        items: page.rows.iter().map(shown).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Show a webhook.
#[utoipa::path(
    get, path = "/api/v1/webhooks/{id}", operation_id = "show_webhook", tag = "webhooks",
    params(("id" = String, Path)),
    responses((status = 200, body = Webhook), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WebhookKind>,
) -> Result<axum::Json<Webhook>, Failure> {
    Ok(axum::Json(shown(&app.exchange.webhooks.get(&who, id).await?)))
}

/// Stop a webhook, or let it go on.
#[utoipa::path(
    patch, path = "/api/v1/webhooks/{id}", operation_id = "change_webhook", tag = "webhooks",
    params(("id" = String, Path)), request_body = PatchWebhook,
    responses((status = 200, body = Webhook), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn patch(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WebhookKind>,
    Json(body): Json<PatchWebhook>,
) -> Result<axum::Json<Webhook>, Failure> {
    Ok(axum::Json(shown(&app.exchange.webhooks.set_active(&who, id, body.is_active).await?)))
}

/// Remove a webhook, with what is owed to it.
#[utoipa::path(
    delete, path = "/api/v1/webhooks/{id}", operation_id = "remove_webhook", tag = "webhooks",
    params(("id" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WebhookKind>,
) -> Result<StatusCode, Failure> {
    app.exchange.webhooks.remove(&who, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CallParams {
    /// Only those that stand so.
    #[param(inline)]
    state: Option<WebhookCallState>,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List what is and was owed to a webhook, the youngest first. Calls that have ended are kept for a week.
#[utoipa::path(
    get, path = "/api/v1/webhooks/{id}/calls", operation_id = "list_webhook_calls", tag = "webhooks",
    params(("id" = String, Path), CallParams),
    responses((status = 200, body = WebhookCallPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn calls(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WebhookKind>,
    Query(params): Query<CallParams>,
) -> Result<axum::Json<WebhookCallPage>, Failure> {
    let query = WebhookCallQuery {
        webhook_id: id,
        state: params.state.map(state_from),
        before: cursor(params.cursor)?,
        limit: page_size(params.limit, app.limits().max_page_size)?,
    };
    let page = app.exchange.webhooks.calls(&who, query).await?;
    Ok(axum::Json(WebhookCallPage {
        items: page.rows.iter().map(shown_call).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Put a call that has ended back into the queue, under the same id.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{id}/calls/{call}/redeliver", operation_id = "redeliver_webhook_call",
    tag = "webhooks", params(("id" = String, Path), ("call" = String, Path)),
    responses((status = 202, body = WebhookCall), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn redeliver(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WebhookKind>,
    params: RawPathParams,
) -> Result<impl IntoResponse, Failure> {
    // Nobody's: what is not an id cannot exist, and who may ask is judged all the same.
    let call = named(&params, "call").unwrap_or_else(|| model::WebhookCallId::from_bytes([0; 16]));
    let call = app.exchange.webhooks.redeliver(&who, id, call).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(shown_call(&call))))
}

/// Open a door through which another system sends messages to a workspace. The secret is in this answer and nowhere else.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/channels", operation_id = "create_channel", tag = "webhooks",
    params(("id" = String, Path)), request_body = CreateChannel,
    responses((status = 201, body = CreatedChannel), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create_channel(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(body): Json<CreateChannel>,
) -> Result<impl IntoResponse, Failure> {
    let create = exchange::CreateChannel { name: body.name, secret: body.secret };
    let (channel, secret) = app.exchange.channels.create(&who, id, create).await?;
    let answer = CreatedChannel { channel: shown_channel(&channel), secret: secret.reveal().to_owned() };
    Ok((StatusCode::CREATED, axum::Json(answer)))
}

/// List a workspace's channels, oldest first.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/channels", operation_id = "list_channels", tag = "webhooks",
    params(("id" = String, Path)),
    responses((status = 200, body = ChannelList), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn channels(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<ChannelList>, Failure> {
    let channels = app.exchange.channels.list(&who, id).await?;
    Ok(axum::Json(ChannelList {
        items: channels.rows.iter().map(shown_channel).collect(),
        unreadable: unreadable(&channels.unreadable),
    }))
}

/// Close a channel.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}/channels/{channel}", operation_id = "remove_channel", tag = "webhooks",
    params(("id" = String, Path), ("channel" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove_channel(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    params: RawPathParams,
) -> Result<StatusCode, Failure> {
    let channel = named(&params, "channel");
    // Nobody's: what is not an id cannot exist, and who may ask is judged all the same.
    let channel = channel.unwrap_or_else(|| model::ChannelId::from_bytes([0; 16]));
    app.exchange.channels.remove(&who, id, channel).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send a message through a channel: signed with its secret, as Standard Webhooks says.
///
/// `{"text": "…"}` and what is not JSON is said to the workspace in words, any other JSON as data. The same
/// `webhook-id` again is no second message.
#[utoipa::path(
    post, path = "/api/v1/hooks/{id}", operation_id = "receive_hook", tag = "webhooks", security(()),
    params(("id" = String, Path)), request_body(content = Object, content_type = "application/json"),
    responses((status = 202, body = ReceivedHook), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn receive(
    State(app): State<Arc<App>>,
    params: RawPathParams,
    headers: HeaderMap,
    WholeBody(body): WholeBody,
) -> Result<impl IntoResponse, Failure> {
    let id = named(&params, "id").ok_or_else(|| Failure::from(ErrorCode::HookRefused))?;
    let incoming = exchange::Incoming { headers: &headers, body: &body };
    let accepted = app.exchange.channels.receive(id, incoming).await?;
    let answer = ReceivedHook { task_id: accepted.task.id.to_string(), is_repeat: accepted.is_repeat };
    Ok((StatusCode::ACCEPTED, axum::Json(answer)))
}

fn named<K: IdKind>(params: &RawPathParams, name: &str) -> Option<model::Id<K>> {
    params.iter().find(|(key, _)| *key == name).and_then(|(_, value)| value.parse().ok())
}

fn kinds_from(names: &[String]) -> Result<Vec<EventKind>, Failure> {
    let parse = |(index, name): (usize, &String)| {
        let kind = EventKind::parse(name).filter(|kind| kind.is_stored());
        kind.ok_or_else(|| {
            Failure::new(
                ErrorCode::InvalidRequest,
                format!("events[{index}]: there is no such kind of event"),
            )
        })
    };
    names.iter().enumerate().map(parse).collect()
}

const fn state_from(state: WebhookCallState) -> model::WebhookCallState {
    match state {
        WebhookCallState::Queued => model::WebhookCallState::Queued,
        WebhookCallState::Delivered => model::WebhookCallState::Delivered,
        WebhookCallState::Dead => model::WebhookCallState::Dead,
    }
}

fn shown(webhook: &model::Webhook) -> Webhook {
    Webhook {
        id: webhook.id.to_string(),
        name: webhook.name.clone(),
        url: webhook.url.clone(),
        events: webhook.kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
        workspace_id: webhook.workspace_id.map(|id| id.to_string()),
        is_active: webhook.is_active,
        created_at: webhook.created_at.to_string(),
        created_by: convert::principal(&webhook.created_by),
    }
}

fn shown_call(call: &model::WebhookCall) -> WebhookCall {
    WebhookCall {
        id: call.id.to_string(),
        seq: call.seq,
        event: call.kind.as_str().to_owned(),
        state: match call.state {
            model::WebhookCallState::Queued => WebhookCallState::Queued,
            model::WebhookCallState::Delivered => WebhookCallState::Delivered,
            model::WebhookCallState::Dead => WebhookCallState::Dead,
        },
        attempts: call.attempts,
        next_attempt_at: call.due_at.map(|at| at.to_string()),
        last_status: call.last_status,
        last_error: call.last_error.clone(),
        created_at: call.created_at.to_string(),
        ended_at: call.ended_at.map(|at| at.to_string()),
    }
}

fn shown_channel(channel: &model::Channel) -> Channel {
    Channel {
        id: channel.id.to_string(),
        workspace_id: channel.workspace_id.to_string(),
        name: channel.name.clone(),
        path: format!("/api/v1/hooks/{}", channel.id),
        created_at: channel.created_at.to_string(),
        created_by: convert::principal(&channel.created_by),
    }
}
