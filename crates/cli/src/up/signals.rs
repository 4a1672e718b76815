//! SIGTERM and SIGINT: the first asks to stop, the second does not ask.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use warren_model::ErrorCode;

use crate::failure::{Outcome, Report};

const SIGINT_EXIT: i32 = 128 + 2;
const SIGTERM_EXIT: i32 = 128 + 15;

/// Cancels `stop` at the first signal, and ends the process at the second.
pub(super) fn watch(stop: &CancellationToken) -> Outcome<()> {
    let failed = |error: std::io::Error| {
        Report::new(ErrorCode::Internal).because(format!("signals cannot be received: {error}"))
    };
    let mut interrupts = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminations = signal(SignalKind::terminate()).map_err(failed)?;
    let stop = stop.clone();
    tokio::spawn(async move {
        loop {
            let exit = tokio::select! {
                _ = interrupts.recv() => SIGINT_EXIT,
                _ = terminations.recv() => SIGTERM_EXIT,
            };
            if stop.is_cancelled() {
                tracing::warn!("asked to stop a second time; stopping at once");
                std::process::exit(exit);
            }
            stop.cancel();
            tracing::info!("asked to stop; finishing what is under way");
        }
    });
    Ok(())
}
