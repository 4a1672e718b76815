use std::sync::Arc;

use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{
    CreateToken, CreatedToken, MadeWithToken, MadeWithTokenList, MintableKind, Problem, RevokedToken,
    TokenPage,
};
use warren_fleet::{Made, MadeThing, MintToken, count_kinds};
use warren_model as model;
use warren_model::{ErrorCode, Scope, ScopeSet};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::Failure;

/// Of what was made with a token; the rest is counted.
const MAX_LISTED: usize = 1_000;
const MAX_LIFETIME_SECONDS: u64 = 10 * 365 * 24 * 3_600;

/// Make a token. Its secret is in this answer and nowhere else.
#[utoipa::path(
    post, path = "/api/v1/tokens", operation_id = "create_token", tag = "tokens",
    request_body = CreateToken,
    responses((status = 201, body = CreatedToken), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<CreateToken>,
) -> Result<impl IntoResponse, Failure> {
    let request = MintToken {
        kind: convert::mintable_from(body.kind),
        name: body.name,
        scopes: match (&body.scopes, body.kind) {
            (Some(names), _) => convert::scopes_from(names)?,
            (None, MintableKind::User) => usual_scopes().and(who.caller().scopes),
            (None, _) => ScopeSet::EMPTY,
        },
        workspace_id: body
            .workspace_id
            .as_deref()
            .map(|id| convert::id_from("workspace_id", id))
            .transpose()?,
        expires_in_ms: body.expires_in_seconds.map(lifetime_ms).transpose()?,
    };
    let minted = app.fleet.tokens.mint(&who, request).await?;
    let answer =
        CreatedToken { secret: minted.secret.reveal().to_owned(), token: convert::token(&minted.token) };
    Ok((StatusCode::CREATED, axum::Json(answer)))
}

/// What a user token may do if nobody says, as far as whoever makes it may: work with workspaces, and see what happens.
fn usual_scopes() -> ScopeSet {
    [Scope::WorkspacesRead, Scope::WorkspacesWrite, Scope::WorkspacesUse, Scope::EventsRead]
        .into_iter()
        .collect()
}

fn lifetime_ms(seconds: u64) -> Result<i64, Failure> {
    if !(1..=MAX_LIFETIME_SECONDS).contains(&seconds) {
        let detail = format!("expires_in_seconds: expected 1 to {MAX_LIFETIME_SECONDS}");
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    }
    Ok(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000))
}

/// List tokens that work, oldest first; never their secrets.
#[utoipa::path(
    get, path = "/api/v1/tokens", operation_id = "list_tokens", tag = "tokens", params(PageParams),
    responses((status = 200, body = TokenPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<TokenPage>, Failure> {
    let after = cursor(params.cursor)?;
    let limit = page_size(params.limit, app.limits().max_page_size)?;
    let page = app.fleet.tokens.list(&who, after, limit).await?;
    Ok(axum::Json(TokenPage {
        items: page.rows.iter().map(convert::token).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// List what was made with a token and is still active: tokens, schedules, webhooks and channels, also those that were made
/// with tokens that it made. This is what ends when it is revoked.
#[utoipa::path(
    get, path = "/api/v1/tokens/{id}/made", operation_id = "list_made_with_token", tag = "tokens",
    params(("id" = String, Path)),
    responses((status = 200, body = MadeWithTokenList), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn made(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::TokenIdKind>,
) -> Result<axum::Json<MadeWithTokenList>, Failure> {
    let things = app.fleet.tokens.made_with(&who, id).await?;
    Ok(axum::Json(made_list(&things)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RevokeParams {
    /// Whether what was made with it goes on. Unless told, it ends too.
    #[serde(default)]
    keep: bool,
}

/// Revoke a token, and end what was made with it.
///
/// Tokens that were made with it are revoked too, schedules paused, webhooks stopped and channels removed. Streams opened
/// with it end within seconds. Revoking twice is fine.
#[utoipa::path(
    delete, path = "/api/v1/tokens/{id}", operation_id = "revoke_token", tag = "tokens",
    params(("id" = String, Path), RevokeParams),
    responses((status = 200, body = RevokedToken), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::TokenIdKind>,
    Query(params): Query<RevokeParams>,
) -> Result<axum::Json<RevokedToken>, Failure> {
    let made = if params.keep { Made::Stays } else { Made::Ends };
    let things = app.fleet.tokens.revoke(&who, id, made).await?;
    let made = made_list(&things);
    Ok(axum::Json(RevokedToken { id: id.to_string(), ended: !params.keep, made }))
}

pub(super) fn made_list(things: &[MadeThing]) -> MadeWithTokenList {
    let counts = count_kinds(things).into_iter().map(|(kind, count)| (kind.to_owned(), count as u64));
    let item = |thing: &MadeThing| MadeWithToken {
        kind: thing.made.kind().to_owned(),
        id: thing.made.id(),
        name: thing.name.clone(),
        workspace_id: thing.workspace_id.map(|id| id.to_string()),
    };
    MadeWithTokenList { counts: counts.collect(), items: things.iter().take(MAX_LISTED).map(item).collect() }
}
