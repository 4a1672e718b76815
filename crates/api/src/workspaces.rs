use std::collections::BTreeMap;

use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::RunnerSpec;

/// How a workspace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Provisioning,
    AwaitingAgent,
    Online,
    Degraded,
    Offline,
    Failed,
    Paused,
    Hibernated,
    Removed,
}

/// What is wanted of a workspace. `removed` is reached by DELETE only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Desired {
    Running,
    Paused,
    Hibernated,
    Removed,
}

/// What runs the agent of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    /// Warren's own agent loop; the workspace is online as soon as its place is ready.
    Hosted,
    /// A program inside the box that registers.
    Resident,
    /// Runs elsewhere and registers.
    External,
}

/// How much a workspace is given beyond its own box. Everything above `basic` is given by operators only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Nothing but its box.
    Basic,
    /// Folders or variables of the host are passed into its box.
    Extended,
    /// The hardening of its box is relaxed, or it has none.
    Privileged,
}

/// What a workspace can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    Fs,
    Shell,
    Code,
    Script,
    Snapshot,
}

/// What programs of a box reach through Warren.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Doors {
    /// Models that they may ask at `http://127.0.0.1:7701`, with Warren's key: `PROVIDER/NAME`, where `*` in the name stands
    /// for anything, or `NAME=PROVIDER/MODEL`, which has that model answer for what they call NAME. Empty: none.
    #[schema(max_items = 64)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Warren's tools by MCP, at `http://127.0.0.1:7702/mcp`. Absent: for agents that Warren itself runs in their boxes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Hosts of the web that they reach, through the proxy at `http://127.0.0.1:7703`. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::NetworkAccess>)]
    pub network: Option<serde_json::Value>,
}

/// A place for an agent to work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Workspace {
    /// UUIDv7, lower case.
    pub id: String,
    pub org_id: String,
    pub parent_id: Option<String>,
    pub name: String,
    pub status: Status,
    /// Why it has this status, as a sentence for people.
    pub reason: Option<String>,
    pub desired: Desired,
    pub runtime: Runtime,
    /// The provider's config with its defaults filled in.
    #[schema(value_type = crate::ProviderConfig)]
    pub provider: serde_json::Value,
    pub capabilities: Vec<Capability>,
    pub tier: Tier,
    /// What it is there for, in a few words.
    pub role: Option<String>,
    /// How long it may take from the start of provisioning to its first sign of life, in milliseconds.
    pub provision_timeout_ms: u64,
    /// When its place began to be brought up, the last time.
    pub provisioning_started_at: Option<String>,
    /// Asleep after so long without a task; absent: never.
    pub hibernate_after_seconds: Option<u32>,
    /// Tasks that it takes at once; absent: the default.
    pub max_concurrent_tasks: Option<u32>,
    /// What it was made from; absent: nothing but its own request.
    pub template: Option<crate::TemplateStamp>,
    /// What its agent is told to be; left out of lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<crate::Agent>,
    /// What its programs reach through Warren, as it is in force; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doors: Option<Doors>,
    /// Where you have put it on your map.
    pub position: Option<crate::Position>,
    /// What its runtime reported; absent: nothing yet.
    pub vitals: Option<crate::Vitals>,
    /// Raised by each change of what is wanted.
    pub generation: u64,
    /// The generation that was last brought about.
    pub observed_generation: u64,
    /// Why the one is not the other yet; absent when it is. After a change that needs a new box, until that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_of: Option<BehindOf>,
    /// Raised by every change; also the ETag.
    pub version: u64,
    /// RFC 3339.
    pub created_at: String,
    pub updated_at: String,
    pub removed_at: Option<String>,
    /// What whoever made it should know about its config, as sentences for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Why a workspace runs with something older than is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BehindOf {
    /// Secrets were changed, and nothing else: it is restarted in its turn, or goes on if nothing in it has the old values.
    Secrets,
    /// Something else was asked of it, such as a restart.
    Change,
}

