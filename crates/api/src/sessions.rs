//! Sessions with agents: requests and answers. What happens in a session is in `session_steps`.

use std::collections::BTreeMap;

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Approval, MessagePart, Principal, SessionCall};

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// Nothing was said yet, or it has work that nobody has taken up.
    Idle,
    /// Somebody works on it.
    Running,
    /// It waits for something outside; `suspension` says for what.
    Suspended,
    Completed,
    Failed,
    /// Somebody stopped it; it can be resumed.
    Interrupted,
}

/// What a suspended session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuspendedBy {
    Approval,
    ClientTool,
    Input,
    Timer,
    Budget,
    Stuck,
    /// Its workspace is paused or asleep; it goes on with the workspace.
    Workspace,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionSuspension {
    pub by: SuspendedBy,
    /// For people.
    pub reason: String,
}

/// Why its latest run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionFailure {
    /// `model`, `model_refused`, `no_model`, `aborted`, `agent` or `internal`.
    pub kind: String,
    /// For people.
    pub message: String,
}

/// What a run may use at most; absent: no limit of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunLimits {
    /// Millionths of the currency's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
}

/// What was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunUsage {
    /// Millionths of the currency's unit.
    pub cost_micros: u64,
    pub tokens: u64,
    pub steps: u32,
    pub tool_calls: u32,
    /// Time in which it worked; waiting for people does not count.
    pub active_ms: u64,
    /// How long the conversation is for the model, as far as is known.
    pub context_tokens: u64,
}

/// Somebody asked for the run to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionStop {
    /// `interrupt` or `abort`.
    pub kind: String,
    /// Tools that still run then are cut.
    pub deadline: String,
    pub by: Principal,
}

/// Where a session was branched from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BranchPoint {
    #[schema(format = "uuid")]
    pub session_id: String,
    pub step: u32,
}

/// A durable conversation with an agent in a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    #[schema(format = "uuid")]
    pub id: String,
    #[schema(format = "uuid")]
    pub workspace_id: String,
    /// Its own, or its id.
    pub name: String,
    pub title: String,
    pub agent: String,
    /// The version of the agent that it keeps until it is upgraded.
    pub agent_hash: String,
    pub status: SessionStatus,
    /// Only while it is suspended.
    pub suspension: Option<SessionSuspension>,
    /// Only if its latest run failed.
    pub failure: Option<SessionFailure>,
    /// Why the model stopped, if its latest run is completed.
    pub finish: Option<String>,
    /// The number of its latest run, from 1; 0 before the first.
    pub run: u32,
    /// The latest step that the model is shown; 0 before the first.
    pub last_step: u32,
    /// The step that is under way.
    pub open_step: Option<u32>,
    /// Raised by whatever makes earlier decisions void.
    pub generation: u64,
    /// What the agent keeps for itself.
    pub state: BTreeMap<String, Value>,
    pub stop: Option<SessionStop>,
    pub limits: RunLimits,
    /// Of the latest run.
    pub usage: RunUsage,
    /// Of all runs.
    pub total_usage: RunUsage,
    /// The sequence of the latest entry of its stream. In a list, pieces of an answer that is under way may stand behind it.
    pub latest_sequence: u64,
    pub branched_from: Option<BranchPoint>,
    pub created_by: Principal,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionPage {
    pub items: Vec<Session>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A session to begin. It waits for its first message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// Where its tools work, and whose budget it spends.
    #[schema(format = "uuid")]
    pub workspace_id: String,
    /// The name of a stored agent.
    pub agent: String,
    /// 1 to 128 of `A-Z a-z 0-9 . _ : -`. Absent: its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128)]
    pub name: Option<String>,
    /// For people. Absent: the beginning of the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub title: Option<String>,
    /// Fields of the state that begin with something else than the agent says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub initial_state: BTreeMap<String, Value>,
}

/// What becomes of a message that comes while a run is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusyMode {
    /// It waits for the end of the run and begins the next one.
    Queue,
    /// The model sees it with the next step of this run.
    Steer,
    /// The run is cut short, and goes on with this message.
    Interrupt,
    /// It is refused.
    Reject,
}

/// A message to a session: either `text` or `parts`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SendSessionMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<MessagePart>>,
    /// Absent: as the agent says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<BusyMode>,
    /// The sender's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub client_id: Option<String>,
}

/// What became of a message. The last two are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionMessageState {
    Queued,
    /// The model saw it with `step`.
    Delivered,
    /// The model never saw it; `dropped_because` says why.
    Dropped,
}

/// A message to a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionMessage {
    #[schema(format = "uuid")]
    pub id: String,
    #[schema(format = "uuid")]
    pub session_id: String,
    pub author: Principal,
    pub parts: Vec<MessagePart>,
    pub mode: BusyMode,
    pub state: SessionMessageState,
    pub step: Option<u32>,
    /// `cancelled`, `aborted` or `rewound`.
    pub dropped_because: Option<String>,
    pub client_id: Option<String>,
    pub created_at: String,
}

/// What waits for somebody outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PendingWork {
    pub approvals: Vec<Approval>,
    /// Calls that the caller runs, and questions to the user: answered with a tool result.
    pub calls: Vec<SessionCall>,
    pub messages: Vec<SessionMessage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallDecision {
    Approve,
    Deny,
}

/// A person's decision about a tool call of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideCall {
    #[schema(format = "uuid")]
    pub approval_id: String,
    pub decision: CallDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Other arguments than the model proposed; only with `approve`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::unique_keys::nullable"
    )]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Value>,
    /// Allow such calls from now on; only with `approve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<crate::RememberDecision>,
}

/// What a tool of the caller gave, or a user answered: either `output` or `error`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitToolResult {
    #[schema(min_length = 1, max_length = 256)]
    pub call_id: String,
    /// Any JSON, `null` included.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::unique_keys::optional"
    )]
    pub output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A run that is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRun {
    /// The number of the run that is meant. If it is not under way, the answer is 409.
    pub run: u32,
    /// How long calls that run may still take; 10 unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 600)]
    pub within_seconds: Option<u32>,
}

/// How a session goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResumeSession {
    /// New limits of the run. Only people set them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<RunLimits>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RewindSession {
    /// The last step that stays; 0 is the beginning.
    pub step: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BranchSession {
    /// The last step that the new session has; absent: the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Of the new session. Absent: its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128)]
    pub name: Option<String>,
}

/// A session with the version of its agent that it had before, and what is different now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpgradedSession {
    pub session: Session,
    pub previous_agent_hash: String,
    /// Empty if it had the latest version.
    #[serde(default)]
    #[schema(required = true)]
    pub changes: Vec<AgentChange>,
}

/// A part of an agent's definition that is not what it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentChange {
    /// Where it stands in the definition: `model`, `tools.workspace.workspace_rm`.
    pub path: String,
    pub change: AgentChangeKind,
    /// What stood there, where that is short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What stands there now, where that is short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentChangeKind {
    Added,
    Removed,
    Changed,
}
