//! Sign-in by an OpenID Connect provider (F38): the way there, and the way back.
//!
//! ```text
//!   browser ─▶ GET …/provider ─▶ 303 to the provider; what it was sent with is sealed into a cookie
//!   page with an invitation ─▶ POST …/provider ─▶ where to go; the invitation is in the cookie too, and in no address
//!   browser ─▶ GET …/callback ─▶ the cookie and the answer belong together? ─▶ who is it? ─▶ 303 to /, signed in
//!                                     └────────────── no ──────────────────────────┴───▶ 303 to /#sign-in-failed=CODE
//! ```
//!
//! The cookie goes to these two routes alone, and comes along when the provider sends the browser back (`Lax`). The sign-in
//! itself is `Strict` as always: the page that opens after it asks for everything by itself.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{HeaderMap, HeaderValue};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use warren_api::{BeginProviderSignIn, Problem, ProviderAddress, SignInProvider};
use warren_fleet::{Minted, NewPeople, ProviderPerson};
use warren_model::{ErrorCode, PublicFailure as _};
use warren_oidc::{ATTEMPT_LIFETIME_MS, Attempt, AuthorizationAnswer, Provider, Reason};
use warren_service::Identity;

use super::sign_in::sign_in_cookie;
use crate::App;
use crate::auth::cookie_named;
use crate::extract::{Json, Query};
use crate::problem::{self, CurrentRequest, Failure};

/// Where the provider sends browsers back to.
pub const CALLBACK: &str = "/api/v1/sign-in/provider/callback";
/// Both routes are below it.
const COOKIE_PATH: &str = "/api/v1/sign-in/provider";
const COOKIE: &str = "warren_sign_in_attempt";
/// What the cookie is sealed for.
const SEALED_FOR: &str = "sign-in.attempt";
const MAX_INVITATION: usize = 256;

/// By whom people sign in.
#[derive(Debug)]
pub struct ProviderSignIn {
    /// As its button says.
    pub name: String,
    pub provider: Provider,
    /// Where people reach this server, without a slash at the end. Absent: at the name by which they call it, on this machine.
    pub public_url: Option<String>,
    /// Who comes in without an invitation.
    pub new_people: NewPeople,
}

impl ProviderSignIn {
    /// As the page offers it.
    pub(super) fn way(&self) -> SignInProvider {
        SignInProvider { name: self.name.clone(), path: COOKIE_PATH.to_owned() }
    }

    fn origin(&self, headers: &HeaderMap) -> Result<String, Failure> {
        if let Some(url) = &self.public_url {
            return Ok(url.clone());
        }
        // One of the names that the guard knows.
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        host.map(|host| format!("http://{host}")).ok_or_else(|| ErrorCode::HostNotAllowed.into())
    }

