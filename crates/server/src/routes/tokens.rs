use std::sync::Arc;

use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use warren_api::{CreateToken, CreatedToken, Problem, TokenPage};
use warren_fleet::MintToken;
use warren_model as model;
use warren_model::ErrorCode;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::Failure;

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
        scopes: convert::scopes_from(&body.scopes.unwrap_or_default())?,
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

/// Revoke a token. Streams opened with it end within seconds. Revoking twice is fine.
#[utoipa::path(
    delete, path = "/api/v1/tokens/{id}", operation_id = "revoke_token", tag = "tokens",
    params(("id" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::TokenIdKind>,
) -> Result<StatusCode, Failure> {
    app.fleet.tokens.revoke(&who, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
