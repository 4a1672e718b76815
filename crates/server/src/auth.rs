//! Who asks. Default deny: a route that is not named public needs a token (F30).

use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, Method, header};
use warren_api::{CSRF_HEADER, SIGN_IN_COOKIE};
use warren_model::{ErrorCode, TokenKind};
use warren_operations::AccessWatch;
use warren_service::Identity;

use crate::box_doors::ThroughDoor;
use crate::problem::{CurrentRequest, Failure};
use crate::runner_gateway::FromBox;
use crate::{App, forwarding};

/// The routes of the API that answer without a token, and why.
pub const PUBLIC: &[(&str, &str, &str)] = &[
    ("POST", "/api/v1/sign-in", "exchanges a sign-in link, which is itself the proof"),
    ("GET", "/api/v1/sign-in/ways", "whoever is not signed in yet must learn how to"),
    ("POST", "/api/v1/sign-in/invitation", "takes an invitation, whose secret is itself the proof"),
    ("POST", "/api/v1/sign-in/invitation/preview", "shows what an invitation leads to, by its secret"),
    ("GET", "/api/v1/sign-in/provider", "leads to the sign-in provider, which asks who it is"),
    ("POST", "/api/v1/sign-in/provider", "the same, with an invitation, whose secret is itself the proof"),
    (
        "GET",
        "/api/v1/sign-in/provider/callback",
        "the answer that a browser brings back is itself the proof, if this browser was sent there",
    ),
    ("GET", "/api/v1/openapi.json", "the description of the API holds no secret"),
    ("POST", "/api/v1/hooks/{id}", "a message through a channel is signed with the channel's secret"),
    ("GET", "/api/v1/keys", "whoever gets a message from Warren may check that it is from Warren"),
];

/// The caller, proven by the layer below.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Identity);

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<Self, Failure> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| ErrorCode::Unauthenticated.into())
    }
}

/// The layer around all API routes.
pub(crate) async fn require_token(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let from_box = request.extensions().get::<FromBox>().copied();
    if from_box.is_none() && is_public(&request) {
        return Ok(next.run(request).await);
    }
    // Through the door of a box, the box is the proof.
    let through_door = request.extensions_mut().remove::<ThroughDoor>();
    let is_through_door = through_door.is_some();
    let mut identity = match through_door {
        Some(ThroughDoor(identity)) => identity,
        None => match identify(&app, request.method(), request.headers()).await {
            Ok(identity) => identity,
            Err(failure) => return Err(answer_failure(&app, failure)),
        },
    };
    if let Some(FromBox(id)) = from_box
        && !identity.speaks_for_box(id)
    {
        let detail = "out of a box, only its own workspace speaks";
        return Err(Failure::new(ErrorCode::Forbidden, detail));
    }
    identity.request_id = request.extensions().get::<CurrentRequest>().map(|request| request.0.clone());
    // The replica that passed it on has counted it.
    if forwarding::mark_of(&request).is_none() {
        app.fleet
            .throttle
            .admit(&identity)
            .map_err(|refused| Failure::too_fast(refused.retry_after_seconds, refused.per_minute))?;
    }
    let span = tracing::Span::current();
    span.record("principal.kind", identity.principal.kind.as_str());
    span.record("principal.id", identity.principal.id.as_str());
    request.extensions_mut().insert(Caller(identity));
    if is_through_door {
        request.extensions_mut().insert(InsideBox);
    }
    Ok(next.run(request).await)
}

/// Whoever asks is a program of the box: what it can do there itself, it needs nobody for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InsideBox;

fn is_public(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    PUBLIC.iter().any(|(method, path, _)| request.method() == *method && route == *path)
}

/// A bearer token, or else the page's cookie. A request that changes something by cookie must also carry a
/// header that no other site can send without asking first.
///
/// The cookie is for sign-ins alone: a browser sends it to every port of the host, and an admin's token has no business
/// there. And a sign-in is for browsers: one that was read out of a cookie does not pass for a token elsewhere, unless
/// whoever sends it says that it is the page.
pub(crate) async fn identify(
    app: &App,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Identity, AuthFailure> {
    if let Some(secret) = bearer(headers)? {
        let identity = app.fleet.tokens.identify(secret).await?;
        if identity.token.kind == TokenKind::SignIn && !headers.contains_key(CSRF_HEADER) {
            return Err(ErrorCode::CsrfFailed.into());
        }
        return Ok(identity);
    }
    let secret = sign_in_cookie(headers).ok_or(ErrorCode::Unauthenticated)?;
    let changes_something = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    if changes_something && !headers.contains_key(CSRF_HEADER) {
        return Err(ErrorCode::CsrfFailed.into());
    }
    let identity = app.fleet.tokens.identify(secret).await?;
    if identity.token.kind != TokenKind::SignIn {
        return Err(ErrorCode::Unauthenticated.into());
    }
    Ok(identity)
}

/// A page's cookie travels with every connection that any page opens. The guard refuses a wrong Origin; where a GET starts
/// something that stays open, it must not be missing either (sec/W01).
pub(crate) fn refuse_cookie_without_origin(headers: &HeaderMap) -> Result<(), Failure> {
    let is_by_cookie = !headers.contains_key(header::AUTHORIZATION);
    if is_by_cookie && !headers.contains_key(header::ORIGIN) {
        return Err(ErrorCode::OriginNotAllowed.into());
    }
    Ok(())
}

/// A failure to prove who one is.
#[derive(Debug)]
pub(crate) struct AuthFailure {
    code: ErrorCode,
    failure: Failure,
}

impl From<ErrorCode> for AuthFailure {
    fn from(code: ErrorCode) -> Self {
        Self { code, failure: code.into() }
    }
}

impl From<warren_service::Error> for AuthFailure {
    fn from(error: warren_service::Error) -> Self {
        Self { code: error.code, failure: error.into() }
    }
}

impl From<AuthFailure> for Failure {
    fn from(failure: AuthFailure) -> Self {
        failure.failure
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, ErrorCode> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(ErrorCode::Unauthenticated);
    }
    let text = value.to_str().map_err(|_| ErrorCode::Unauthenticated)?;
    let (scheme, secret) = text.split_once(' ').ok_or(ErrorCode::Unauthenticated)?;
    if scheme.eq_ignore_ascii_case("bearer") {
        Ok(Some(secret.trim()))
    } else {
        Err(ErrorCode::Unauthenticated)
    }
}

pub(crate) fn sign_in_cookie(headers: &HeaderMap) -> Option<&str> {
    cookie_named(headers, SIGN_IN_COOKIE)
}

pub(crate) fn cookie_named<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == wanted).then_some(value))
}

/// Completes when somebody who was let in would not be any more (sec/U05); for requests that wait.
pub(crate) async fn let_in_no_more(app: &App, who: &Identity) {
    let mut recheck = tokio::time::interval(AccessWatch::INTERVAL);
    loop {
        recheck.tick().await;
        // A database that is away is no reason to hang up on a caller who was let in.
        if let Ok(false) = app.fleet.tokens.is_still_valid(who).await {
            return;
        }
    }
}

/// What a failure to prove who one is is answered with: after too many of them, only that (sec/U06).
pub(crate) fn answer_failure(app: &App, failure: AuthFailure) -> Failure {
    let is_guess = matches!(
        failure.code,
        ErrorCode::Unauthenticated | ErrorCode::TokenExpired | ErrorCode::InvitationNotFound
    );
    if is_guess && app.fleet.throttle.is_one_failure_too_many() {
        return ErrorCode::TooManyRequests.into();
    }
    failure.into()
}
