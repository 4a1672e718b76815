//! Failures of the fleet: a public code and detail, and apart from them the cause, which stays in the log.

use warren_model::ErrorCode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: ErrorCode,
    /// Public: what it was about.
    pub detail: Option<String>,
    /// Internal: never sent to a client.
    cause: Option<String>,
}

impl Error {
    pub fn new(code: ErrorCode) -> Self {
        Self { code, detail: None, cause: None }
    }

    pub fn with_detail(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: Some(detail.into()), cause: None }
    }

    /// What happened underneath, for the log.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code.as_str())?;
        for part in [&self.detail, &self.cause].into_iter().flatten() {
            write!(f, ": {part}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<warren_store::Error> for Error {
    fn from(error: warren_store::Error) -> Self {
        use warren_store::Error as Store;
        let code = match &error {
            Store::Conflict | Store::AlreadyExists | Store::LeaseLost => ErrorCode::VersionConflict,
            Store::Refused(_) => ErrorCode::TransitionRefused,
            Store::Full => ErrorCode::StorageFull,
            Store::Unavailable(_) => ErrorCode::PlatformUnavailable,
            Store::Newer { .. } => ErrorCode::DatabaseNewer,
            Store::Corrupt(_) | Store::ChecksumMismatch { .. } => ErrorCode::DatabaseDamaged,
        };
        Self { code, detail: None, cause: Some(error.to_string()) }
    }
}

impl From<warren_workspace::Error> for Error {
    fn from(error: warren_workspace::Error) -> Self {
        Self::with_detail(error.code(), error.to_string())
    }
}
