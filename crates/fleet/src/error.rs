//! Failures of the fleet: a public code and detail, and apart from them the cause, which stays in the log.

use warren_model::ErrorCode;
use warren_rules::lifecycle::templates::Missing;

/// Of a list that is also told field by field.
const MAX_DETAIL_BYTES: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: ErrorCode,
    /// Public: what it was about.
    pub detail: Option<String>,
    /// Public: variables that must be set first.
    pub missing: Vec<Missing>,
    /// Internal: never sent to a client.
    cause: Option<String>,
}

impl Error {
    pub fn new(code: ErrorCode) -> Self {
        Self { code, detail: None, missing: Vec::new(), cause: None }
    }

    pub fn with_detail(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::new(code) }
    }

    /// Variables that a template requires and nobody has set: all of them at once.
    pub(crate) fn of_missing(missing: Vec<Missing>) -> Self {
        let told: Vec<_> = missing.iter().map(|one| format!("{}: {}", one.path, one.name)).collect();
        let detail = warren_model::truncate_utf8(&told.join("; "), MAX_DETAIL_BYTES).to_owned();
        Self { missing, ..Self::with_detail(ErrorCode::RequiredEnvMissing, detail) }
    }

    /// With what happened underneath, for the log alone.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..self }
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
        Self { cause: Some(error.to_string()), ..Self::new(code) }
    }
}

impl From<warren_workspace::Error> for Error {
    fn from(error: warren_workspace::Error) -> Self {
        Self::with_detail(error.code(), error.to_string())
    }
}
