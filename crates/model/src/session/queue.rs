//! Messages to a session: each is delivered in one step, or dropped for one reason (A34).

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;
use crate::{Part, Principal, SessionId, SessionMessageId, Timestamp};

text_enum! {
    /// What becomes of a message that comes while a run is under way.
    BusyMode {
        /// It waits for the end of the run and begins the next one.
        Queue = "queue",
        /// The model sees it with the next step of this run.
        Steer = "steer",
        /// The run is cut short, and goes on with this message.
        Interrupt = "interrupt",
        /// It is refused.
        Reject = "reject",
    }
}

text_enum! {
    /// Why a message was never shown to the model.
    DropReason {
        /// Whoever sent it took it back.
        Cancelled = "cancelled",
        /// The run was aborted.
        Aborted = "aborted",
        /// The session went back to an earlier step.
        Rewound = "rewound",
    }
}

/// What became of a message. The last two are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum QueuedState {
    Queued,
    /// The model saw it with this step.
    Delivered {
        step: u32,
    },
    Dropped {
        reason: DropReason,
    },
}

/// One message to a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionMessage {
    /// Later ones sort later.
    pub id: SessionMessageId,
    pub session_id: SessionId,
    pub author: Principal,
    pub parts: Vec<Part>,
    pub mode: BusyMode,
    pub state: QueuedState,
    /// The sender's own name for it, such as the id that a chat client gave it.
    pub client_id: Option<String>,
    pub created_at: Timestamp,
}
