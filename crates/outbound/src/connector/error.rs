//! What can become of a call, told apart by what the caller can do about it: above all by whether anything was sent.

use warren_model::{DeliveryReason, ErrorCode, PublicFailure};
use warren_rules::messages::dispatch::Outcome;
use warren_rules::outbound::UrlRefusal;
use warren_rules::text::json_bounds::TooMuch;

/// Why a call is not made. Nothing was looked up beyond the name, and nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the URL {0}")]
    Url(#[from] UrlRefusal),
    #[error("the header `{0}` is not one that a caller sets, or its value is not one line of text")]
    Header(String),
    #[error("the credential belongs to another origin")]
    Credential,
    #[error("it has passed through as many Warrens as a message may")]
    Hops,
}

/// Why there is no answer, or none that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// By us, before anything was sent.
    #[error("refused: {0}")]
    Refused(#[from] Refused),
    /// The machine is there and nobody listens. Nothing was sent.
    #[error("nobody listens: {cause}")]
    NobodyListens { cause: String },
    /// No name, no way, no connection in time. Nothing was sent.
    #[error("unreachable: {cause}")]
    Unreachable { cause: String },
    /// It is not who it says it is. Nothing was sent.
    #[error("no trusted connection: {cause}")]
    Untrusted { cause: String },
    /// The request went out, at least in part, and no whole answer came back: it may have been acted upon.
    #[error("sent and not answered: {cause}")]
    NoAnswer { cause: String },
    /// There is an answer, and it is not one that we take.
    #[error("bad answer: {0}")]
    BadAnswer(#[from] BadAnswer),
}

/// What is wrong with an answer. Nothing of it is repeated here: it is the peer's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    #[error("a redirect ({0}); none is followed")]
    Redirect(u16),
    #[error("more than {0} bytes of headers")]
    HeaderBytes(usize),
    #[error("more than {0} bytes of body")]
    BodyBytes(u64),
    #[error("more than {0} bytes in one line or event")]
    LineBytes(usize),
    #[error("an encoding that was not asked for")]
    Encoded,
    #[error("another content type than {0}")]
    ContentType(&'static str),
    #[error("JSON {0}")]
    Json(#[from] TooMuch),
    #[error("not the JSON that was expected")]
    NotJson,
}

/// Why certificates cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoots {
    #[error("not PEM: {0}")]
    NoPem(String),
    #[error("a certificate in it cannot be used as a root: {0}")]
    NoRoot(String),
    #[error("there is no certificate in it")]
    Empty,
}

impl CallError {
    /// What a failed call means for the message that it carried (X11).
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::NobodyListens { .. } => Outcome::Busy { retry_after_ms: None },
            Self::Unreachable { .. } => Outcome::Gone,
            Self::Refused(_) => Outcome::Failed { reason: DeliveryReason::CallRefused },
            Self::Untrusted { .. } => Outcome::Failed { reason: DeliveryReason::Untrusted },
            Self::BadAnswer(_) => Outcome::Failed { reason: DeliveryReason::BadAnswer },
            Self::NoAnswer { .. } => Outcome::Unknown,
        }
    }

    /// Whether the peer may have seen any of the request.
    pub fn may_have_been_sent(&self) -> bool {
        match self {
            Self::NoAnswer { .. } | Self::BadAnswer(_) => true,
            Self::Refused(_)
            | Self::NobodyListens { .. }
            | Self::Unreachable { .. }
            | Self::Untrusted { .. } => false,
        }
    }
}

impl From<UrlRefusal> for CallError {
    fn from(refusal: UrlRefusal) -> Self {
        Self::Refused(Refused::Url(refusal))
    }
}

/// For whoever named the peer.
impl PublicFailure for Refused {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Url(_) | Self::Credential => ErrorCode::OutboundRefused,
            Self::Header(_) => ErrorCode::InvalidRequest,
            Self::Hops => ErrorCode::HopLimit,
        }
    }

    fn detail(&self) -> Option<String> {
        Some(match self {
            Self::Url(refusal) => format!("the URL {}", refusal.public()),
            Self::Header(_) | Self::Credential | Self::Hops => self.to_string(),
        })
    }

    fn cause(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// Every failure beyond our own refusals looks the same from outside, so that nobody can use Warren to find out which ports
/// are open behind it; the cause tells them apart (sec/A10).
impl PublicFailure for CallError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refused) => refused.code(),
            Self::NobodyListens { .. }
            | Self::Unreachable { .. }
            | Self::Untrusted { .. }
            | Self::NoAnswer { .. }
            | Self::BadAnswer(_) => ErrorCode::PeerFailed,
        }
    }

    fn detail(&self) -> Option<String> {
        match self {
            Self::Refused(refused) => refused.detail(),
            Self::NobodyListens { .. }
            | Self::Unreachable { .. }
            | Self::Untrusted { .. }
            | Self::NoAnswer { .. }
            | Self::BadAnswer(_) => None,
        }
    }

    fn cause(&self) -> Option<String> {
        Some(self.to_string())
    }
}
