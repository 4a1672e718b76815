//! Routes for those who run Warren. They are not part of the API document.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode, header};
use warren_api::Health;
use warren_model::ErrorCode;
use warren_service::Action;

use crate::App;
use crate::auth;
use crate::problem::Failure;

/// Longer than a healthy database ever takes, shorter than any probe waits.
const READY_LIMIT: Duration = Duration::from_secs(2);

/// The process answers.
pub(super) async fn alive() -> axum::Json<Health> {
    axum::Json(Health { status: "ok".to_owned() })
}

/// The process can serve: its database answers and it is not stopping. No detail, since anybody may ask.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Response {
    let code = if app.stopping.is_cancelled() {
        Some(ErrorCode::ShuttingDown)
    } else {
        match tokio::time::timeout(READY_LIMIT, app.fleet.context.store_health()).await {
            Ok(Ok(_)) => None,
            Ok(Err(_)) | Err(_) => Some(ErrorCode::PlatformUnavailable),
        }
    };
    match code {
        None => axum::Json(Health { status: "ok".to_owned() }).into_response(),
        Some(code) => {
            let health = Health { status: code.as_str().to_owned() };
            (StatusCode::SERVICE_UNAVAILABLE, axum::Json(health)).into_response()
        }
    }
}

/// Metrics in Prometheus' text format, for operators.
pub(super) async fn metrics(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Failure> {
    if !app.has_public_metrics {
        let who = auth::identify(&app, &Method::GET, &headers).await?;
        who.may_in_own_org(Action::OperateWarren)?;
    }
    // While the database is away, what this process counts itself is still worth telling.
    if let Err(error) = app.fleet_metrics.refresh(&app).await {
        tracing::warn!(%error, "metrics of the fleet could not be read");
    }
    let text = app.telemetry.render();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// Where the `type` of a problem document leads.
pub(super) async fn error_reference() -> Html<String> {
    let mut page = String::from(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Warren: error codes</title>\
         <style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui;max-width:44rem;margin:3rem auto;\
         padding:0 1rem}h2{font:600 1rem ui-monospace,monospace;margin:1.5rem 0 0}</style><h1>Error codes</h1>",
    );
    for code in ErrorCode::ALL {
        let entry = code.entry();
        let _ = write!(
            page,
            "<h2 id={0}>{0} ({1})</h2><p>{2} {3}</p>",
            entry.code, entry.status, entry.sentence, entry.remedy
        );
    }
    page.push_str("</html>");
    Html(page)
}
