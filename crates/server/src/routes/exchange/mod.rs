//! Messages to workspaces, the work they lead to, the queue they wait in, and what is handed on.

pub(super) mod conversations;
pub(super) mod delegations;
pub(super) mod messages;
pub(super) mod notices;
pub(super) mod peers;
pub(super) mod queue;
pub(super) mod runtime;
pub(super) mod uploads;

use http::HeaderMap;
use serde::Deserialize;
use utoipa::IntoParams;
use warren_model::{ErrorCode, Timestamp};

use crate::App;
use crate::problem::Failure;

/// How long a request may wait for work to end.
const MAX_WAIT_MS: u64 = 60_000;
/// The farthest that a caller may put an end: a year.
const MAX_SPAN_MS: u64 = 365 * 24 * 3_600_000;

/// How long to wait for work.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WaitParams {
    /// Waits so long for it to end, or to stop for input.
    #[serde(default)]
    #[param(maximum = 60000)]
    wait_ms: u64,
}

fn check_wait(wait_ms: u64) -> Result<(), Failure> {
    if wait_ms <= MAX_WAIT_MS {
        return Ok(());
    }
    Err(Failure::new(ErrorCode::InvalidRequest, format!("wait_ms: at most {MAX_WAIT_MS}")))
}

/// A moment that a caller names by its distance.
fn moment(app: &App, field: &str, ms: Option<u64>) -> Result<Option<Timestamp>, Failure> {
    let Some(ms) = ms else { return Ok(None) };
    if !(1..=MAX_SPAN_MS).contains(&ms) {
        return Err(Failure::new(ErrorCode::InvalidRequest, format!("{field}: expected 1 to {MAX_SPAN_MS}")));
    }
    Ok(Some(app.clock.now().plus_ms(i64::try_from(ms).unwrap_or(i64::MAX))))
}

pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let wrong =
        || Failure::new(ErrorCode::InvalidRequest, "Idempotency-Key: expected visible ASCII characters");
    Ok(Some(value.to_str().map_err(|_| wrong())?.to_owned()))
}

fn id_in_body<T: std::str::FromStr>(field: &str, text: Option<&str>) -> Result<Option<T>, Failure> {
    let wrong = || Failure::new(ErrorCode::InvalidRequest, format!("{field}: not an id"));
    text.map(|text| text.parse().map_err(|_| wrong())).transpose()
}
