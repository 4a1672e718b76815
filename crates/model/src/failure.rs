//! What a failure tells its caller, and what it keeps for the log.

use crate::ErrorCode;

/// A failure that can be answered to a client: a stable code, a sentence about this case, and apart from both the cause,
/// which only the log sees.
///
/// Each crate implements it for its own error, so that a service turns any of them into its answer without knowing the
/// crate that it came from.
pub trait PublicFailure {
    fn code(&self) -> ErrorCode;

    /// Public: what it was about.
    fn detail(&self) -> Option<String>;

    /// Internal: what happened underneath. Never sent to a client.
    fn cause(&self) -> Option<String> {
        None
    }
}

impl<E: PublicFailure + ?Sized> PublicFailure for &E {
    fn code(&self) -> ErrorCode {
        (**self).code()
    }

    fn detail(&self) -> Option<String> {
        (**self).detail()
    }

    fn cause(&self) -> Option<String> {
        (**self).cause()
    }
}
