//! Why a request by A2A failed: before the protocol begins, or within it.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use warren_exchange::a2a::{ErrorKind, ProtocolError};
use warren_model::ErrorCode;

use crate::problem::Failure;

#[derive(Debug)]
pub(super) enum A2aError {
    /// Answered as anywhere in the API.
    Outside(Failure),
    /// Answered in the words of the protocol.
    Within(ProtocolError),
}

impl From<Failure> for A2aError {
    fn from(failure: Failure) -> Self {
        Self::Outside(failure)
    }
}

impl From<ProtocolError> for A2aError {
    fn from(error: ProtocolError) -> Self {
        Self::Within(error)
    }
}

impl From<warren_service::Error> for A2aError {
    fn from(error: warren_service::Error) -> Self {
        match error.code {
            ErrorCode::Unauthenticated
            | ErrorCode::TokenExpired
            | ErrorCode::Forbidden
            | ErrorCode::WorkspaceNotFound => Self::Outside(error.into()),
            _ => Self::Within(error.into()),
        }
    }
}

/// As the HTTP+JSON binding spells it.
impl IntoResponse for A2aError {
    fn into_response(self) -> Response {
        match self {
            Self::Outside(failure) => failure.into_response(),
            Self::Within(error) => {
                let response = json(error.kind.http_status(), "application/json", &error.to_rest());
                with_retry_after(response, &error)
            }
        }
    }
}

pub(super) fn json(status: u16, media_type: &'static str, body: &impl serde::Serialize) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::to_vec(body).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

pub(super) fn with_retry_after(mut response: Response, error: &ProtocolError) -> Response {
    if let Some(seconds) = error.retry_after_seconds {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

pub(super) fn unsupported(message: &str) -> A2aError {
    ProtocolError::new(ErrorKind::UnsupportedOperation, message).into()
}