    fn is_behind_tls(&self) -> bool {
        self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}

/// What a browser keeps while it is at the provider.
#[derive(Serialize, Deserialize)]
struct Kept {
    attempt: Attempt,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    invitation: Option<String>,
}

/// None: an address stands in logs, so that what is secret is told otherwise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParameters {}

/// Sign in by the organisation's own provider: leads there. For browsers.
#[utoipa::path(
    get, path = "/api/v1/sign-in/provider", operation_id = "begin_provider_sign_in", tag = "sign-in",
    security(()),
    responses(
        (status = 303, description = "To the provider, or to the page, with `#sign-in-failed=CODE`"),
        (status = 400, description = "It takes no parameters.", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "There is no provider.", body = Problem, content_type = "application/problem+json"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn begin(
    State(app): State<Arc<App>>,
    Extension(request): Extension<CurrentRequest>,
    headers: HeaderMap,
    Query(NoParameters {}): Query<NoParameters>,
) -> Result<Response, Failure> {
    match send_out(&app, &headers, None).await? {
        Ok((url, cookie)) => Ok(redirect(&url, &[cookie])),
        Err(code) => Ok(failed(code, &request)),
    }
}

/// Take an invitation by signing in at the organisation's own provider. For the page.
///
/// The secret travels in the body, so that it stands in no address and in no log. The answer says where the browser is to go.
#[utoipa::path(
    post, path = "/api/v1/sign-in/provider", operation_id = "begin_provider_sign_in_with_invitation", tag = "sign-in",
    request_body = BeginProviderSignIn, security(()),
    responses((status = 200, body = ProviderAddress), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn begin_with_invitation(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Json(body): Json<BeginProviderSignIn>,
) -> Result<Response, Failure> {
    if body.invitation.len() > MAX_INVITATION {
        return Err(Failure::new(ErrorCode::InvalidRequest, "invitation: too long"));
    }
    let (url, cookie) = send_out(&app, &headers, Some(body.invitation)).await??;
    Ok(with_cookie(axum::Json(ProviderAddress { url }).into_response(), &cookie))
}

/// Where the browser is to go, and what it keeps until it is back; or why it cannot go there.
async fn send_out(
    app: &App,
    headers: &HeaderMap,
    invitation: Option<String>,
) -> Result<Result<(String, String), ErrorCode>, Failure> {
    let configured = app.provider_sign_in.as_ref().ok_or(ErrorCode::SignInProviderOff)?;
    let redirect_uri = format!("{}{CALLBACK}", configured.origin(headers)?);
    let begun = match configured.provider.begin(&redirect_uri).await {
        Ok(begun) => begun,
        Err(error) => return Ok(Err(tell(&error))),
    };
    let kept = Kept { attempt: begun.attempt, invitation };
    let kept = serde_json::to_string(&kept).map_err(|error| Failure::internal(error.to_string()))?;
    let sealed = app.fleet.sealer.seal_text(SEALED_FOR, &kept);
    let cookie = attempt_cookie(&sealed, ATTEMPT_LIFETIME_MS / 1_000, configured.is_behind_tls());
    Ok(Ok((begun.url, cookie)))
}

/// Where the provider sends the browser back to. For browsers.
#[utoipa::path(
    get, path = "/api/v1/sign-in/provider/callback", operation_id = "finish_provider_sign_in", tag = "sign-in",
    params(
        ("code" = Option<String>, Query, description = "What the provider gave the browser for us"),
        ("state" = Option<String>, Query, description = "What the browser was sent there with"),
        ("iss" = Option<String>, Query, description = "The provider's name for itself"),
        ("error" = Option<String>, Query, description = "Why the provider did not let the person in"),
    ),
    security(()),
    responses(
        (status = 303, description = "To the page, signed in, or with `#sign-in-failed=CODE`"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn callback(
    State(app): State<Arc<App>>,
    Extension(request): Extension<CurrentRequest>,
    headers: HeaderMap,
    answer: Result<Query<AuthorizationAnswer>, Failure>,
) -> Result<Response, Failure> {
    let configured = app.provider_sign_in.as_ref().ok_or(ErrorCode::SignInProviderOff)?;
    let forget = attempt_cookie("", 0, configured.is_behind_tls());
    let Ok(Query(answer)) = answer else {
        return Ok(failed(ErrorCode::SignInFailed, &request));
    };
    let kept = cookie_named(&headers, COOKIE)
        .and_then(|sealed| app.fleet.sealer.open_text(SEALED_FOR, sealed))
        .and_then(|text| serde_json::from_str::<Kept>(&text).ok());
    let attempt = kept.as_ref().map(|kept| &kept.attempt);
    let person = match configured.provider.finish(attempt, &answer).await {
        Ok(person) => person,
        // Whoever lures a browser here must not spoil the sign-in that it is in the middle of.
        Err(error) if error.reason() == Reason::StateMismatch => return Ok(failed(tell(&error), &request)),
        Err(error) => return Ok(with_cookie(failed(tell(&error), &request), &forget)),
    };
    let invitation = kept.and_then(|kept| kept.invitation);
    match let_in(&app, configured, person, invitation, &request).await {
        Ok(minted) => {
            let secure = if configured.is_behind_tls() { "; Secure" } else { "" };
            let signed_in =
                format!("{}{secure}", sign_in_cookie(&Identity::new(minted.token), &minted.secret));
            Ok(redirect("/", &[signed_in, forget]))
        }
        Err(failure) => {
            problem::log(&failure);
            Ok(with_cookie(failed(failure.code(), &request), &forget))
        }
    }
}

/// The person as one of Warren's, and a token for their browser.
async fn let_in(
    app: &App,
    configured: &ProviderSignIn,
    person: warren_oidc::ProviderPerson,
    invitation: Option<String>,
    request: &CurrentRequest,
) -> Result<Minted, Failure> {
    let new_people = &configured.new_people;
    let would_do_if_verified = !person.email_verified && is_of_domain(person.email.as_deref(), new_people);
    let person = ProviderPerson {
        issuer: person.issuer,
        subject: person.subject,
        email: person.email,
        email_verified: person.email_verified,
        name: person.name,
        display_name: person.display_name,
    };
    let users = &app.fleet.users;
    let minted = users.sign_in_by_provider(person, invitation, new_people, Some(request.0.clone())).await;
    minted.map_err(|error| match error.code {
        ErrorCode::NotInvited if would_do_if_verified => ErrorCode::SignInEmailUnverified.into(),
        _ => error.into(),
    })
}

/// Only to say which of two refusals it is; who comes in is decided by the fleet.
fn is_of_domain(email: Option<&str>, new_people: &NewPeople) -> bool {
    let domain = email.and_then(|email| email.rsplit_once('@')).map_or("", |(_, domain)| domain);
    new_people.domains.iter().any(|one| one.eq_ignore_ascii_case(domain))
}

/// Tells the operator what is wrong and what to do, and returns what the person is told.
fn tell(error: &warren_oidc::Error) -> ErrorCode {
    let (code, reason) = (error.code(), error.reason().as_str());
    let (cause, remedy) = (error.to_string(), error.remedy());
    if error.needs_operator() {
        tracing::warn!(code = code.as_str(), reason, cause, remedy, "a sign-in by the provider failed");
    } else {
        tracing::debug!(code = code.as_str(), reason, cause, "a sign-in by the provider ended");
    }
    code
}

/// To the page, which says what the code means and what to do.
fn failed(code: ErrorCode, request: &CurrentRequest) -> Response {
    redirect(&format!("/#sign-in-failed={}&request={}", code.as_str(), request.0), &[])
}

/// See other: whatever the browser did before, it gets this with GET.
fn redirect(to: &str, cookies: &[String]) -> Response {
    let Ok(location) = HeaderValue::from_str(to) else {
        return Failure::internal("an address that no header can hold").into_response();
    };
    let response = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    cookies.iter().fold(response, |response, cookie| with_cookie(response, cookie))
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}

fn attempt_cookie(value: &str, max_age_seconds: i64, is_behind_tls: bool) -> String {
    let secure = if is_behind_tls { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path={COOKIE_PATH}; HttpOnly; SameSite=Lax; Max-Age={max_age_seconds}{secure}")
}
