//! What can go wrong between us and an agent, and what that means for the message (X11).

use warren_model::DeliveryReason;
use warren_outbound::CallError;
use warren_rules::messages::dispatch::Outcome;

use crate::a2a::ErrorKind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing was sent: nobody listens, or they said "not now".
    Busy { retry_after_ms: Option<u64> },
    /// Nothing was sent, and nothing is there.
    Gone,
    /// Sent, and no whole answer came.
    Cut,
    /// The agent, or what stands before it, said no; or we may not call it.
    Refused(DeliveryReason),
    /// What came back is not A2A.
    BadAnswer,
    /// Nobody on our own side listens any more.
    Unheard,
}

impl Trouble {
    /// What an error of the protocol means.
    pub(super) fn of(kind: Option<ErrorKind>, is_busy: bool) -> Self {
        if is_busy {
            return Self::Busy { retry_after_ms: None };
        }
        Self::Refused(match kind {
            Some(ErrorKind::TaskNotFound) => DeliveryReason::TaskUnknown,
            Some(ErrorKind::TaskNotCancelable) => DeliveryReason::NotCancelable,
            Some(ErrorKind::VersionNotSupported) => DeliveryReason::VersionNotSupported,
            Some(ErrorKind::ContentTypeNotSupported) => DeliveryReason::ContentTypeNotSupported,
            Some(ErrorKind::UnsupportedOperation | ErrorKind::MethodNotFound) => DeliveryReason::NotSupported,
            Some(ErrorKind::InvalidParams | ErrorKind::InvalidRequest | ErrorKind::Parse) => {
                DeliveryReason::MessageRefused
            }
            Some(_) | None => DeliveryReason::AgentError,
        })
    }

    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Busy { retry_after_ms } => Outcome::Busy { retry_after_ms },
            Self::Gone => Outcome::Gone,
            Self::Cut | Self::Unheard => Outcome::Unknown,
            Self::Refused(reason) => Outcome::Failed { reason },
            Self::BadAnswer => Outcome::Failed { reason: DeliveryReason::BadAnswer },
        }
    }

    /// Whether the same question may be answered a moment later.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Gone | Self::Cut => true,
            Self::Refused(_) | Self::BadAnswer | Self::Unheard => false,
        }
    }
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        match error.outcome() {
            Outcome::Busy { retry_after_ms } => Self::Busy { retry_after_ms },
            Outcome::Gone => Self::Gone,
            Outcome::Unknown => Self::Cut,
            Outcome::Failed { reason } => Self::Refused(reason),
            // Not of a call that failed.
            Outcome::Answered => Self::BadAnswer,
        }
    }
}
