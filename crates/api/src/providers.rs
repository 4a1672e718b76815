use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

/// How a workspace is backed, tagged by `kind`. What is absent has its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProviderConfig {
    Memory(MemoryConfig),
    Local(LocalConfig),
    Sandbox(SandboxConfig),
    Docker(DockerConfig),
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

/// Files and commands in a box of the kernel's: no network, no host files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BoxLimits>,
    /// Host paths that the box sees besides its own files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<Mount>>,
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
}

/// What keeps a sandbox shut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Bubblewrap on Linux.
    Auto,
    Bwrap,
    /// macOS's. Not supported yet: refused.
    Seatbelt,
}

/// What a box may use; zero is refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<u32>,
    /// The box's own `/tmp`, which is memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmp_mb: Option<u32>,
    /// The workspace's files together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<u32>,
}

/// A host path in a box; both paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub source: String,
    pub target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<MountMode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MountMode {
    Ro,
    Rw,
}

/// Files and commands in a hardened container.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DockerConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<PullPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BoxLimits>,
    /// Host paths that the box sees besides its own files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<Mount>>,
    /// Knobs that relax the hardened container; each use is audited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relax: Option<DockerRelaxations>,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullPolicy {
    Missing,
    Always,
    /// Makes no network call.
    Never,
}

/// What happens to a container when its workspace is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// A new container over the kept files.
    Recreate,
    /// The living one, with its processes.
    Reconnect,
}

/// Each makes the container weaker than the hardened one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DockerRelaxations {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap_add: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ulimits: Option<Vec<Ulimit>>,
    /// Further writable memory directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmpfs: Option<Vec<TmpfsMount>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_swap_mb: Option<u32>,
    /// `uid` or `uid:gid`, instead of the owner of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ulimit {
    pub name: String,
    pub soft: i64,
    pub hard: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TmpfsMount {
    pub target: String,
    pub size_mb: u32,
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
    /// Allowed programs that can start any other, such as `git` or `python3`: with one of them the list holds nothing back.
    /// Without a box they are run only if they are named here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_unrestrained: Vec<String>,
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
