//! What workspaces spend.

use std::sync::Arc;

use axum::extract::State;
use warren_api::{Budget, Problem, SetBudget};
use warren_model as model;

use crate::App;
use crate::auth::Caller;
use crate::extract::{Json, PathId};
use crate::problem::Failure;

/// Show what a workspace spent this month, and what it may.
#[utoipa::path(
    get, path = "/api/v1/workspaces/{id}/budget", operation_id = "show_budget", tag = "workspaces",
    params(("id" = String, Path)),
    responses((status = 200, body = Budget), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<axum::Json<Budget>, Failure> {
    Ok(tell(app.fleet.budgets.get(&who, id).await?))
}

/// Set what a workspace may spend in a month.
///
/// Past it, models' work in the workspace is answered with 402 until the next month.
#[utoipa::path(
    put, path = "/api/v1/workspaces/{id}/budget", operation_id = "set_budget", tag = "workspaces",
    params(("id" = String, Path)), request_body = SetBudget,
    responses((status = 200, body = Budget), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn set(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(body): Json<SetBudget>,
) -> Result<axum::Json<Budget>, Failure> {
    Ok(tell(app.fleet.budgets.set(&who, id, body.monthly_limit_micros).await?))
}

fn tell(budget: warren_fleet::Budget) -> axum::Json<Budget> {
    axum::Json(Budget {
        left_micros: budget.limit_micros.map(|limit| limit.saturating_sub(budget.spent_micros)),
        month: budget.month,
        monthly_limit_micros: budget.limit_micros,
        spent_micros: budget.spent_micros,
    })
}
