use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{AuditHead, AuditPage, Problem};
use warren_fleet::AuditQuery;
use warren_model::{ErrorCode, Timestamp};

use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::Query;
use crate::problem::Failure;
use crate::routes::exchange::conversations::ReadOrder;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    #[serde(default)]
    #[param(inline)]
    order: ReadOrder,
    /// From `next_cursor` of the page before, or a number behind which to begin.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// Only what was done to this kind of thing: `workspace`, `token`, `secret`, `secret_key`.
    target_kind: Option<String>,
    target_id: Option<String>,
    /// Only what this principal did, as `kind:id`.
    principal: Option<String>,
    /// Only this action, such as `token.created`.
    action: Option<String>,
    /// From this time on, in RFC 3339.
    since: Option<String>,
    /// Before this time, in RFC 3339.
    until: Option<String>,
}

/// Read the audit log, from either end (operators).
#[utoipa::path(
    get, path = "/api/v1/audit", operation_id = "list_audit_entries", tag = "audit", params(ListParams),
    responses((status = 200, body = AuditPage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<AuditPage>, Failure> {
    let after = crate::paging::cursor(params.cursor)?.unwrap_or(0);
    let query = AuditQuery {
        after,
        is_newest_first: params.order == ReadOrder::Newest,
        org_id: None,
        target_kind: params.target_kind,
        target_id: params.target_id,
        principal: params.principal,
        action: params.action,
        since: time_from("since", params.since.as_deref())?,
        until: time_from("until", params.until.as_deref())?,
        limit: crate::paging::page_size(params.limit, app.limits().max_page_size)?,
    };
    let page = app.fleet.audit.list(&who, query).await?;
    Ok(axum::Json(AuditPage {
        items: page.rows.iter().map(convert::audit_entry).collect(),
        next_cursor: page.next.map(|seq| seq.to_string()),
        unreadable: crate::paging::unreadable(&page.unreadable),
    }))
}

fn time_from(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, Failure> {
    text.map(str::parse)
        .transpose()
        .map_err(|error| Failure::new(ErrorCode::InvalidRequest, format!("{field}: {error}")))
}

/// The end of the audit log (operators). Note it elsewhere: it shows later whether the log was cut.
#[utoipa::path(
    get, path = "/api/v1/audit/head", operation_id = "show_audit_head", tag = "audit",
    responses((status = 200, body = AuditHead), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn head(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
) -> Result<axum::Json<AuditHead>, Failure> {
    let head = app.fleet.audit.head(&who).await?;
    Ok(axum::Json(AuditHead { seq: head.seq, hash: head.hash.to_string() }))
}
