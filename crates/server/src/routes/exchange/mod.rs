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
use warren_model::ErrorCode;

use crate::problem::Failure;

/// How long a request may wait for work to end.
const MAX_WAIT_MS: u64 = 60_000;

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

pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let wrong =
        || Failure::new(ErrorCode::InvalidRequest, "Idempotency-Key: expected visible ASCII characters");
    Ok(Some(value.to_str().map_err(|_| wrong())?.to_owned()))
}
