//! How a workspace is backed: one config per provider, tagged by `kind` (W1).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The providers of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    Memory,
    Local,
}

impl ProviderKind {
    pub const ALL: [Self; 2] = [Self::Memory, Self::Local];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Local => "local",
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
}

impl ProviderConfig {
    pub const fn kind(&self) -> ProviderKind {
        match self {
            Self::Memory(_) => ProviderKind::Memory,
            Self::Local(_) => ProviderKind::Local,
        }
    }

    /// The explicit identity a config asks to share, if any (W5).
    pub fn sharing(&self) -> Option<&Sharing> {
        match self {
            Self::Memory(_) => None,
            Self::Local(local) => local.share.as_ref(),
        }
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
            None => Err(format!("kind: unknown provider `{kind}`; expected one of {kinds}")),
        }
    }
}

fn read_fields<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("{path}: {}", error.inner()),
    })
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
