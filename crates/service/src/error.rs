//! How a service fails: a public code and detail, and apart from them the cause, which stays in the log.

use warren_model::{ErrorCode, PublicFailure};
use warren_rules::lifecycle::templates::Missing;

/// The longest detail of a failure whose parts are also listed one by one.
const MAX_DETAIL_BYTES: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: ErrorCode,
    /// Public: what it was about.
    pub detail: Option<String>,
    /// Public: variables that must be set first.
    pub missing: Vec<Missing>,
    /// Public: when to try again, where somebody said so.
    pub retry_after_seconds: Option<u32>,
    /// Internal: never sent to a client.
    cause: Option<String>,
}

impl Error {
    pub fn new(code: ErrorCode) -> Self {
        Self { code, detail: None, missing: Vec::new(), retry_after_seconds: None, cause: None }
    }

    pub fn with_detail(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::new(code) }
    }

    /// The variables that a template requires and nobody has set, all of them at once.
    pub fn of_missing(missing: Vec<Missing>) -> Self {
        let told: Vec<_> = missing.iter().map(|one| format!("{}: {}", one.path, one.name)).collect();
        let detail = warren_model::truncate_utf8(&told.join("; "), MAX_DETAIL_BYTES).to_owned();
        Self { missing, ..Self::with_detail(ErrorCode::RequiredEnvMissing, detail) }
    }

    /// With the time after which it may be otherwise.
    #[must_use]
    pub fn retry_after(self, seconds: Option<u32>) -> Self {
        Self { retry_after_seconds: seconds, ..self }
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

/// Any crate's failure that says what its caller may be told. `Error` itself does not implement the trait, so that this
/// does not meet the identity conversion.
impl<E: PublicFailure> From<E> for Error {
    fn from(failure: E) -> Self {
        Self { detail: failure.detail(), cause: failure.cause(), ..Self::new(failure.code()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // F34
    #[test]
    fn the_words_of_the_database_are_kept_from_the_caller() {
        let error = Error::from(warren_store::Error::Unavailable("no route to 10.0.0.7".into()));
        assert_eq!((error.code, &error.detail), (ErrorCode::PlatformUnavailable, &None));
        assert_eq!(error.cause(), Some("the database is not available: no route to 10.0.0.7"));
    }

    // F50
    #[test]
    fn missing_variables_are_all_named_in_one_failure() {
        let of = |path: &str, name: &str| Missing { path: path.into(), name: name.into() };
        let error = Error::of_missing(vec![of("root", "A"), of("root/leaf", "B")]);
        assert_eq!(error.code, ErrorCode::RequiredEnvMissing);
        assert_eq!(error.detail.as_deref(), Some("root: A; root/leaf: B"));
        assert_eq!(error.missing.len(), 2);
    }
}
