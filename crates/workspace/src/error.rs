//! Why something in a workspace failed, by what the caller can do about it.

use warren_model::{ErrorCode, PublicFailure};

use crate::WorkspacePath;

/// A failure in a workspace. `detail` is for people and may reach a client: it names workspace paths, limits and
/// programs, never host paths, environment values or file contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The request cannot be served; the workspace is fine.
    #[error("{detail}")]
    Operation { code: ErrorCode, detail: String },
    /// The workspace cannot be opened or resolved (W12). Permanent unless the provider says otherwise.
    #[error("{detail}")]
    Failed { code: ErrorCode, detail: String, transient: bool },
    /// The workspace was open and is gone; resolving it again may bring it back (W13).
    #[error("{detail}")]
    Evicted { detail: String },
}

impl Error {
    pub fn operation(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self::Operation { code, detail: detail.into() }
    }

    /// More arrives for a file than it may have.
    pub fn file_too_large(path: &WorkspacePath, limit: u64) -> Self {
        Self::operation(ErrorCode::FileTooLarge, format!("{path} would have more than {limit} bytes"))
    }

    pub fn permanent(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self::Failed { code, detail: detail.into(), transient: false }
    }

    pub fn transient(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self::Failed { code, detail: detail.into(), transient: true }
    }

    pub fn evicted(detail: impl Into<String>) -> Self {
        Self::Evicted { detail: detail.into() }
    }

    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Operation { code, .. } | Self::Failed { code, .. } => *code,
            Self::Evicted { .. } => ErrorCode::WorkspaceEvicted,
        }
    }

    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Failed { transient: true, .. })
    }

    pub const fn is_evicted(&self) -> bool {
        matches!(self, Self::Evicted { .. })
    }
}

/// The detail is made for people who use the workspace, so that it is told as it is.
impl PublicFailure for Error {
    fn code(&self) -> ErrorCode {
        self.code()
    }

    fn detail(&self) -> Option<String> {
        Some(self.to_string())
    }
}
