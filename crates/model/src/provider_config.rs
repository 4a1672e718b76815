//! How a workspace is backed: one config per provider, tagged by `kind` (W1).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The providers of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    Memory,
    Local,
    Sandbox,
    Docker,
}

impl ProviderKind {
    pub const ALL: [Self; 4] = [Self::Memory, Self::Local, Self::Sandbox, Self::Docker];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Local => "local",
            Self::Sandbox => "sandbox",
            Self::Docker => "docker",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// What somebody who picks it should know.
    pub const fn remark(self) -> &'static str {
        match self {
            Self::Memory => "Files only, in memory: they end with the process.",
            Self::Local => "Files and commands on this host, as the user who runs Warren. No isolation.",
            Self::Sandbox => {
                "Files and commands in a box of the kernel's (bubblewrap): no network, no host files."
            }
            Self::Docker => {
                "Files and commands in a hardened container: no network, no capabilities, read-only root."
            }
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The config of a provider. An unknown kind or field is an error that names its path.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProviderConfig {
    Memory(MemoryConfig),
    Local(LocalConfig),
    Sandbox(SandboxConfig),
    Docker(DockerConfig),
}

impl ProviderConfig {
    /// Whether its commands go on when Warren ends, and are found again afterwards.
    pub const fn keeps_commands(&self) -> bool {
        match self {
            Self::Docker(config) => matches!(config.reuse, Reuse::Reconnect),
            Self::Memory(_) | Self::Local(_) | Self::Sandbox(_) => false,
        }
    }

    pub const fn kind(&self) -> ProviderKind {
        match self {
            Self::Memory(_) => ProviderKind::Memory,
            Self::Local(_) => ProviderKind::Local,
            Self::Sandbox(_) => ProviderKind::Sandbox,
            Self::Docker(_) => ProviderKind::Docker,
        }
    }

    /// What `workspace_run` may start; absent: the provider has no commands.
    pub const fn run_policy(&self) -> Option<&RunPolicy> {
        match self {
            Self::Memory(_) => None,
            Self::Local(local) => Some(&local.run),
            Self::Sandbox(sandbox) => Some(&sandbox.run),
            Self::Docker(docker) => Some(&docker.run),
        }
    }

    /// The image that boxes are made from, by the name that somebody configured.
    pub fn image(&self) -> Option<&str> {
        match self {
            Self::Memory(_) | Self::Local(_) | Self::Sandbox(_) => None,
            Self::Docker(docker) => Some(&docker.image),
        }
    }

    /// The explicit identity a config asks to share, if any (W5).
    pub fn sharing(&self) -> Option<&Sharing> {
        match self {
            Self::Memory(_) | Self::Sandbox(_) | Self::Docker(_) => None,
            Self::Local(local) => local.share.as_ref(),
        }
    }

    /// This config with some fields changed: what is absent stays, `null` has its default again, the fields of an object are
    /// changed one by one, and a list is replaced whole.
    pub fn changed(&self, changes: &serde_json::Value) -> Result<Self, String> {
        if !changes.is_object() {
            return Err("expected an object with the fields to change".into());
        }
        let mut value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        merge(&mut value, changes);
        Self::read(value)
    }

    fn read(mut value: serde_json::Value) -> Result<Self, String> {
        let Some(fields) = value.as_object_mut() else {
            return Err("expected an object with a `kind`".into());
        };
        let kinds = ProviderKind::ALL.map(ProviderKind::as_str).join(", ");
        let kind = match fields.remove("kind") {
            Some(serde_json::Value::String(kind)) => kind,
            Some(_) => return Err(format!("kind: expected one of {kinds}")),
            None => return Err(format!("kind: missing; expected one of {kinds}")),
        };
        match ProviderKind::parse(&kind) {
            Some(ProviderKind::Memory) => read_fields(value).map(Self::Memory),
            Some(ProviderKind::Local) => read_fields(value).map(Self::Local),
            Some(ProviderKind::Sandbox) => read_fields(value).map(Self::Sandbox),
            Some(ProviderKind::Docker) => read_fields(value).map(Self::Docker),
            None => Err(format!("kind: unknown provider `{kind}`; expected one of {kinds}")),
        }
    }
}

fn read_fields<T: serde::de::DeserializeOwned>(mut value: serde_json::Value) -> Result<T, String> {
    drop_nulls(&mut value);
    crate::from_json(value).map_err(|error| match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("{path}: {}", error.inner()),
    })
}

fn merge(value: &mut serde_json::Value, changes: &serde_json::Value) {
    match (value, changes.as_object()) {
        (serde_json::Value::Object(fields), Some(changes)) => {
            for (name, change) in changes {
                merge(fields.entry(name.clone()).or_insert(serde_json::Value::Null), change);
            }
        }
        (value, _) => value.clone_from(changes),
    }
}

/// A field that is `null` is absent, and has its default: clients that are generated from the API's document write it so.
fn drop_nulls(value: &mut serde_json::Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(drop_nulls);
    } else if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(drop_nulls);
    }
}

