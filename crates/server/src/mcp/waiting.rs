//! Waiting for work on behalf of a client: with progress told, and given up when the client does.

use std::time::Duration;

use rmcp::model::{ErrorCode, ProgressNotificationParam};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::time::{Instant, interval_at};

use super::transport::Cancelled;

/// How often a client that asked for progress hears of it. What is over sooner is answered without.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Not in the protocol, which wants no answer to a cancelled request; the one that editors' protocol uses for it.
const REQUEST_CANCELLED: ErrorCode = ErrorCode(-32_800);

/// The work's outcome, unless the client cancels the request or hangs up: then the work is dropped, which ends it.
pub(super) async fn wait<T>(
    work: impl Future<Output = T>,
    context: &RequestContext<RoleServer>,
    cancelled: &Cancelled,
) -> Result<T, ErrorData> {
    let cancelled = cancelled.token();
    tokio::select! {
        outcome = work => Ok(outcome),
        () = context.ct.cancelled() => Err(given_up()),
        () = cancelled.cancelled() => Err(given_up()),
        never = tell_progress(context) => match never {},
    }
}

fn given_up() -> ErrorData {
    ErrorData::new(REQUEST_CANCELLED, "the request was cancelled", None)
}

/// Tells the seconds that have passed: what a command has done of its work, nobody knows.
async fn tell_progress(context: &RequestContext<RoleServer>) -> std::convert::Infallible {
    let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
    let started = Instant::now();
    let mut ticks = interval_at(started + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    loop {
        ticks.tick().await;
        let seconds = started.elapsed().as_secs();
        let progress = ProgressNotificationParam::new(token.clone(), seconds as f64)
            .with_message(format!("still at work after {seconds} s"));
        // Whoever does not read it will be noticed by the end of the connection.
        let _ = context.peer.notify_progress(progress).await;
    }
}
