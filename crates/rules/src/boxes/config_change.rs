//! What a change of a provider's config means for the workspace that has it (F3).

use warren_model::{BoxLimits, ProviderConfig, RunPolicy};

/// Why a workspace cannot go from one config to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigChangeRefusal {
    /// Its files are where its provider keeps them.
    OtherKind,
    /// Its files are those of the folder that it shares.
    OtherSharing,
}

impl ConfigChangeRefusal {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::OtherKind => {
                "provider.kind: a workspace keeps its provider, since its files are there; make another workspace and copy them \
                 with `warren ws cp`"
            }
            Self::OtherSharing => {
                "provider.share: what a workspace shares stays as it was made, since its files are there; make another workspace"
            }
        }
    }
}

/// Whether the files of a workspace would still be its own.
pub fn check(known: &ProviderConfig, wanted: &ProviderConfig) -> Result<(), ConfigChangeRefusal> {
    if known.kind() != wanted.kind() {
        return Err(ConfigChangeRefusal::OtherKind);
    }
    if known.sharing() != wanted.sharing() {
        return Err(ConfigChangeRefusal::OtherSharing);
    }
    Ok(())
}

/// Whether the box has to be opened anew for it. What models may run is looked up at each call.
pub fn needs_new_box(known: &ProviderConfig, wanted: &ProviderConfig) -> bool {
    without_run(known) != without_run(wanted)
}

/// Whether two configs say the same, but for numbers that have ceilings.
pub fn differs_in_limits_only(known: &ProviderConfig, wanted: &ProviderConfig) -> bool {
    without_limits(known) == without_limits(wanted)
}

fn without_run(config: &ProviderConfig) -> ProviderConfig {
    let mut config = config.clone();
    match &mut config {
        ProviderConfig::Memory(_) => {}
        ProviderConfig::Local(local) => local.run = RunPolicy::default(),
        ProviderConfig::Sandbox(sandbox) => sandbox.run = RunPolicy::default(),
        ProviderConfig::Docker(docker) => docker.run = RunPolicy::default(),
    }
    config
}

fn without_limits(config: &ProviderConfig) -> ProviderConfig {
    let mut config = config.clone();
    match &mut config {
        ProviderConfig::Memory(memory) => *memory = warren_model::MemoryConfig::default(),
        ProviderConfig::Local(local) => {
            (local.max_file_mb, local.max_grep_file_mb) = (0, 0);
            (local.max_timeout_ms, local.max_output_bytes) = (0, 0);
        }
        ProviderConfig::Sandbox(sandbox) => {
            sandbox.limits = BoxLimits::default();
            (sandbox.max_file_mb, sandbox.max_grep_file_mb) = (0, 0);
            (sandbox.max_timeout_ms, sandbox.max_output_bytes) = (0, 0);
        }
        ProviderConfig::Docker(docker) => {
            docker.limits = BoxLimits::default();
            (docker.max_file_mb, docker.max_grep_file_mb) = (0, 0);
            (docker.max_timeout_ms, docker.max_output_bytes) = (0, 0);
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(value: Value) -> ProviderConfig {
        serde_json::from_value(value).unwrap()
    }

    // F3
    #[test]
    fn a_workspace_keeps_what_says_where_its_files_are() {
        let shared = |id: &str| {
            config(json!({ "kind": "local", "share": { "id": id, "share_across_sessions": true } }))
        };
        let (memory, sandbox) = (config(json!({ "kind": "memory" })), config(json!({ "kind": "sandbox" })));
        assert_eq!(check(&memory, &sandbox), Err(ConfigChangeRefusal::OtherKind));
        assert_eq!(check(&shared("a"), &shared("b")), Err(ConfigChangeRefusal::OtherSharing));
        let quick = config(json!({ "kind": "sandbox", "max_timeout_ms": 5 }));
        assert_eq!(check(&sandbox, &quick), Ok(()));
    }

    // F3
    #[test]
    fn all_but_what_models_may_run_needs_a_new_box() {
        for kind in ["local", "sandbox", "docker"] {
            let known = config(json!({ "kind": kind }));
            let run = config(json!({ "kind": kind, "run": { "allow": ["ls"] } }));
            assert!(!needs_new_box(&known, &run), "{kind}");
            assert!(!differs_in_limits_only(&known, &run), "{kind}");
            for limit in ["max_file_mb", "max_timeout_ms"] {
                let limited = config(json!({ "kind": kind, limit: 7 }));
                assert!(needs_new_box(&known, &limited), "{kind} {limit}");
                assert!(differs_in_limits_only(&known, &limited), "{kind} {limit}");
            }
        }
        let (known, limited) = (
            config(json!({ "kind": "docker" })),
            config(json!({ "kind": "docker", "limits": { "pids": 9 } })),
        );
        assert!(needs_new_box(&known, &limited) && differs_in_limits_only(&known, &limited));
        let other = config(json!({ "kind": "docker", "image": "alpine" }));
        assert!(needs_new_box(&known, &other) && !differs_in_limits_only(&known, &other));
    }
}