impl<'de> Deserialize<'de> for ProviderConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::read(value).map_err(serde::de::Error::custom)
    }
}

/// `memory`: files that live and die with the process (W70).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryConfig {
    pub max_file_mb: u32,
    pub max_grep_file_mb: u32,
    /// All files together.
    pub max_total_mb: u32,
}

impl MemoryConfig {
    /// What one workspace may hold of the server's own memory, whatever its config says.
    pub const MAX_TOTAL_MB: u32 = 1_024;
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self { max_file_mb: 10, max_grep_file_mb: 10, max_total_mb: 256 }
    }
}

/// `local`: files and commands in a host directory, as the host user. For trusted input (W71).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LocalConfig {
    pub max_file_mb: u32,
    pub max_grep_file_mb: u32,
    /// Names of host variables that commands may see (W33). Nothing else is passed.
    pub pass_env: Vec<String>,
    /// The most a caller may ask for (W32).
    pub max_timeout_ms: u64,
    /// Kept of each of stdout and stderr: half of it head, half of it tail (W31).
    pub max_output_bytes: u64,
    /// What `workspace_run` may start (W61).
    pub run: RunPolicy,
    /// A directory shared by name between workspaces (W5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Sharing>,
}

impl Default for LocalConfig {
    fn default() -> Self {
        Self {
            max_file_mb: 10,
            max_grep_file_mb: 10,
            pass_env: Vec::new(),
            max_timeout_ms: 600_000,
            max_output_bytes: 65_536,
            run: RunPolicy::default(),
            share: None,
        }
    }
}

/// `sandbox`: files and commands behind the kernel, by bubblewrap (W72). Linux only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxConfig {
    pub isolation: Isolation,
    pub limits: BoxLimits,
    /// Host paths that the box sees besides its own files (W73).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    pub max_file_mb: u32,
    pub max_grep_file_mb: u32,
    /// Names of host variables that commands may see (W33). Nothing else is passed.
    pub pass_env: Vec<String>,
    /// The most a caller may ask for (W32).
    pub max_timeout_ms: u64,
    /// Kept of each of stdout and stderr: half of it head, half of it tail (W31).
    pub max_output_bytes: u64,
    /// What `workspace_run` may start (W61). Absent allowlist: anything, since the box is the wall.
    pub run: RunPolicy,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            isolation: Isolation::Auto,
            limits: BoxLimits::default(),
            mounts: Vec::new(),
            max_file_mb: 10,
            max_grep_file_mb: 10,
            pass_env: Vec::new(),
            max_timeout_ms: 600_000,
            max_output_bytes: 65_536,
            run: RunPolicy::default(),
        }
    }
}

/// What keeps a sandbox shut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// What this system has: bubblewrap on Linux.
    #[default]
    Auto,
    Bwrap,
    /// macOS's. Not supported yet: refused.
    Seatbelt,
}

/// What a box may use. All are hard limits where the host can enforce them; `describe()` says which it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoxLimits {
    pub memory_mb: u32,
    pub cpus: f64,
    pub pids: u32,
    /// The box's own `/tmp`, which is memory.
    pub tmp_mb: u32,
    /// The workspace's files together.
    pub disk_mb: u32,
}

impl BoxLimits {
    /// Less than this and nothing starts.
    pub const MIN_MEMORY_MB: u32 = 16;
    pub const MIN_PIDS: u32 = 8;
    /// More than any host has.
    const MAX_MB: u32 = 1 << 26;
    const MAX_PIDS: u32 = 1_000_000;

