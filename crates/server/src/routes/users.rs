//! People of an org.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{CreateUser, PatchUser, Problem, RemovedUser, SignInLink, User, UserPage};
use warren_fleet::{AddUser, ChangeUser, Made};

use super::tokens::made_list;
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Json, PathUser, Query};
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// Of this org, by name or id (who runs this Warren). Absent: the one in which the caller works.
    org: Option<String>,
    /// Also those who left it.
    #[serde(default)]
    past: bool,
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OrgParams {
    /// In this org, by name or id (who runs this Warren). Absent: the one in which the caller works.
    org: Option<String>,
}

/// List the people of an org.
#[utoipa::path(
    get, path = "/api/v1/users", operation_id = "list_users", tag = "people", params(ListParams),
    responses((status = 200, body = UserPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<UserPage>, Failure> {
    let (after, limit) = (cursor(params.cursor)?, page_size(params.limit, app.limits().max_page_size)?);
    let page = app.fleet.users.list(&who, params.org, params.past, after, limit).await?;
    Ok(axum::Json(UserPage {
        items: page.rows.iter().map(convert::user).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Take a person into an org (operators). They come in by a sign-in link, or by a sign-in provider.
#[utoipa::path(
    post, path = "/api/v1/users", operation_id = "create_user", tag = "people", params(OrgParams),
    request_body = CreateUser,
    responses((status = 201, body = User), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<OrgParams>,
    Json(body): Json<CreateUser>,
) -> Result<(StatusCode, axum::Json<User>), Failure> {
    let add = AddUser {
        name: body.name,
        display_name: body.display_name,
        email: body.email,
        role: convert::role_from(body.role),
    };
    let person = app.fleet.users.add(&who, params.org, add).await?;
    Ok((StatusCode::CREATED, axum::Json(convert::user(&person))))
}

/// Show a person, by name or id.
#[utoipa::path(
    get, path = "/api/v1/users/{user}", operation_id = "show_user", tag = "people",
    params(("user" = String, Path), OrgParams),
    responses((status = 200, body = User), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathUser(user): PathUser,
    Query(params): Query<OrgParams>,
) -> Result<axum::Json<User>, Failure> {
    Ok(axum::Json(convert::user(&app.fleet.users.get(&who, params.org, &user).await?)))
}

/// Change what a person is called, or what they may do (operators). Anybody may change their own name to be shown.
#[utoipa::path(
    patch, path = "/api/v1/users/{user}", operation_id = "change_user", tag = "people",
    params(("user" = String, Path), OrgParams), request_body = PatchUser,
    responses((status = 200, body = User), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn patch(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathUser(user): PathUser,
    Query(params): Query<OrgParams>,
    Json(body): Json<PatchUser>,
) -> Result<axum::Json<User>, Failure> {
    let change = ChangeUser {
        name: body.name,
        display_name: body.display_name,
        email: body.email,
        role: body.role.map(convert::role_from),
        is_admin: body.is_admin,
    };
    Ok(axum::Json(convert::user(&app.fleet.users.change(&who, params.org, &user, change).await?)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RemoveParams {
    /// Out of this org, by name or id (who runs this Warren). Absent: the one in which the caller works.
    org: Option<String>,
    /// Out of all orgs: they come in nowhere any more (who runs this Warren).
    #[serde(default)]
    everywhere: bool,
    /// Whether what acts in their name goes on: schedules, webhooks, channels and other tokens. Unless told, it ends too.
    #[serde(default)]
    keep: bool,
}

/// Take a person out of the org (operators), or leave it oneself.
///
/// Their tokens of the org and the invitations that they made end, and unless told so does what acts in their name. What they
/// have open ends within seconds.
#[utoipa::path(
    delete, path = "/api/v1/users/{user}", operation_id = "remove_user", tag = "people",
    params(("user" = String, Path), RemoveParams),
    responses((status = 200, body = RemovedUser), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathUser(user): PathUser,
    Query(params): Query<RemoveParams>,
) -> Result<axum::Json<RemovedUser>, Failure> {
    let made = if params.keep { Made::Stays } else { Made::Ends };
    let users = &app.fleet.users;
    let gone = if params.everywhere {
        users.remove_everywhere(&who, &user, made).await?
    } else {
        users.remove(&who, params.org, &user, made).await?
    };
    Ok(axum::Json(RemovedUser {
        id: gone.user.id.to_string(),
        name: gone.user.name.to_string(),
        ended: !params.keep,
        made: made_list(&gone.made),
    }))
}

/// Make a link by which a person signs in: for oneself in the browser, or by operators for people of their orgs alone.
#[utoipa::path(
    post, path = "/api/v1/users/{user}/sign-in-links", operation_id = "make_user_sign_in_link", tag = "people",
    params(("user" = String, Path)),
    responses((status = 201, body = SignInLink), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn make_link(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathUser(user): PathUser,
) -> Result<(StatusCode, axum::Json<SignInLink>), Failure> {
    let minted = app.fleet.users.make_link(&who, &user).await?;
    Ok((StatusCode::CREATED, axum::Json(convert::sign_in_link(&minted))))
}