/// A workspace to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkspace {
    /// 1 to 100 characters, no control characters, no space at its ends.
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\s\x00-\x1f\x7f](.*[^\s\x00-\x1f\x7f])?$")]
    pub name: String,
    /// A stored template of one workspace; what else is said here wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// How it is backed. Absent, and no template says: `default_provider` of `GET /api/v1/info`, which isolates; without
    /// one the request is refused. Kept as JSON, so that an error can name the path of what is wrong.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::unique_keys::nullable"
    )]
    #[schema(value_type = Option<crate::ProviderConfig>)]
    pub provider: Option<serde_json::Value>,
    /// Absent: all that the provider offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub parent_id: Option<String>,
    /// Absent: `hosted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// Absent: the least that the provider's config needs. Above `basic`: operators only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// What it is there for: 1 to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100)]
    pub role: Option<String>,
    /// Absent: ten minutes, or what this Warren is configured to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31536000)]
    pub provision_timeout_seconds: Option<u32>,
    /// Asleep after so long without a task. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31536000)]
    pub hibernate_after_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub max_concurrent_tasks: Option<u32>,
    /// With the runtime `resident`: the program that is its agent, and its arguments. Warren runs it in the box; each
    /// message comes on its input, and its output is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 200)]
    pub command: Option<Vec<String>>,
    /// Phrases of its errors after which it counts as wedged; absent: the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub wedge_signs: Option<Vec<String>>,
    /// How the program is spoken with; absent: text on its input, and its output is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Box<RunnerSpec>>,
    /// What its programs reach through Warren, in a box. Absent: nothing, and Warren's tools for an agent that Warren itself
    /// runs there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doors: Option<Doors>,
    /// With the runtime `hosted`: the stored agent that Warren runs in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// With the runtime `hosted`: its agent's model, such as `anthropic/claude-sonnet-4-5`. Without `agent`, Warren makes
    /// an agent of it; with one, this stands over the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// By name. `system` is the system prompt of a hosted workspace's agent, over that of the stored one; `initial` is said
    /// first in each conversation with a resident one that speaks ACP; others are kept and not used yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, String>,
    /// With a template: names of required variables that the runtime gets elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provided_env: Vec<String>,
}

impl CreateWorkspace {
    /// From a stored template, with nothing else said.
    pub fn of_template(name: impl Into<String>, template: impl Into<String>) -> Self {
        Self { provider: None, template: Some(template.into()), ..Self::new(name, serde_json::Value::Null) }
    }

    /// With nothing said but what must be.
    pub fn new(name: impl Into<String>, provider: serde_json::Value) -> Self {
        Self {
            name: name.into(),
            template: None,
            provider: Some(provider),
            capabilities: None,
            parent_id: None,
            runtime: None,
            tier: None,
            role: None,
            provision_timeout_seconds: None,
            hibernate_after_seconds: None,
            max_concurrent_tasks: None,
            command: None,
            wedge_signs: None,
            runner: None,
            doors: None,
            agent: None,
            model: None,
            prompts: BTreeMap::new(),
            provided_env: Vec::new(),
        }
    }
}

/// A partial change: what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchWorkspace {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    /// `null` makes it a root; absent leaves it where it is.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub parent_id: Option<Option<String>>,
    /// `running`, `paused` or `hibernated`. Pausing and resuming reach all below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Desired>,
    /// `null` takes it back.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100)]
    pub role: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 31536000)]
    pub provision_timeout_seconds: Option<Option<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 31536000)]
    pub hibernate_after_seconds: Option<Option<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    pub max_concurrent_tasks: Option<Option<u32>>,
    /// The program of a resident agent, and its arguments; empty: Warren runs none. Counts from the runner's next start
    /// on, such as a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 200)]
    pub command: Option<Vec<String>>,
    /// The stored agent that runs a hosted workspace; `null`: none. Counts for sessions that begin from now on, as do
    /// `model` and `prompts`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub agent: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub model: Option<Option<String>>,
    /// All doors anew: what is not named here is shut. Models and tools count from the next request on; what programs find in
    /// their environment, from their next start on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doors: Option<Doors>,
    /// By name; `null` takes one away, and what is not named stays.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, Option<String>>,
    /// Fields of its provider's config: what is absent stays, `null` has its default again, the fields of an object such as
    /// `limits` are changed one by one, and a list is replaced whole. `kind` and `share` stay as they are. Judged like a
    /// new workspace's, and what it has already is not held against it. All but `run`, which counts from the next call on,
    /// needs a new box: the workspace is brought up anew, what runs in it ends, and its files stay.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::unique_keys::nullable"
    )]
    #[schema(value_type = Option<Object>)]
    pub provider: Option<serde_json::Value>,
    /// `null`: all that the provider offers. They need a new box too.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<Vec<Capability>>)]
    pub capabilities: Option<Option<Vec<Capability>>>,
    /// It never rises unasked: a config that needs more is refused. Above `basic`: operators only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Whom it talks to, as `PUT …/peer-policy` says it; `null`: its family.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<crate::PeerPolicy>)]
    pub peers: Option<Option<crate::PeerPolicy>>,
}

/// Tells `null` from absent.
fn present<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// A workspace that was removed, and how far that went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RemovedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    pub removal: RemovalCounts,
}

/// Of the workspace and all below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemovalCounts {
    /// Marked as removed, now or before.
    pub marked: u32,
    /// Nothing is left of them.
    pub finished: u32,
    /// Could not be stopped: their files are kept, and it is tried again.
    pub failed: u32,
    /// Still being stopped.
    pub pending: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkspacePage {
    pub items: Vec<Workspace>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
    /// Ids of entries of this page that this version of Warren cannot read. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}
