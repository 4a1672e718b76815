use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::{Desired, Status};

/// What a runtime takes over from Warren, one switch each. What is absent stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeCapabilities {
    /// It fires its own schedule; Warren only moves it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<bool>,
    /// It answers "busy" itself; Warren queues nothing for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<bool>,
    /// Warren infers nothing from its numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_mgmt: Option<bool>,
    /// It takes a message id once, so that a message without an answer may be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deduplication: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeMetadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<RuntimeCapabilities>,
    /// How long its work may show no progress; 0: back to the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 2592000)]
    pub idle_timeout_seconds: Option<u32>,
}

/// A report of a runtime. Every field is optional; absent means unchanged. A field that Warren does not know, or whose value
/// cannot be, is left out, and `warnings` in the answer says so: the rest of the report counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Heartbeat {
    /// Of its recent work, the part that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub error_rate: Option<f64>,
    /// One of the errors behind the rate; empty: none any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100000)]
    pub active_tasks: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime_s: Option<u64>,
    /// Empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_task: Option<String>,
    /// RFC 3339. A time in the future is taken as now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    pub last_progress_at: Option<String>,
    /// Empty: well. `wedged`: it cannot work. Anything else is kept and not interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_metadata: Option<RuntimeMetadata>,
}

/// What a runtime says when it makes itself known, with its join token as the credential.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterRuntime {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub version: Option<String>,
    /// How the agent describes itself; an object of at most 256 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub agent_card: Option<serde_json::Value>,
    /// Its first report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Heartbeat>,
}

/// A runtime that was taken in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RegisteredRuntime {
    pub workspace_id: String,
    pub status: Status,
    /// How often a runtime of this workspace registered.
    pub boots: u64,
    /// The credential of this boot, shown once. The one before has ended.
    pub token: String,
    /// Silent for longer: offline. Report three times as often.
    pub liveness_timeout_ms: u64,
    /// How many messages it is given at once; the answer to each report says so too.
    #[serde(default = "one")]
    pub max_concurrent_tasks: u32,
    pub generation: u64,
    /// What Warren did not take at its word.
    pub warnings: Vec<String>,
    /// The workspace counts as wedged, by this error of a runtime before. A runner goes on from there: it reports the wedge
    /// until it has done some work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wedge: Option<String>,
}

/// Another agent card in the place of the one that a runtime registered with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeAgentCard {
    /// How the agent describes itself from now on, an object of at most 256 KiB; `null` takes the card away.
    #[serde(deserialize_with = "crate::unique_keys::nullable")]
    #[schema(required, value_type = Option<Object>)]
    pub agent_card: Option<serde_json::Value>,
}

/// How a runtime describes itself now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentCardAnswer {
    pub workspace_id: String,
    /// How often a runtime of this workspace registered.
    pub boots: u64,
    #[schema(value_type = Option<Object>)]
    pub agent_card: Option<serde_json::Value>,
}

/// As it was before there was a word for it.
const fn one() -> u32 {
    1
}

/// The answer to a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatAnswer {
    pub workspace_id: String,
    pub status: Status,
    pub reason: Option<String>,
    /// What is wanted of the workspace now.
    pub desired: Desired,
    pub generation: u64,
    pub liveness_timeout_ms: u64,
    /// How many messages the runtime is given at once, as of now.
    #[serde(default = "one")]
    pub max_concurrent_tasks: u32,
    /// What Warren did not take at its word.
    pub warnings: Vec<String>,
}

/// What a runtime reported, as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Vitals {
    pub error_rate: f64,
    pub sample_error: Option<String>,
    pub active_tasks: u32,
    pub current_task: Option<String>,
    pub uptime_s: Option<u64>,
    pub runtime_state: String,
    /// The names of what the runtime takes over: `scheduler`, `session`, `status_mgmt`.
    pub displaces: Vec<String>,
    pub idle_timeout_seconds: Option<u32>,
    /// Of the last work that Warren handed it, as many pieces it saw end.
    pub seen_outcomes: u32,
    /// Of these, the ones that failed.
    pub seen_failures: u32,
    pub last_outcome_at: Option<String>,
    pub last_heartbeat_at: Option<String>,
    pub last_progress_at: Option<String>,
    pub last_task_at: Option<String>,
}
