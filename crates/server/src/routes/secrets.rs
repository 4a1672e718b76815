//! Secrets go in and do not come out: lists tell names, owners and versions, and no answer or error repeats what was sent.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::Value;
use warren_api::{KeyRotation, Problem, Secret, SecretPage, SetSecret};
use warren_fleet::SecretScope;
use warren_model as model;
use warren_model::{ErrorCode, SecretName, SecretValue};
use warren_service::{Action, Identity};
use zeroize::Zeroizing;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, PathName, Query};
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::Failure;

/// List the org's secrets by name; never their values.
#[utoipa::path(
    get, path = "/api/v1/secrets", operation_id = "list_secrets", tag = "secrets", params(PageParams),
    responses((status = 200, body = SecretPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<SecretPage>, Failure> {
    page(&app, &who, SecretScope::Org, params).await
}

/// List a workspace's own secrets by name; never their values.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/secrets", operation_id = "list_workspace_secrets", tag = "secrets",
    params(("id" = String, Path), PageParams),
    responses((status = 200, body = SecretPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list_of_workspace(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<SecretPage>, Failure> {
    page(&app, &who, SecretScope::Workspace(id), params).await
}

async fn page(
    app: &App,
    who: &Identity,
    scope: SecretScope,
    params: PageParams,
) -> Result<axum::Json<SecretPage>, Failure> {
    let after = cursor(params.cursor)?;
    let limit = page_size(params.limit, app.limits().max_page_size)?;
    let page = app.fleet.secrets.list(who, scope, after, limit).await?;
    Ok(axum::Json(SecretPage {
        items: page.rows.iter().map(convert::secret).collect(),
        next_cursor: page.next.map(|name| name.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Set a secret of the org, for all its workspaces.
///
/// Running workspaces get the new value by a restart, a few at a time; commands that start from now on get it at once.
#[utoipa::path(
    put, path = "/api/v1/secrets/{name}", operation_id = "set_secret", tag = "secrets",
    params(("name" = String, Path)), request_body = SetSecret,
    responses(
        (status = 200, body = Secret, description = "It has a new value."),
        (status = 201, body = Secret, description = "It is new."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn set(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(name): PathName,
    Json(body): Json<Value>,
) -> Result<Response, Failure> {
    put(&app, &who, SecretScope::Org, &name, body).await
}

/// Set a secret of one workspace. It wins over the org's of the same name.
#[utoipa::path(
    put, path = "/api/v1/workspaces/{id}/secrets/{name}", operation_id = "set_workspace_secret", tag = "secrets",
    params(("id" = String, Path), ("name" = String, Path)), request_body = SetSecret,
    responses(
        (status = 200, body = Secret, description = "It has a new value."),
        (status = 201, body = Secret, description = "It is new."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn set_of_workspace(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathName(name): PathName,
    Json(body): Json<Value>,
) -> Result<Response, Failure> {
    put(&app, &who, SecretScope::Workspace(id), &name, body).await
}

async fn put(
    app: &App,
    who: &Identity,
    scope: SecretScope,
    name: &str,
    body: Value,
) -> Result<Response, Failure> {
    // Who may not write learns nothing about what may be written.
    app.fleet.secrets.owner_of(who, Action::WriteSecrets, scope).await?;
    let (secret, is_new) = app.fleet.secrets.set(who, scope, name_from(name)?, value_from(body)?).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, axum::Json(convert::secret(&secret))).into_response())
}

/// Remove a secret of the org.
#[utoipa::path(
    delete, path = "/api/v1/secrets/{name}", operation_id = "remove_secret", tag = "secrets",
    params(("name" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(name): PathName,
) -> Result<StatusCode, Failure> {
    delete(&app, &who, SecretScope::Org, &name).await
}

/// Remove a secret of one workspace. The org's of the same name, if there is one, takes its place.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}/secrets/{name}", operation_id = "remove_workspace_secret", tag = "secrets",
    params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove_of_workspace(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    PathName(name): PathName,
) -> Result<StatusCode, Failure> {
    delete(&app, &who, SecretScope::Workspace(id), &name).await
}

async fn delete(app: &App, who: &Identity, scope: SecretScope, name: &str) -> Result<StatusCode, Failure> {
    app.fleet.secrets.owner_of(who, Action::WriteSecrets, scope).await?;
    // What cannot be a name cannot be there.
    let name: SecretName = name.parse().map_err(|_| Failure::from(ErrorCode::SecretNotFound))?;
    app.fleet.secrets.remove(who, scope, name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Seal all secrets anew (operators): under a new key where the server keeps its keys in a file.
#[utoipa::path(
    post, path = "/api/v1/secrets/rotate-key", operation_id = "rotate_secret_key", tag = "secrets",
    responses((status = 200, body = KeyRotation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn rotate_key(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
) -> Result<axum::Json<KeyRotation>, Failure> {
    let rotation = app.fleet.key_rotation.rotate(&who).await?;
    Ok(axum::Json(KeyRotation {
        key_id: rotation.key_id.to_string(),
        is_new_key: rotation.is_new_key,
        resealed: rotation.resealed,
        unreadable: rotation.unreadable,
        unreadable_rows: rotation.unreadable_rows,
    }))
}

fn name_from(text: &str) -> Result<SecretName, Failure> {
    text.parse()
        .map_err(|error: model::InvalidSecretName| Failure::new(ErrorCode::InvalidSecret, error.to_string()))
}

/// By hand: a deserializer's errors repeat what they did not expect, and that may be the value.
fn value_from(body: Value) -> Result<SecretValue, Failure> {
    let invalid = || {
        let detail = "expected an object with the one field `value`, which is text";
        Failure::new(ErrorCode::InvalidRequest, detail)
    };
    let Value::Object(mut fields) = body else { return Err(invalid()) };
    match (fields.remove("value"), fields.is_empty()) {
        (Some(Value::String(text)), true) => SecretValue::new(Zeroizing::new(text))
            .map_err(|error| Failure::new(ErrorCode::InvalidSecret, error.to_string())),
        _ => Err(invalid()),
    }
}
