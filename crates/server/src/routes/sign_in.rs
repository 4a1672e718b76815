use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use warren_api::{Problem, SIGN_IN_COOKIE, SignIn, SignInLink, SignInWays, SwitchOrg, UseSignInLink};
use warren_model::TokenSecret;
use warren_service::{Action, Identity};

use super::ProviderSignIn;
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
    let who = app.fleet.tokens.identify(minted.secret.reveal()).await?;
    answer(&app, &who, Some(&minted.secret)).await
}

/// Who is signed in now; with a secret, the browser gets its cookie.
pub(super) async fn answer(
    app: &App,
    who: &Identity,
    secret: Option<&TokenSecret>,
) -> Result<Response, Failure> {
    let body = axum::Json(convert::sign_in(who, &app.fleet.users.orgs(who).await?));
    let Some(secret) = secret else { return Ok(body.into_response()) };
    Ok(([(header::SET_COOKIE, sign_in_cookie(who, secret))], body).into_response())
}

/// The cookie of somebody's browser.
pub(crate) fn sign_in_cookie(who: &Identity, secret: &TokenSecret) -> String {
    let max_age = who.token.expires_at.map_or(0, |at| at.ms_since(who.token.created_at) / 1_000);
    cookie(secret.reveal(), max_age)
}

/// Host-only, unreadable to scripts, sent to no other site. Not `Secure`: Warren listens on loopback, and a
/// proxy in front that speaks TLS may add it.
fn cookie(value: &str, max_age_seconds: i64) -> String {
    format!("{SIGN_IN_COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age_seconds}")
}

/// How one may sign in.
#[utoipa::path(
    get, path = "/api/v1/sign-in/ways", operation_id = "list_sign_in_ways", tag = "sign-in", security(()),
    responses((status = 200, body = SignInWays), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn ways(State(app): State<Arc<App>>) -> axum::Json<SignInWays> {
    axum::Json(SignInWays { link: true, provider: app.provider_sign_in.as_ref().map(ProviderSignIn::way) })
}

/// Who is asking, and what they may do.
#[utoipa::path(
    get, path = "/api/v1/sign-in", operation_id = "show_sign_in", tag = "sign-in",
    responses((status = 200, body = SignIn), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(State(app): State<Arc<App>>, Caller(who): Caller) -> Result<Response, Failure> {
    who.may_in_own_org(Action::KnowOneself)?;
    answer(&app, &who, None).await
}

/// Work in another org from now on. What the browser has open in the old one ends.
#[utoipa::path(
    put, path = "/api/v1/sign-in/org", operation_id = "switch_org", tag = "sign-in", request_body = SwitchOrg,
    responses((status = 200, body = SignIn), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn switch_org(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<SwitchOrg>,
) -> Result<Response, Failure> {
    who.may_in_own_org(Action::KnowOneself)?;
    let moved = app.fleet.users.switch_org(&who, &body.org).await?;
    answer(&app, &moved, None).await
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

/// Make a new sign-in link for oneself (who runs this Warren).
#[utoipa::path(
    post, path = "/api/v1/sign-in/links", operation_id = "make_sign_in_link", tag = "sign-in",
    responses((status = 201, body = SignInLink), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn make_link(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
) -> Result<impl IntoResponse, Failure> {
    who.may_in_own_org(Action::OperateWarren)?;
    let minted = app.fleet.tokens.mint_sign_in_link(Some(&who)).await?;
    Ok((StatusCode::CREATED, axum::Json(convert::sign_in_link(&minted))))
}
