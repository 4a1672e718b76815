//! Orgs.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use warren_api::{CreateOrg, Org, OrgPage, PatchOrg, Problem};
use warren_fleet::ChangeOrg;

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathOrg, Query};
use crate::paging::{PageParams, cursor, page_size, unreadable};
use crate::problem::Failure;

/// List the orgs that one is in; for who runs this Warren, all.
#[utoipa::path(
    get, path = "/api/v1/orgs", operation_id = "list_orgs", tag = "people", params(PageParams),
    responses((status = 200, body = OrgPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<PageParams>,
) -> Result<axum::Json<OrgPage>, Failure> {
    let (after, limit) = (cursor(params.cursor)?, page_size(params.limit, app.limits().max_page_size)?);
    let page = app.fleet.orgs.list(&who, after, limit).await?;
    Ok(axum::Json(OrgPage {
        items: page.rows.iter().map(convert::org).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Make an org (who runs this Warren). Nobody is in it yet: take people in with `POST /api/v1/users?org=NAME`.
#[utoipa::path(
    post, path = "/api/v1/orgs", operation_id = "create_org", tag = "people", request_body = CreateOrg,
    responses((status = 201, body = Org), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Json(body): Json<CreateOrg>,
) -> Result<(StatusCode, axum::Json<Org>), Failure> {
    let quotas = body.quotas.as_ref().map(convert::quotas_from);
    let made = app.fleet.orgs.create(&who, &body.name, quotas).await?;
    Ok((StatusCode::CREATED, axum::Json(convert::org(&made))))
}

/// Show an org, by name or id.
#[utoipa::path(
    get, path = "/api/v1/orgs/{org}", operation_id = "show_org", tag = "people", params(("org" = String, Path)),
    responses((status = 200, body = Org), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathOrg(org): PathOrg,
) -> Result<axum::Json<Org>, Failure> {
    Ok(axum::Json(convert::org(&app.fleet.orgs.get(&who, &org).await?)))
}

/// Rename an org, or say how much it may have (who runs this Warren).
#[utoipa::path(
    patch, path = "/api/v1/orgs/{org}", operation_id = "change_org", tag = "people",
    params(("org" = String, Path)), request_body = PatchOrg,
    responses((status = 200, body = Org), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn patch(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathOrg(org): PathOrg,
    Json(body): Json<PatchOrg>,
) -> Result<axum::Json<Org>, Failure> {
    let change = ChangeOrg { name: body.name, quotas: body.quotas.as_ref().map(convert::quotas_from) };
    Ok(axum::Json(convert::org(&app.fleet.orgs.change(&who, &org, change).await?)))
}

/// Remove an org that has no workspaces any more (who runs this Warren).
#[utoipa::path(
    delete, path = "/api/v1/orgs/{org}", operation_id = "remove_org", tag = "people",
    params(("org" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathOrg(org): PathOrg,
) -> Result<StatusCode, Failure> {
    app.fleet.orgs.remove(&who, &org).await?;
    Ok(StatusCode::NO_CONTENT)
}
