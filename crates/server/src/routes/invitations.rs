//! Invitations into an org.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use warren_api::{
    CreateInvitation, CreatedInvitation, InvitationPage, InvitationPreview, Problem, ShowInvitation, SignIn,
    UseInvitation,
};
use warren_fleet::Invite;
use warren_model as model;
use warren_model::ErrorCode;

use super::sign_in;
use crate::App;
use crate::auth::{self, Caller};
use crate::convert;
use crate::extract::{Json, PathId, Query};
use crate::names::Names;
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::{CurrentRequest, Failure};

/// Invite somebody into the org (operators). The secret is in this answer and nowhere else.
#[utoipa::path(
    post, path = "/api/v1/invitations", operation_id = "create_invitation", tag = "people",
    request_body = CreateInvitation,
    responses((status = 201, body = CreatedInvitation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<CreateInvitation>,
) -> Result<(StatusCode, axum::Json<CreatedInvitation>), Failure> {
    let invite = Invite {
        role: convert::role_from(body.role),
        email: body.email,
        expires_in_seconds: body.expires_in_seconds,
    };
    let (invitation, secret) = app.fleet.invitations.create(&who, invite).await?;
    let names = Names::of(&app, [&invitation.invited_by]).await?;
    let path = format!("/#invitation={}", secret.reveal());
    let invitation = convert::invitation(&invitation, app.clock.now(), &names);
    Ok((StatusCode::CREATED, axum::Json(CreatedInvitation { path, invitation })))
}

/// List the org's invitations, oldest first (operators); never their secrets.
#[utoipa::path(
    get, path = "/api/v1/invitations", operation_id = "list_invitations", tag = "people", params(PageParams),
    responses((status = 200, body = InvitationPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<InvitationPage>, Failure> {
    let (after, limit) = (cursor(params.cursor)?, page_size(params.limit, app.limits().max_page_size)?);
    let page = app.fleet.invitations.list(&who, after, limit).await?;
    let takers: Vec<_> = page.rows.iter().filter_map(|one| one.used_by).map(model::Principal::user).collect();
    let makers = page.rows.iter().map(|one| &one.invited_by);
    let names = Names::of(&app, makers.chain(&takers)).await?;
    let now = app.clock.now();
    Ok(axum::Json(InvitationPage {
        items: page.rows.iter().map(|one| convert::invitation(one, now, &names)).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Take an invitation back that nobody used (operators).
#[utoipa::path(
    delete, path = "/api/v1/invitations/{id}", operation_id = "revoke_invitation", tag = "people",
    params(("id" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::InvitationKind>,
) -> Result<StatusCode, Failure> {
    app.fleet.invitations.revoke(&who, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// See what an invitation leads to. It stays unused.
#[utoipa::path(
    post, path = "/api/v1/sign-in/invitation/preview", operation_id = "preview_invitation", tag = "sign-in",
    request_body = ShowInvitation, security(()),
    responses((status = 200, body = InvitationPreview), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn preview(
    State(app): State<Arc<App>>,
    Json(body): Json<ShowInvitation>,
) -> Result<axum::Json<InvitationPreview>, Failure> {
    let seen = app.fleet.invitations.preview(&body.secret).await;
    let seen = seen.map_err(|error| auth::answer_failure(&app, error.into()))?;
    Ok(axum::Json(InvitationPreview {
        org: seen.org.to_string(),
        role: convert::role(seen.invitation.role),
        invited_by: seen.invited_by,
        expires_at: seen.invitation.expires_at.to_string(),
        needs_provider: seen.invitation.email.is_some(),
    }))
}

/// Take an invitation: as somebody new, which needs a name, or as who one is signed in as.
#[utoipa::path(
    post, path = "/api/v1/sign-in/invitation", operation_id = "use_invitation", tag = "sign-in",
    request_body = UseInvitation, security(()),
    responses((status = 200, body = SignIn), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn accept(
    State(app): State<Arc<App>>,
    Extension(request): Extension<CurrentRequest>,
    headers: HeaderMap,
    Json(body): Json<UseInvitation>,
) -> Result<Response, Failure> {
    let wrong = |error: warren_service::Error| auth::answer_failure(&app, error.into());
    // Whoever is signed in joins as who they are; a cookie that is no good any more does not keep anybody out.
    let signed_in = match auth::sign_in_cookie(&headers) {
        Some(_) if body.name.is_none() => {
            let who = auth::identify(&app, &Method::POST, &headers).await;
            Some(who.map_err(|failure| auth::answer_failure(&app, failure))?)
        }
        _ => None,
    };
    if let Some(mut who) = signed_in {
        who.request_id = Some(request.0);
        let joined = app.fleet.invitations.join(&who, &body.secret).await.map_err(wrong)?;
        return sign_in::answer(&app, &joined, None).await;
    }
    let Some(name) = body.name else {
        let detail = "name: somebody who is not signed in needs one";
        return Err(Failure::new(ErrorCode::InvalidRequest, detail));
    };
    let shown = body.display_name.as_deref();
    let minted = app.fleet.invitations.accept(&body.secret, &name, shown, Some(request.0)).await;
    let minted = minted.map_err(wrong)?;
    let who = app.fleet.tokens.identify(minted.secret.reveal()).await?;
    sign_in::answer(&app, &who, Some(&minted.secret)).await
}
