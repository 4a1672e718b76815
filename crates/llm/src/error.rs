//! Why there is no answer, told apart by what the caller can do about it.

use std::time::Duration;

use warren_model::session::TokenUsage;

/// What the caller can do about a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// The same again, later. `after` where the provider says how much later.
    Retry { after: Option<Duration> },
    /// Another model: this one is not there, not paid for, or not for this account.
    Fallback,
    /// Another request: no model will answer this one, or this one is too long.
    Refused { is_too_long: bool },
    /// A key: none is set.
    NoKey,
    /// Another key: the provider does not take this one.
    Unauthorized,
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct ModelError {
    pub advice: Advice,
    /// For people. Holds no secret, and of what the provider said at most its own sentence.
    pub sentence: String,
    /// For the log alone.
    pub cause: Option<String>,
    /// What the provider answered with, where it answered.
    pub status: Option<u16>,
    /// What the provider had counted before the answer broke off, where it said so. It is paid all the same.
    pub usage: Option<TokenUsage>,
}

impl ModelError {
    pub fn new(advice: Advice, sentence: impl Into<String>) -> Self {
        Self { advice, sentence: sentence.into(), cause: None, status: None, usage: None }
    }

    pub fn retry(sentence: impl Into<String>) -> Self {
        Self::new(Advice::Retry { after: None }, sentence)
    }

    pub fn refused(sentence: impl Into<String>) -> Self {
        Self::new(Advice::Refused { is_too_long: false }, sentence)
    }

    /// The stream ended without its closing event.
    pub fn truncated() -> Self {
        Self::retry("the model's answer was cut off before its end")
    }

    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Whether the same call may be made again.
    pub const fn may_be_retried(&self) -> bool {
        matches!(self.advice, Advice::Retry { .. })
    }
}
