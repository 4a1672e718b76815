//! Messages, tasks, the queue, delegations and peers.

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Status;

/// Which side speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    #[default]
    User,
    Agent,
}

/// One part of a message: exactly one of `text`, `raw`, `url` and `data`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagePart {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Bytes, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

impl MessagePart {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }
}

/// One message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskMessage {
    /// Made by who sends it: the same id again is the same message. Absent: Warren makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub id: Option<String>,
    #[serde(default)]
    pub role: MessageRole,
    #[schema(min_items = 1, max_items = 100)]
    pub parts: Vec<MessagePart>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

/// Something that work produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskArtifact {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub parts: Vec<MessagePart>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

/// How a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Submitted,
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Cancelled,
    Rejected,
}

/// Who said or asked something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Author {
    /// `user`, `workspace`, `schedule`, `channel` or `system`.
    pub kind: String,
    pub id: String,
    /// What a person is called, where the answer looks it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A message to a workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    pub message: TaskMessage,
    /// Groups tasks that belong together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub context_id: Option<String>,
    /// A task that waits for this message; absent: a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Higher goes first.
    #[serde(default)]
    #[schema(minimum = -100, maximum = 100)]
    pub priority: i32,
    /// Not delivered after so long: expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub expires_in_ms: Option<u64>,
    /// The end of all patience for the work itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub timeout_ms: Option<u64>,
    /// Waits so long for the work to end, or to stop for input; 0: not at all.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub wait_ms: u64,
}

/// A message that was accepted. It ends exactly once, through any crash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AcceptedMessage {
    /// It waits until the workspace is free.
    pub queued: bool,
    /// Its row in the queue.
    pub queue_id: String,
    /// How many are before it; absent unless it waits.
    pub position: Option<u64>,
    /// It was accepted before, under the same key or message id.
    pub is_repeat: bool,
    pub task: Task,
}

/// Work that somebody asked a workspace for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    pub id: String,
    pub workspace_id: String,
    pub context_id: String,
    pub author: Author,
    pub state: TaskState,
    /// What the agent said last about the state.
    pub status_message: Option<TaskMessage>,
    pub history: Vec<TaskMessage>,
    pub artifacts: Vec<TaskArtifact>,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskPage {
    pub items: Vec<Task>,
    pub next_cursor: Option<String>,
    /// How many there are in all, with the same filters.
    pub total: u64,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// Where a message is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    Queued,
    Claimed,
    Ended,
}

/// One message on its way to a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueuedMessage {
    pub id: String,
    pub task_id: String,
    pub author: Author,
    pub message: TaskMessage,
    pub priority: i32,
    pub state: DeliveryState,
    /// How many are before it, as the queue stands now; absent unless it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// `answered`, `failed`, `expired` or `cancelled`, once it has ended.
    pub end: Option<String>,
    /// Why it ended or was put back, such as `busy` or `lease_lost`.
    pub reason: Option<String>,
    pub attempts: u32,
    pub not_before: String,
    pub expires_at: String,
    pub lease_until: Option<String>,
    pub created_at: String,
    pub ended_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueuePage {
    pub items: Vec<QueuedMessage>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// What was taken out of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClearedQueue {
    pub messages: u64,
}

/// A runtime asks for its next message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimMessage {
    /// Waits so long for one to come.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub wait_ms: u64,
    /// The claim ends after so long without a word; 30000 unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000, maximum = 3600000)]
    pub lease_ms: Option<u64>,
}

/// A message that a runtime has claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClaimedMessage {
    pub queue_id: String,
    /// To be named with progress and answer; an old one is refused.
    pub attempt: u32,
    pub lease_until: String,
    pub author: Author,
    pub message: TaskMessage,
    pub task: Task,
}

/// What came of asking; without a message, none came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Claim {
    pub claimed: Option<ClaimedMessage>,
}

/// A new artifact, or a piece of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactUpdate {
    pub artifact: TaskArtifact,
    /// Its parts follow those that are there.
    #[serde(default)]
    pub append: bool,
    #[serde(default)]
    pub last: bool,
}

/// How work goes on. Without anything in it the claim is renewed, and the work has not moved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportProgress {
    pub attempt: u32,
    /// What the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<TaskMessage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub artifacts: Vec<ArtifactUpdate>,
    /// The work has moved, though there is nothing to say about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProgressTaken {
    pub lease_until: Option<String>,
}

/// How a runtime ends a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The work ended, or stopped for input, in the state that is told.
    Answered,
    /// It has no time: the message is put back.
    Busy,
    /// It cannot be done.
    Failed,
}

/// The end of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerMessage {
    pub attempt: u32,
    pub outcome: AnswerOutcome,
    /// The task's state with an answer; `completed` unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<TaskMessage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub artifacts: Vec<ArtifactUpdate>,
    /// With `busy`: not to be tried before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// How a delegation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationState {
    Pending,
    Queued,
    Dispatched,
    Completed,
    Failed,
    Cancelled,
    Expired,
}

/// Work for another workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// Who is to do it: the id or the name of a peer.
    pub to: String,
    pub message: TaskMessage,
    /// The task out of which it is handed on; absent: the one in hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<String>,
    /// The result comes as a message; otherwise it is asked for.
    #[serde(default)]
    pub tell: bool,
    #[serde(default)]
    #[schema(minimum = -100, maximum = 100)]
    pub priority: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub expires_in_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub timeout_ms: Option<u64>,
    /// Waits so long for the result.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub wait_ms: u64,
}

/// Work that one workspace handed to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Delegation {
    pub id: String,
    pub from: String,
    pub to: String,
    pub task_id: String,
    pub parent_task: Option<String>,
    pub state: DelegationState,
    /// What came of it, once it has ended.
    pub result: Vec<MessagePart>,
    /// How many are before it, if it waits; only in the answer to its creation.
    pub position: Option<u64>,
    pub created_at: String,
    pub updated_at: String,
    pub ended_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DelegationPage {
    pub items: Vec<Delegation>,
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// Somebody a workspace may talk to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Peer {
    pub id: String,
    pub name: String,
    pub role: Option<String>,
    pub status: Status,
    pub parent_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeerList {
    pub items: Vec<Peer>,
}

/// Whom a workspace talks to unless it says more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerCircle {
    Nobody,
    /// Siblings, ancestors and descendants.
    #[default]
    Family,
    /// Everybody of its org.
    Org,
}

/// Whom a workspace may talk to. Both sides must agree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerPolicy {
    #[serde(default)]
    pub circle: PeerCircle,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 1000)]
    pub allow: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 1000)]
    pub deny: Vec<String>,
}
