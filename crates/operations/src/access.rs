//! Whether a stream that was let in may still go on (sec/U05).
//!
//! A request is checked once, at its start. A stream outlives that moment: its token may be revoked, its workspace
//! removed or paused. So the same questions are asked again every few seconds, and the stream ends when the answer has
//! changed.

use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;
use warren_fleet::Fleet;
use warren_model::{ErrorCode, WorkspaceId};
use warren_service::{Action, Identity};

/// What a stream was let in for.
#[derive(Debug, Clone)]
pub struct AccessWatch {
    pub(crate) fleet: Fleet,
    pub(crate) who: Identity,
    pub(crate) action: Action,
    pub(crate) workspace_id: WorkspaceId,
    /// Ends the stream with `shutting_down`. Absent: the stream is given the time that requests in flight have.
    pub(crate) ends_with: Option<CancellationToken>,
}

impl AccessWatch {
    /// How soon a stream learns that it must end.
    pub const INTERVAL: Duration = Duration::from_secs(2);

    /// Completes when the stream must end, with the reason.
    pub async fn lost(self) -> ErrorCode {
        let mut recheck = tokio::time::interval(Self::INTERVAL);
        loop {
            tokio::select! {
                () = cancelled(self.ends_with.as_ref()) => return ErrorCode::ShuttingDown,
                _ = recheck.tick() => {}
            }
            if let Err(code) = self.check().await {
                return code;
            }
        }
    }

    async fn check(&self) -> Result<(), ErrorCode> {
        match self.fleet.tokens.is_still_valid(&self.who).await {
            Ok(false) => return Err(ErrorCode::TokenExpired),
            Ok(true) => {}
            // A database that is away is no reason to hang up on a reader who was let in.
            Err(_) => return Ok(()),
        }
        match self.fleet.workspaces.usable(&self.who, self.action, self.workspace_id).await {
            Ok(_) => Ok(()),
            Err(error) if error.code == ErrorCode::PlatformUnavailable => Ok(()),
            Err(error) => Err(error.code),
        }
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// The stream until `lost` completes; then, if it was cut off, what `last` makes of the reason. What the stream holds
/// is dropped before the last item is made.
pub fn while_allowed<T: Send + 'static>(
    stream: impl Stream<Item = T> + Send + 'static,
    lost: impl Future<Output = ErrorCode> + Send + 'static,
    last: impl FnOnce(ErrorCode) -> T + Send + 'static,
) -> impl Stream<Item = T> + Send + 'static {
    struct Watched<T, F> {
        stream: Pin<Box<dyn Stream<Item = T> + Send>>,
        lost: Pin<Box<dyn Future<Output = ErrorCode> + Send>>,
        last: F,
    }
    let watched = Watched { stream: Box::pin(stream), lost: Box::pin(lost), last };
    stream::unfold(Some(watched), |state| async move {
        let mut watched = state?;
        let next = tokio::select! {
            item = watched.stream.next() => Ok(item),
            code = &mut watched.lost => Err(code),
        };
        match next {
            Ok(Some(item)) => Some((item, Some(watched))),
            Ok(None) => None,
            Err(code) => {
                let Watched { stream, last, .. } = watched;
                drop(stream);
                Some((last(code), None))
            }
        }
    })
}
