//! Why a call failed, by what the caller can do about it.

use reqwest::Url;

use crate::Problem;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{url}` is not the address of a server: {reason}")]
    InvalidUrl { url: String, reason: String },
    /// It has a character that no header may have.
    #[error("the token is not a Warren token")]
    InvalidToken,
    /// A name that no path can hold, or a value that no header can. Nothing was sent.
    #[error(
        "a name or value cannot be part of a request: it is empty, `.` or `..`, or has a control character"
    )]
    Unsendable,
    /// The server said no, and why. Match on `code`.
    #[error("{}", .0.title)]
    Problem(Box<Problem>),
    /// Nobody listens, or the name does not resolve. The request was not seen by the server.
    #[error("the server at {url} does not answer")]
    Unreachable { url: Url, source: reqwest::Error },
    /// The connection was there and broke off, or nothing came in time. The request may have had its effect.
    #[error("the connection to the server broke off")]
    Interrupted { source: reqwest::Error },
    /// The same for a terminal's connection.
    #[error("the connection to the server broke off")]
    Disconnected { source: Box<dyn std::error::Error + Send + Sync> },
    /// A stream that should show signs of life was silent for too long.
    #[error("the server was silent for too long")]
    Silent,
    /// What answered is not Warren, or a version too far away.
    #[error("the server's answer is not one of Warren's: {detail}")]
    BadAnswer { detail: String },
}

impl Error {
    /// The stable code, where the server gave one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => Some(&problem.code),
            Self::InvalidUrl { .. }
            | Self::InvalidToken
            | Self::Unsendable
            | Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Disconnected { .. }
            | Self::Silent
            | Self::BadAnswer { .. } => None,
        }
    }

    /// Whether the same call can succeed later without anybody changing it.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Problem(problem) => matches!(problem.status, 429 | 503),
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Disconnected { .. }
            | Self::Silent => true,
            Self::InvalidUrl { .. } | Self::InvalidToken | Self::Unsendable | Self::BadAnswer { .. } => false,
        }
    }

    pub(super) fn from_send(base: &Url, error: reqwest::Error) -> Self {
        let source = error.without_url();
        if source.is_builder() {
            Self::Unsendable
        } else if source.is_connect() {
            Self::Unreachable { url: base.clone(), source }
        } else {
            Self::Interrupted { source }
        }
    }

    pub(super) fn from_body(error: reqwest::Error) -> Self {
        Self::Interrupted { source: error.without_url() }
    }
}
