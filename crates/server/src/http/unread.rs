//! Bodies that nobody reads. A request may be refused before its body is looked at, or before it has come; what follows it
//! on the connection cannot be found then, so that the connection is closed. A client that is not told would send its next
//! request into the void.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, header};
use hyper::body::{Frame, SizeHint};

/// Says that the connection ends with this answer where the request was refused and not read to its end.
pub(crate) async fn close_after_unread_body(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let is_read = Arc::new(AtomicBool::new(false));
    let request = request.map(|inner| Body::new(ReadToEnd { inner, is_read: Arc::clone(&is_read) }));
    let mut response = next.run(request).await;
    let is_refused = response.status().is_client_error() || response.status().is_server_error();
    if is_refused && !is_read.load(Ordering::Relaxed) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Notes that it was read to its end.
#[derive(Debug)]
struct ReadToEnd {
    inner: Body,
    is_read: Arc<AtomicBool>,
}

impl HttpBody for ReadToEnd {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        // Whoever knows the length does not ask for what comes after the last piece.
        if matches!(frame, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.is_read.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
