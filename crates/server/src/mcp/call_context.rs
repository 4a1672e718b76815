//! What a tool has at hand while it is called.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tracing::Instrument as _;
use warren_service::Identity;

use crate::App;
use crate::problem::{self, CurrentRequest, Failure};

/// The caller and the POST that is being answered.
#[derive(Debug, Clone)]
pub(super) struct CallContext {
    pub(super) app: Arc<App>,
    pub(super) who: Identity,
    pub(super) request_id: String,
    /// Of the POST: the library runs its handlers in tasks of their own.
    span: tracing::Span,
}

impl CallContext {
    pub(super) fn new(app: Arc<App>, who: Identity, request: CurrentRequest) -> Self {
        Self { app, who, request_id: request.0, span: tracing::Span::current() }
    }

    /// The outcome of what a tool does. A failure is logged here, and a panic becomes one: the task that runs this is not
    /// the request's, whose layers would see to both.
    pub(super) async fn carry_out<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let outcome = async {
            let outcome = AssertUnwindSafe(work).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|panic| Err(problem::of_panic(&*panic)));
            outcome.inspect_err(problem::log)
        };
        outcome.instrument(self.span.clone()).await
    }
}
