use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use warren_api::{Problem, SIGN_IN_COOKIE, SignIn, SignInLink, UseSignInLink};
use warren_service::{Action, Identity};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::Json;
use crate::problem::{CurrentRequest, Failure};

/// Exchange the secret of a sign-in link for a cookie. A link works once.
#[utoipa::path(
    post, path = "/api/v1/sign-in", operation_id = "sign_in", tag = "sign-in", request_body = UseSignInLink,
    security(()),
    responses((status = 200, body = SignIn), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    Extension(request): Extension<CurrentRequest>,
    Json(body): Json<UseSignInLink>,
) -> Result<Response, Failure> {
    let minted = app.fleet.tokens.sign_in(&body.secret, Some(request.0)).await;
    let minted = minted.map_err(|error| crate::auth::answer_failure(&app, error.into()))?;
    let identity = Identity::new(minted.token);
    let max_age = identity.token.expires_at.map_or(0, |at| at.ms_since(identity.token.created_at) / 1_000);
    let cookie = cookie(minted.secret.reveal(), max_age);
    Ok(([(header::SET_COOKIE, cookie)], axum::Json(convert::sign_in(&identity))).into_response())
}

/// Host-only, unreadable to scripts, sent to no other site. Not `Secure`: Warren listens on loopback, and a
/// proxy in front that speaks TLS may add it.
fn cookie(value: &str, max_age_seconds: i64) -> String {
    format!("{SIGN_IN_COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age_seconds}")
}

/// Who is asking.
#[utoipa::path(
    get, path = "/api/v1/sign-in", operation_id = "show_sign_in", tag = "sign-in",
    responses((status = 200, body = SignIn), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(Caller(who): Caller) -> Result<axum::Json<SignIn>, Failure> {
    who.may_in_own_org(Action::KnowOneself)?;
    Ok(axum::Json(convert::sign_in(&who)))
}

/// Sign out: the token behind the cookie is revoked.
#[utoipa::path(
    delete, path = "/api/v1/sign-in", operation_id = "sign_out", tag = "sign-in",
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn sign_out(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
) -> Result<impl IntoResponse, Failure> {
    who.may_in_own_org(Action::KnowOneself)?;
    app.fleet.tokens.sign_out(&who).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie("", 0))]))
}

/// Make a new sign-in link (operators).
#[utoipa::path(
    post, path = "/api/v1/sign-in/links", operation_id = "make_sign_in_link", tag = "sign-in",
    responses((status = 201, body = SignInLink), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn make_link(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
) -> Result<impl IntoResponse, Failure> {
    who.may_in_own_org(Action::Operate)?;
    let minted = app.fleet.tokens.mint_sign_in_link(Some(&who)).await?;
    let expires_at = minted.token.expires_at.unwrap_or(minted.token.created_at).to_string();
    let path = format!("/#sign-in={}", minted.secret.reveal());
    Ok((StatusCode::CREATED, axum::Json(SignInLink { path, expires_at })))
}
