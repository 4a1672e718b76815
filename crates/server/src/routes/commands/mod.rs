//! Commands in a workspace: run to their end (`exec`), in the background (`processes`), or behind a terminal
//! (`terminal`).

pub(super) mod exec;
pub(super) mod processes;
pub(super) mod terminal;

use std::sync::Arc;

use http::{HeaderMap, header};
use tokio::sync::OwnedSemaphorePermit;
use warren_model::ErrorCode;

use crate::App;
use crate::problem::Failure;

pub(super) fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/event-stream")
}

/// One of the places that long-lived streams share with those of events.
pub(super) fn stream_place(app: &Arc<App>) -> Result<OwnedSemaphorePermit, Failure> {
    let full = |_| Failure::new(ErrorCode::TooManyRequests, "too many streams are open");
    Arc::clone(&app.event_streams).try_acquire_owned().map_err(full)
}
