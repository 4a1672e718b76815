use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a workspace is backed, tagged by `kind`. What is absent has its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProviderConfig {
    Memory(MemoryConfig),
    Local(LocalConfig),
}

/// Files that live and die with the process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_mb: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_grep_file_mb: Option<u32>,
    /// All files together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_mb: Option<u32>,
}

/// Files and commands in a host directory, as the host user, without isolation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_mb: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_grep_file_mb: Option<u32>,
    /// Names of host variables that commands may see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_env: Option<Vec<String>>,
    /// The longest timeout a caller may ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_timeout_ms: Option<u64>,
    /// Kept of each of stdout and stderr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Sharing>,
}

/// What a model may run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<CommandMode>,
    /// Allowed programs, by name. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandMode {
    /// `argv` only: no shell reads it.
    Argv,
    /// A line that is split into words, without metacharacters.
    Command,
    /// A shell reads it; for boxed providers only.
    Full,
}

/// A directory shared by name between workspaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    #[schema(pattern = "^[a-z0-9-]{1,64}$")]
    pub id: String,
    /// Must be true: sharing has to be said twice.
    pub share_across_sessions: bool,
}