    /// The first field that no box could be made with, as a sentence that names it.
    pub fn problem(&self) -> Option<String> {
        if self.memory_mb < Self::MIN_MEMORY_MB {
            return Some(format!("limits.memory_mb: expected at least {}", Self::MIN_MEMORY_MB));
        }
        if !self.cpus.is_finite() || self.cpus < 0.01 || self.cpus > 4_096.0 {
            return Some("limits.cpus: expected a number from 0.01 to 4096".into());
        }
        if self.pids < Self::MIN_PIDS {
            return Some(format!("limits.pids: expected at least {}", Self::MIN_PIDS));
        }
        if self.pids > Self::MAX_PIDS {
            return Some(format!("limits.pids: expected at most {}", Self::MAX_PIDS));
        }
        for (name, mb) in [("memory_mb", self.memory_mb), ("tmp_mb", self.tmp_mb), ("disk_mb", self.disk_mb)]
        {
            if mb > Self::MAX_MB {
                return Some(format!("limits.{name}: expected at most {}", Self::MAX_MB));
            }
        }
        if self.tmp_mb == 0 {
            return Some("limits.tmp_mb: expected at least 1".into());
        }
        if self.disk_mb == 0 {
            return Some("limits.disk_mb: expected at least 1".into());
        }
        None
    }
}

impl Default for BoxLimits {
    fn default() -> Self {
        Self { memory_mb: 512, cpus: 1.0, pids: 256, tmp_mb: 64, disk_mb: 10_240 }
    }
}

/// Why no command could ever run with it, if so.
pub fn max_timeout_problem(max_timeout_ms: u64) -> Option<String> {
    (max_timeout_ms == 0).then(|| "max_timeout_ms: expected at least 1".to_owned())
}

/// A host path in a box (W73). Both paths are absolute; the source is canonicalized when the box is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub source: String,
    pub target: String,
    #[serde(default)]
    pub mode: MountMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountMode {
    #[default]
    Ro,
    Rw,
}

/// `docker`: files and commands in a hardened container (W74).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DockerConfig {
    pub image: String,
    pub pull_policy: PullPolicy,
    pub reuse: Reuse,
    pub limits: BoxLimits,
    /// Host paths that the box sees besides its own files (W73).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Knobs that relax the hardened container. None set: exactly the hardened one.
    /// Boxed: few set any, and this is a part of every workspace's row.
    #[serde(skip_serializing_if = "DockerRelaxations::is_empty")]
    pub relax: Box<DockerRelaxations>,
    pub max_file_mb: u32,
    pub max_grep_file_mb: u32,
    /// Names of host variables that commands may see (W33). Nothing else is passed.
    pub pass_env: Vec<String>,
    /// The most a caller may ask for (W32).
    pub max_timeout_ms: u64,
    /// Kept of each of stdout and stderr: half of it head, half of it tail (W31).
    pub max_output_bytes: u64,
    /// What `workspace_run` may start (W61). Absent allowlist: anything, since the box is the wall.
    pub run: RunPolicy,
}

impl Default for DockerConfig {
    fn default() -> Self {
        let sandbox = SandboxConfig::default();
        Self {
            image: "debian:stable-slim".into(),
            pull_policy: PullPolicy::Missing,
            reuse: Reuse::Recreate,
            limits: sandbox.limits,
            mounts: sandbox.mounts,
            relax: Box::default(),
            max_file_mb: sandbox.max_file_mb,
            max_grep_file_mb: sandbox.max_grep_file_mb,
            pass_env: sandbox.pass_env,
            max_timeout_ms: sandbox.max_timeout_ms,
            max_output_bytes: sandbox.max_output_bytes,
            run: sandbox.run,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullPolicy {
    #[default]
    Missing,
    Always,
    /// Makes no network call.
    Never,
}

/// What happens to a container when its workspace is opened again (W75).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// A new container over the kept files.
    #[default]
    Recreate,
    /// The living one, with its processes, unless its real config drifted from the spec.
    Reconnect,
}

/// Each makes the container weaker than the hardened one; each use is audited (W74).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DockerRelaxations {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cap_add: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ulimits: Vec<Ulimit>,
    /// Further writable memory directories: target and size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tmpfs: Vec<TmpfsMount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_swap_mb: Option<u32>,
    /// `uid` or `uid:gid`, instead of the owner of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl DockerRelaxations {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ulimit {
    pub name: String,
    pub soft: i64,
    pub hard: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TmpfsMount {
    pub target: String,
    pub size_mb: u32,
}

/// Sharing one workspace's files by an explicit id; refused unless it says so twice (W5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    pub id: String,
    #[serde(default)]
    pub share_across_sessions: bool,
}

/// How the `workspace_run` tool takes a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandMode {
    /// `argv` only: no shell reads it.
    #[default]
    Argv,
    /// `command` is split into words; no metacharacters, and the first word must be allowed.
    Command,
    /// A shell reads it. For boxed providers only.
    Full,
}

