//! Work that somebody asked a workspace for, and the messages on their way to it.
//!
//! ```text
//!   task      submitted ─▶ working ─▶ completed | failed | cancelled | rejected
//!                 ▲            │ ▲
//!                 └── message ─┴─┴─ input_required | auth_required          (one turn is one delivery)
//!
//!   delivery  queued ─▶ claimed ─▶ ended: answered | failed | expired | cancelled
//!                ▲          │
//!                └── busy, gone, unknown (and the runtime de-duplicates)
//! ```

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::text_enum::text_enum;
use crate::{Artifact, DeliveryId, Message, OrgId, Principal, TaskId, Timestamp, WorkspaceId};

text_enum! {
    /// How a task is.
    TaskState {
        /// Accepted; nobody works on it yet.
        Submitted = "submitted",
        Working = "working",
        /// The agent waits for another message.
        InputRequired = "input_required",
        /// The agent waits for a credential.
        AuthRequired = "auth_required",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
        /// The agent would not take it.
        Rejected = "rejected",
    }
}

impl TaskState {
    /// Nothing more can happen to it.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::Rejected => true,
            Self::Submitted | Self::Working | Self::InputRequired | Self::AuthRequired => false,
        }
    }

    /// The agent has stopped until somebody says something.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// Through whom a task came, so that work cannot go round in circles (X22).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskOrigin {
    /// The workspaces whose work led to this task, the first one first.
    pub chain: Vec<WorkspaceId>,
    /// The task of the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: TaskId,
    pub org_id: OrgId,
    /// Who is asked.
    pub workspace_id: WorkspaceId,
    /// Groups tasks that belong together; made by Warren unless the sender names one.
    pub context_id: String,
    /// Who asked (X4).
    pub author: Principal,
    pub state: TaskState,
    /// What the agent said last about the state.
    pub status_message: Option<Message>,
    /// What was said, in order.
    pub history: Vec<Message>,
    pub artifacts: Vec<Artifact>,
    pub metadata: Map<String, Value>,
    pub origin: TaskOrigin,
    /// The runtime's own name for it, where the runtime keeps tasks itself.
    pub remote_id: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Raised by every write.
    pub version: u64,
}

impl Task {
    /// One that nobody works on yet, and about which nothing was said.
    pub fn submitted(
        id: TaskId,
        org_id: OrgId,
        workspace_id: WorkspaceId,
        context_id: impl Into<String>,
        author: Principal,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            org_id,
            workspace_id,
            context_id: context_id.into(),
            author,
            state: TaskState::Submitted,
            status_message: None,
            history: Vec::new(),
            artifacts: Vec::new(),
            metadata: Map::new(),
            origin: TaskOrigin::default(),
            remote_id: None,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }
}

text_enum! {
    /// Where a message is on its way.
    DeliveryState {
        Queued = "queued",
        /// Somebody holds a lease on it and speaks with the runtime.
        Claimed = "claimed",
        Ended = "ended",
    }
}

text_enum! {
    /// How a delivery ended: exactly one of them (X15).
    DeliveryEnd {
        /// The agent has it and answered, or stopped for more input.
        Answered = "answered",
        Failed = "failed",
        Expired = "expired",
        Cancelled = "cancelled",
    }
}

text_enum! {
    /// Why a delivery ended, or was put back.
    DeliveryReason {
        /// The agent said so, or nobody took the connection.
        Busy = "busy",
        /// The box behind the agent is dead.
        Gone = "gone",
        /// The agent has it, and is asked how it stands.
        Resumed = "resumed",
        /// It was sent, and no answer came.
        NoAnswer = "no_answer",
        /// Whoever held it is not heard of any more.
        LeaseLost = "lease_lost",
        /// Whoever held it gave it back before anything was sent.
        GivenBack = "given_back",
        /// The work was silent for too long (X10).
        NoProgress = "no_progress",
        /// The work took longer than it may (X10).
        DeadlinePassed = "deadline_passed",
        /// It was not delivered in time.
        Expired = "expired",
        /// Somebody did not want it any more.
        Cancelled = "cancelled",
        /// The workspace was removed before its agent had done the work.
        WorkspaceRemoved = "workspace_removed",
        /// The answer is more than a task can hold.
        AnswerTooLarge = "answer_too_large",
        /// The agent says that it failed.
        Failed = "failed",
        /// The agent did not accept Warren's credential.
        Unauthorized = "unauthorized",
        /// The agent does not let Warren do this.
        Forbidden = "forbidden",
        /// Warren has no way to call this agent.
        CannotBeCalled = "cannot_be_called",
        /// Warren's own rules forbid the call (X6).
        CallRefused = "call_refused",
        /// The agent's certificate is not trusted.
        Untrusted = "untrusted",
        /// What came back is not A2A.
        BadAnswer = "bad_answer",
        /// The agent does not know the task.
        TaskUnknown = "task_unknown",
        /// The agent does not stop the work.
        NotCancelable = "not_cancelable",
        /// The agent speaks another version of the protocol.
        VersionNotSupported = "version_not_supported",
        /// The agent does not take parts of this type.
        ContentTypeNotSupported = "content_type_not_supported",
        /// The agent does not do this at all.
        NotSupported = "not_supported",
        /// The agent says that the message is wrong.
        MessageRefused = "message_refused",
        /// The agent answered with an error.
        AgentError = "agent_error",
        /// A newer Warren wrote a word that this one does not know.
        Unrecognized = "unrecognized",
    }
}

impl DeliveryReason {
    /// Of a word that was stored, by this or another version.
    pub fn read(word: &str) -> Self {
        Self::parse(word).unwrap_or(Self::Unrecognized)
    }
}

/// One message on its way to a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub id: DeliveryId,
    pub org_id: OrgId,
    pub workspace_id: WorkspaceId,
    pub task_id: TaskId,
    pub author: Principal,
    pub message: Message,
    /// Higher goes first; 0 is the default.
    pub priority: i32,
    /// The sender's place among the senders: one who sends much waits behind one who sends little (X14).
    pub turn: u64,
    pub state: DeliveryState,
    pub end: Option<DeliveryEnd>,
    /// Why it ended or was put back.
    pub reason: Option<DeliveryReason>,
    /// How often it was claimed. Whoever writes about a claim names the attempt it was: an old one is refused.
    pub attempts: u32,
    /// Not tried before this.
    pub not_before: Timestamp,
    /// Not delivered by then: expired.
    pub expires_at: Timestamp,
    /// How long the work may show no progress.
    pub idle_timeout_ms: u64,
    /// The end of all patience for the work itself; agent-to-agent calls always have one (X10).
    pub deadline_at: Option<Timestamp>,
    /// Who holds it.
    pub owner: Option<String>,
    /// The lease ends here unless it is renewed.
    pub lease_until: Option<Timestamp>,
    /// The runtime has said something about it: it has the message.
    pub has_begun: bool,
    /// When its work last moved.
    pub progress_at: Option<Timestamp>,
    /// When something must be done about it if nothing happens; made by `rules` with each write.
    pub due_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// What is told to those who follow a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskUpdate {
    /// The state changed, or the agent said something about it.
    Status { state: TaskState, message: Option<Message>, at: Timestamp },
    /// An artifact, or a piece of one.
    Artifact { artifact: Artifact, is_append: bool, is_last: bool },
    /// The agent answered with a message and keeps no task.
    Message(Message),
    /// What the agent notes about the task as a whole; each name by itself takes the place of what was there.
    Metadata(Map<String, Value>),
}
