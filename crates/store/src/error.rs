//! Why a transaction failed, by what the caller can do about it.

use warren_model::{ErrorCode, PublicFailure};

/// A failure of the store. Absence is not one: look-ups answer `Ok(None)`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The row was changed since it was read: read again and decide anew.
    #[error("the row was changed by somebody else since it was read")]
    Conflict,
    /// A row with this key is already there.
    #[error("a row with this key is already there")]
    AlreadyExists,
    /// The lease is no longer held under this fence: stop, somebody else owns the work.
    #[error("the lease is no longer held")]
    LeaseLost,
    /// Other rows still need this one: they have to go first.
    #[error("the row is still needed by others")]
    InUse,
    /// More than is kept in one place. The database was not asked.
    #[error("{bytes} bytes are more than the {limit} that are kept")]
    TooLarge { bytes: usize, limit: usize },
    /// The database forbids it, such as a way out of `removed`.
    #[error("the database refused the change: {0}")]
    Refused(String),
    /// No space left. Nothing was written; reads still work.
    #[error("the database has no space left")]
    Full,
    /// The database cannot be reached, or is closing. Nothing was acknowledged.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// A stored value cannot be read back: a defect, or somebody edited the database.
    #[error("a stored value cannot be read: {0}")]
    Corrupt(String),
    /// The database was written by a newer Warren.
    #[error("the database has schema {found}, this Warren knows up to {known}")]
    Newer { found: u32, known: u32 },
    /// An applied migration is not the one in this binary.
    #[error("migration {version} was applied in another form than this Warren has it")]
    ChecksumMismatch { version: u32 },
}

/// What a caller is told. The words of the database stay in the log.
impl PublicFailure for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Conflict | Self::AlreadyExists | Self::LeaseLost => ErrorCode::VersionConflict,
            Self::Refused(_) | Self::InUse => ErrorCode::TransitionRefused,
            Self::TooLarge { .. } => ErrorCode::PayloadTooLarge,
            Self::Full => ErrorCode::StorageFull,
            Self::Unavailable(_) => ErrorCode::PlatformUnavailable,
            Self::Newer { .. } => ErrorCode::DatabaseNewer,
            Self::Corrupt(_) | Self::ChecksumMismatch { .. } => ErrorCode::DatabaseDamaged,
        }
    }

    fn detail(&self) -> Option<String> {
        None
    }

    fn cause(&self) -> Option<String> {
        Some(self.to_string())
    }
}
