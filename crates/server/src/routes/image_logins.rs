//! Who Warren is to registries of images. Passwords go in and do not come out.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::Value;
use warren_api::{ImageLogin, ImageLogins, Problem, SetImageLogin};
use warren_model::{ErrorCode, SecretValue};
use zeroize::Zeroizing;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathName};
use crate::problem::Failure;

/// List who Warren signs in as at registries of images (operators); never the passwords.
#[utoipa::path(
    get, path = "/api/v1/image-logins", operation_id = "list_image_logins", tag = "server",
    responses((status = 200, body = ImageLogins), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
) -> Result<axum::Json<ImageLogins>, Failure> {
    let (logins, unreadable) = app.fleet.image_logins.list(&who).await?;
    Ok(axum::Json(ImageLogins { items: logins.iter().map(convert::image_login).collect(), unreadable }))
}

/// Set who Warren signs in as when it pulls images from a registry (operators).
///
/// It counts for every workspace from the next pull on. The registry must also be in `docker.registries`.
#[utoipa::path(
    put, path = "/api/v1/image-logins/{name}", operation_id = "set_image_login", tag = "server",
    params(("name" = String, Path, description = "The registry's host, with a port unless it is the usual one.")), request_body = SetImageLogin,
    responses(
        (status = 200, body = ImageLogin, description = "It was there, and is another."),
        (status = 201, body = ImageLogin, description = "It is new."),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn set(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(registry): PathName,
    Json(body): Json<Value>,
) -> Result<Response, Failure> {
    // Who may not write learns nothing about what may be written.
    app.fleet.image_logins.authorize(&who)?;
    let (username, password) = login_from(body)?;
    let (login, is_new) = app.fleet.image_logins.set(&who, &registry, username, &password).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, axum::Json(convert::image_login(&login))).into_response())
}

/// Remove the login at a registry of images (operators). Images that are on the host stay.
#[utoipa::path(
    delete, path = "/api/v1/image-logins/{name}", operation_id = "remove_image_login", tag = "server",
    params(("name" = String, Path, description = "The registry's host, with a port unless it is the usual one.")),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(registry): PathName,
) -> Result<StatusCode, Failure> {
    app.fleet.image_logins.remove(&who, &registry).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// By hand: a deserializer's errors repeat what they did not expect, and that may be the password.
fn login_from(body: Value) -> Result<(String, SecretValue), Failure> {
    let invalid = || {
        let detail = "expected an object with the fields `username` and `password`, which are text";
        Failure::new(ErrorCode::InvalidRequest, detail)
    };
    let Value::Object(mut fields) = body else { return Err(invalid()) };
    match (fields.remove("username"), fields.remove("password"), fields.is_empty()) {
        (Some(Value::String(username)), Some(Value::String(password)), true) => {
            let password = SecretValue::new(Zeroizing::new(password))
                .map_err(|_| Failure::new(ErrorCode::InvalidRequest, "`password` is empty or holds NUL"))?;
            Ok((username, password))
        }
        _ => Err(invalid()),
    }
}
