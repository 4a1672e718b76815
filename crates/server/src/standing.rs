//! Whether a stream that was let in may still go on (sec/U05).
//!
//! A request is checked once, at its start. A stream outlives that moment: its token may be revoked, its workspace
//! removed or paused. So it asks the same questions again every few seconds, and ends when the answer has changed.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt as _};
use warren_model::{ErrorCode, WorkspaceId};
use warren_service::Action;
use warren_service::Identity;

use crate::App;

/// How soon a stream learns that it must end.
pub(crate) const RECHECK: Duration = Duration::from_secs(2);

/// What a stream was let in for.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub(crate) app: Arc<App>,
    pub(crate) who: Identity,
    pub(crate) action: Action,
    pub(crate) workspace_id: WorkspaceId,
    /// Whether it ends as soon as the server is asked to stop, instead of being given the time that requests in flight
    /// have.
    pub(crate) ends_with_server: bool,
}

impl Standing {
    /// Answers when the stream must end, with why.
    pub(crate) async fn lost(self) -> ErrorCode {
        let mut recheck = tokio::time::interval(RECHECK);
        loop {
            tokio::select! {
                () = self.app.stopping.cancelled(), if self.ends_with_server => return ErrorCode::ShuttingDown,
                _ = recheck.tick() => {}
            }
            if let Err(code) = self.check().await {
                return code;
            }
        }
    }

    async fn check(&self) -> Result<(), ErrorCode> {
        match self.app.fleet.tokens.is_still_valid(self.who.token.id).await {
            Ok(false) => return Err(ErrorCode::TokenExpired),
            Ok(true) => {}
            // A database that is away is no reason to hang up on a reader who was let in.
            Err(_) => return Ok(()),
        }
        match self.app.fleet.workspaces.usable(&self.who, self.action, self.workspace_id).await {
            Ok(_) => Ok(()),
            Err(error) if error.code == ErrorCode::PlatformUnavailable => Ok(()),
            Err(error) => Err(error.code),
        }
    }
}

/// The stream until `lost` answers; then, if it was cut off, what `farewell` makes of the reason. What the stream
/// holds is let go of before the farewell.
pub(crate) fn while_standing<T: Send + 'static>(
    stream: impl Stream<Item = T> + Send + 'static,
    lost: impl Future<Output = ErrorCode> + Send + 'static,
    farewell: impl FnOnce(ErrorCode) -> T + Send + 'static,
) -> impl Stream<Item = T> + Send + 'static {
    struct Going<T, F> {
        stream: Pin<Box<dyn Stream<Item = T> + Send>>,
        lost: Pin<Box<dyn Future<Output = ErrorCode> + Send>>,
        farewell: F,
    }
    let going = Going { stream: Box::pin(stream), lost: Box::pin(lost), farewell };
    stream::unfold(Some(going), |state| async move {
        let mut going = state?;
        let next = tokio::select! {
            item = going.stream.next() => Ok(item),
            code = &mut going.lost => Err(code),
        };
        match next {
            Ok(Some(item)) => Some((item, Some(going))),
            Ok(None) => None,
            Err(code) => {
                let Going { stream, farewell, .. } = going;
                drop(stream);
                Some((farewell(code), None))
            }
        }
    })
}