/// What the model may run. In `local` an absent allowlist denies everything.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunPolicy {
    pub mode: CommandMode,
    /// Allowed program names. Absent: none in `local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Allowed programs that can start any other, so that with one of them the list holds nothing back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_unrestrained: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> String {
        serde_json::from_str::<ProviderConfig>(json).unwrap_err().to_string()
    }

    // W1
    #[test]
    fn unknown_kinds_and_fields_are_errors_that_name_their_path() {
        assert!(
            problem(r#"{"kind":"floppy"}"#)
                .contains("kind: unknown provider `floppy`; expected one of memory, local")
        );
        assert!(problem(r#"{}"#).contains("kind: missing"));
        assert!(problem(r#"{"kind":"local","colour":1}"#).contains("unknown field `colour`"));
        assert!(problem(r#"{"kind":"local","run":{"allow":[1]}}"#).contains("run.allow[0]"));
        assert!(problem(r#"{"kind":"memory","pass_env":[]}"#).contains("unknown field `pass_env`"));
    }

    // W1
    #[test]
    fn a_field_that_is_null_has_its_default() {
        let config: ProviderConfig = serde_json::from_str(
            r#"{"kind":"docker","image":null,"limits":{"memory_mb":64.0,"cpus":null},"mounts":null,
                "relax":{"user":null},"run":{"mode":null,"allow":null}}"#,
        )
        .unwrap();
        let limits = BoxLimits { memory_mb: 64, ..BoxLimits::default() };
        assert_eq!(config, ProviderConfig::Docker(DockerConfig { limits, ..DockerConfig::default() }));
        assert!(problem(r#"{"kind":null}"#).contains("kind: expected one of"));
        assert!(problem(r#"{"kind":"local","pass_env":[null]}"#).contains("pass_env[0]"));
    }

    // F3
    #[test]
    fn a_change_leaves_what_it_does_not_name_and_is_read_as_strictly() {
        let config: ProviderConfig = serde_json::from_str(
            r#"{"kind":"docker","image":"alpine","limits":{"memory_mb":64,"pids":9},"run":{"allow":["ls","cat"]}}"#,
        )
        .unwrap();
        let changed = |json: &str| config.changed(&serde_json::from_str(json).unwrap());
        let expected: ProviderConfig = serde_json::from_str(
            r#"{"kind":"docker","image":"alpine","limits":{"memory_mb":128},"run":{"allow":["git"]},"max_file_mb":3}"#,
        )
        .unwrap();
        let changes = r#"{"limits":{"memory_mb":128.0,"pids":null},"run":{"allow":["git"]},"max_file_mb":3}"#;
        assert_eq!(changed(changes), Ok(expected));
        assert_eq!(changed("{}"), Ok(config.clone()));
        // An object where there was none before.
        let relaxed = changed(r#"{"relax":{"user":"7"}}"#).unwrap();
        assert!(
            matches!(relaxed, ProviderConfig::Docker(docker) if docker.relax.user.as_deref() == Some("7"))
        );
        for (json, problem) in [
            (r#"{"colour":1}"#, "unknown field `colour`"),
            (r#"{"limits":{"pids":"x"}}"#, "limits.pids"),
            (r#"{"limits":7}"#, "limits"),
            (r#"{"kind":"floppy"}"#, "kind: unknown provider"),
            ("[]", "expected an object"),
        ] {
            let told = changed(json).unwrap_err();
            assert!(told.contains(problem), "{json}: {told}");
        }
    }

    #[test]
    fn a_config_round_trips_through_its_stored_form() {
        let config = ProviderConfig::Local(LocalConfig {
            pass_env: vec!["LANG".into()],
            share: Some(Sharing { id: "team".into(), share_across_sessions: true }),
            ..LocalConfig::default()
        });
        let stored = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<ProviderConfig>(&stored).unwrap(), config);
    }
}
