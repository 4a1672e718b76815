//! What a sender says, and what they are told when it is accepted.

use serde_json::Map;
use warren_model::{
    ChatMessage, DeliveryId, ErrorCode, Message, OrgId, Principal, Task, TaskId, Timestamp, WorkspaceId,
};
use warren_rules::messages::tasks::InvalidMessage;
use warren_service::{Error, Identity};

use super::FileView;

/// Who speaks, when it is not a caller with a token: a schedule, a channel, a part of Warren.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub principal: Principal,
    pub org_id: OrgId,
}

impl Sender {
    /// A caller with a token.
    pub(super) fn of(who: &Identity) -> Self {
        Self { principal: who.principal.clone(), org_id: who.token.org_id }
    }
}

/// A message to a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    pub workspace_id: WorkspaceId,
    pub message: Message,
    /// Groups tasks; absent: a new group, or the task's own.
    pub context_id: Option<String>,
    /// Another message to work that waits for one; absent: new work.
    pub task_id: Option<TaskId>,
    /// Higher goes first.
    pub priority: i32,
    /// The same key of the same sender is the same message (X16).
    pub idempotency_key: Option<String>,
    /// The end of all patience for the work.
    pub deadline_at: Option<Timestamp>,
    /// Not delivered by then: expired. Absent: the usual lifetime.
    pub expires_at: Option<Timestamp>,
    pub metadata: Map<String, serde_json::Value>,
}

impl NewMessage {
    pub fn new(workspace_id: WorkspaceId, message: Message) -> Self {
        Self {
            workspace_id,
            message,
            context_id: None,
            task_id: None,
            priority: 0,
            idempotency_key: None,
            deadline_at: None,
            expires_at: None,
            metadata: Map::new(),
        }
    }
}

/// Priorities that callers may name.
pub const PRIORITIES: std::ops::RangeInclusive<i32> = -100..=100;
const MAX_KEY_BYTES: usize = 255;

/// A message that was accepted: from here on it ends exactly once.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    pub task: Task,
    pub delivery_id: DeliveryId,
    /// How many are before it; absent: it is on its way.
    pub position: Option<u64>,
    /// It was accepted before, under the same key.
    pub is_repeat: bool,
    /// As it stands in the conversation that its context is, if it is one (X30).
    pub chat_message: Option<ChatMessage>,
}

impl Accepted {
    /// One that was accepted before may have been answered since.
    pub(super) fn seen_with(self, view: FileView) -> Self {
        Self { task: view.task(self.task), ..self }
    }
}

pub(crate) fn check_key(key: Option<&str>) -> Result<(), Error> {
    if key.is_none_or(|key| (1..=MAX_KEY_BYTES).contains(&key.len())) {
        return Ok(());
    }
    let detail = format!("Idempotency-Key: expected 1 to {MAX_KEY_BYTES} bytes");
    Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
}

pub(crate) fn invalid_message(problem: &InvalidMessage) -> Error {
    let code = match problem {
        InvalidMessage::TooLarge { .. } => ErrorCode::PayloadTooLarge,
        InvalidMessage::Id
        | InvalidMessage::ContextId
        | InvalidMessage::NoParts
        | InvalidMessage::SaysNothing
        | InvalidMessage::TooManyParts
        | InvalidMessage::PartName(_) => ErrorCode::InvalidMessage,
    };
    Error::with_detail(code, problem.to_string())
}

/// Names that only Warren puts into metadata: what a sender writes there is not passed on (X4).
pub const OWN_NAMESPACE: &str = "warren/";

pub(super) fn strip_own_names(metadata: &mut Map<String, serde_json::Value>) {
    metadata.retain(|name, _| !name.starts_with(OWN_NAMESPACE));
}
