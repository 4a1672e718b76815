//! Failures as RFC 9457 problem documents.
//!
//! A handler answers with a `Failure`: code, public detail and, apart from them, the cause. The outermost layer
//! writes the document, since only it knows the request's id; the cause goes to the log under that id and
//! nowhere else (F34).

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use warren_api::{MissingEnv, PROBLEM_JSON, Problem};
use warren_model::{ErrorCode, RequestId};
use warren_outbound::forwarding::MARK_HEADER;

use crate::{App, forwarding};

pub(crate) const REQUEST_ID: &str = "x-request-id";

/// Why a request failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    code: ErrorCode,
    detail: Option<String>,
    missing: Vec<MissingEnv>,
    cause: Option<String>,
    retry_after_seconds: Option<u32>,
    /// How long the file is of which a range was asked for that it does not have.
    total_bytes: Option<u64>,
}

impl Failure {
    pub(crate) fn range_not_satisfiable(total_bytes: u64) -> Self {
        let detail = format!("the file has {total_bytes} bytes");
        Self { total_bytes: Some(total_bytes), ..Self::new(ErrorCode::RangeNotSatisfiable, detail) }
    }

    /// A caller that asks too fast learns how long to wait.
    pub(crate) fn too_fast(seconds: u64, per_minute: u32) -> Self {
        let detail = format!("at most {per_minute} requests a minute (`limits.max_requests_per_minute`)");
        let retry_after_seconds = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        Self { retry_after_seconds, ..Self::new(ErrorCode::TooManyRequests, detail) }
    }

    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..code.into() }
    }

    /// Something in here is not as it must be; only the log learns what.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..ErrorCode::Internal.into() }
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.code
    }

    pub(crate) fn to_problem(&self, request_id: &str) -> Problem {
        let entry = self.code.entry();
        Problem {
            kind: format!("/reference/errors#{}", entry.code),
            title: entry.sentence.to_owned(),
            status: entry.status,
            code: entry.code.to_owned(),
            detail: self.detail.clone(),
            remedy: entry.remedy.to_owned(),
            missing: self.missing.clone(),
            native_session: (self.code == ErrorCode::RuntimeBusy).then_some(true),
            request_id: request_id.to_owned(),
        }
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        let retry_after_seconds = match code {
            ErrorCode::TooManyRequests => Some(60),
            ErrorCode::RuntimeBusy | ErrorCode::QueueFull | ErrorCode::WorkspaceElsewhere => Some(5),
            ErrorCode::PlatformUnavailable | ErrorCode::ShuttingDown | ErrorCode::WorkspaceEvicted => Some(1),
            _ => None,
        };
        Self { code, detail: None, missing: Vec::new(), cause: None, retry_after_seconds, total_bytes: None }
    }
}

impl From<warren_service::Error> for Failure {
    fn from(error: warren_service::Error) -> Self {
        let cause = error.cause().map(str::to_owned);
        let missing = error.missing.into_iter().map(|one| MissingEnv { path: one.path, name: one.name });
        let failure = Self { detail: error.detail, missing: missing.collect(), cause, ..error.code.into() };
        let retry_after_seconds = error.retry_after_seconds.or(failure.retry_after_seconds);
        Self { retry_after_seconds, ..failure }
    }
}

