use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// Raised by each change of what is wanted.
    pub generation: u64,
    /// The generation that was last brought about.
    pub observed_generation: u64,
    /// Raised by every change; also the ETag.
    pub version: u64,
    /// RFC 3339.
    pub created_at: String,
    pub updated_at: String,
    pub removed_at: Option<String>,
}

/// A workspace to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkspace {
    /// 1 to 100 characters, no control characters, no space at its ends.
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\s\x00-\x1f\x7f](.*[^\s\x00-\x1f\x7f])?$")]
    pub name: String,
    /// How it is backed. Kept as JSON, so that an error can name the path of what is wrong.
    #[serde(deserialize_with = "crate::unique_keys::deserialize")]
    #[schema(value_type = crate::ProviderConfig)]
    pub provider: serde_json::Value,
    /// Absent: all that the provider offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub parent_id: Option<String>,
    /// Absent: `hosted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
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
    /// `running`, `paused` or `hibernated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Desired>,
}

/// Tells `null` from absent.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkspacePage {
    pub items: Vec<Workspace>,
    /// Pass as `cursor` for the next page; absent on the last.
    pub next_cursor: Option<String>,
}