impl From<warren_workspace::Error> for Failure {
    fn from(error: warren_workspace::Error) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// A response without a body that carries the failure to `write_problems`.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.code.entry().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The id of the request at hand, for handlers that write problems into a stream.
#[derive(Debug, Clone)]
pub(crate) struct CurrentRequest(pub(crate) String);

/// Gives each request an id and a span, counts and logs it, and writes problem documents. Who asks is put into the span
/// by `auth`, once it is known.
pub(crate) async fn write_problems(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = match forwarding::mark_of(&request) {
        // One request has one id, wherever it is answered.
        Some(mark) => mark.request_id.clone(),
        None => {
            let id: RequestId = app.entropy.id(app.clock.now());
            id.to_string()
        }
    };
    request.extensions_mut().insert(CurrentRequest(id.clone()));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_owned();
    let started = std::time::Instant::now();
    let span = request_span(&id, &method, &route);
    let mut response = next.run(request).instrument(span.clone()).await;
    let _entered = span.enter();
    let duration = started.elapsed();
    app.telemetry.request_finished(&method, &route, response.status(), duration);
    tracing::debug!(
        status = response.status().as_u16(),
        duration_ms = duration.as_millis() as u64,
        "request finished"
    );
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        log(&failure);
        app.telemetry.counter("warren_refusals_total", &[("code", failure.code().as_str())]).increment(1);
        response = render(&failure, &id, response.headers());
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// Of the highest level, so that a filter that lets only errors through still tells to which request one belongs.
fn request_span(id: &str, method: &Method, route: &str) -> Span {
    tracing::error_span!(
        "http.request", request.id = %id, %method, route, principal.kind = Empty, principal.id = Empty
    )
}

/// An error is logged once, where it stops travelling. Which request it was, the span says.
pub(crate) fn log(failure: &Failure) {
    let cause = failure.cause.as_deref().unwrap_or("none given");
    match failure.code {
        ErrorCode::Internal | ErrorCode::DatabaseDamaged => {
            tracing::error!(cause, "a request failed inside Warren");
        }
        ErrorCode::PlatformUnavailable => {
            tracing::warn!(cause, "a request could not reach the database");
        }
        code => tracing::debug!(code = code.as_str(), cause, "a request was refused"),
    }
}

fn render(failure: &Failure, id: &str, earlier: &http::HeaderMap) -> Response {
    let problem = failure.to_problem(id);
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, [(header::CONTENT_TYPE, PROBLEM_JSON)], body).into_response();
    if let Some(allow) = earlier.get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allow.clone());
    }
    if let Some(seconds) = failure.retry_after_seconds {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(total) = failure.total_bytes
        && let Ok(value) = HeaderValue::from_str(&format!("bytes */{total}"))
    {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    if failure.code == ErrorCode::ForwardRefused {
        response.headers_mut().insert(MARK_HEADER, HeaderValue::from_static(forwarding::REFUSED));
    }
    if failure.code == ErrorCode::Unauthenticated || failure.code == ErrorCode::TokenExpired {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A handler that panicked, for the layer that catches it.
#[expect(clippy::needless_pass_by_value, reason = "the layer that calls it hands the panic over")]
pub(crate) fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    of_panic(&*panic).into_response()
}

/// A panic as a failure: the client learns that something went wrong, the log learns what.
pub(crate) fn of_panic(panic: &(dyn std::any::Any + Send)) -> Failure {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    Failure::internal(format!("panic: {message}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;

    /// What is logged, as text.
    #[derive(Debug, Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Log {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap()
        }
    }

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    // F34
    #[test]
    fn a_client_gets_the_fixed_sentence_of_the_code_and_the_log_the_cause_under_the_same_id() {
        for code in ErrorCode::ALL.iter().copied() {
            let failed = || warren_service::Error::new(code).caused_by("no route to 10.0.0.7:5432");
            let log = Log::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::DEBUG)
                .with_ansi(false)
                .with_writer(move || writer.clone())
                .finish();
            let failure = Failure::from(failed());
            tracing::subscriber::with_default(subscriber, || {
                request_span("req-7", &Method::GET, "/api/v1/things").in_scope(|| super::log(&failure));
            });
            let problem = failure.to_problem("req-7");
            assert_eq!(problem.title, code.entry().sentence, "{code:?}");
            assert_eq!((problem.code.as_str(), problem.request_id.as_str()), (code.as_str(), "req-7"));
            let told = serde_json::to_string(&problem).unwrap();
            assert!(!told.contains("10.0.0.7"), "{code:?}: the client learns the cause: {told}");
            let logged = log.text();
            assert!(logged.contains("no route to 10.0.0.7:5432"), "{code:?}: {logged}");
            assert!(logged.contains("req-7"), "{code:?}: {logged}");
        }
    }
}
