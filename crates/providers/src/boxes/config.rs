//! What the configs of all boxes have in common, however they are shut.

use warren_init::SpawnLimits;
use warren_model::{
    BoxLimits, CapabilitySet, DockerConfig, ErrorCode, MIB, Mount, ProviderKind, SandboxConfig,
    max_timeout_problem,
};
use warren_workspace::Error;

use super::mounts;
use super::shell::{BoxRules, MAX_OUTPUT_BYTES};
use crate::directory::FileLimits;
use crate::process;

#[derive(Debug, Clone, Copy)]
pub(crate) struct BoxConfig<'a> {
    limits: &'a BoxLimits,
    mounts: &'a [Mount],
    max_file_mb: u32,
    max_grep_file_mb: u32,
    pass_env: &'a [String],
    max_timeout_ms: u64,
    max_output_bytes: u64,
}

impl<'a> From<&'a SandboxConfig> for BoxConfig<'a> {
    fn from(config: &'a SandboxConfig) -> Self {
        Self {
            limits: &config.limits,
            mounts: &config.mounts,
            max_file_mb: config.max_file_mb,
            max_grep_file_mb: config.max_grep_file_mb,
            pass_env: &config.pass_env,
            max_timeout_ms: config.max_timeout_ms,
            max_output_bytes: config.max_output_bytes,
        }
    }
}

impl<'a> From<&'a DockerConfig> for BoxConfig<'a> {
    fn from(config: &'a DockerConfig) -> Self {
        Self {
            limits: &config.limits,
            mounts: &config.mounts,
            max_file_mb: config.max_file_mb,
            max_grep_file_mb: config.max_grep_file_mb,
            pass_env: &config.pass_env,
            max_timeout_ms: config.max_timeout_ms,
            max_output_bytes: config.max_output_bytes,
        }
    }
}

/// How one open box is described besides its config.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoxDescription<'a> {
    /// In words.
    pub(crate) isolation: &'a str,
    pub(crate) confinement: &'a serde_json::Value,
    pub(crate) path_resolution: &'a str,
}

impl BoxConfig<'_> {
    /// What can be told before anything is opened.
    pub(crate) fn check(&self) -> Result<(), Error> {
        process::check_pass_env(self.pass_env)?;
        mounts::check(self.mounts)?;
        match max_timeout_problem(self.max_timeout_ms).or_else(|| self.limits.problem()) {
            Some(problem) => Err(Error::permanent(ErrorCode::InvalidConfig, problem)),
            None => Ok(()),
        }
    }

    pub(crate) const fn file_limits(&self) -> FileLimits {
        FileLimits::from_mb(self.max_file_mb, self.max_grep_file_mb)
    }

    /// What its files may take in all.
    pub(crate) fn disk_bytes(&self) -> u64 {
        u64::from(self.limits.disk_mb) * MIB
    }

    /// For its commands. A single file is limited by the kernel to what all of them may take.
    pub(crate) fn rules(&self, limits: SpawnLimits) -> BoxRules {
        BoxRules {
            pass_env: self.pass_env.to_vec(),
            max_timeout_ms: self.max_timeout_ms,
            max_output_bytes: self.max_output_bytes,
            limits: SpawnLimits { file_bytes: Some(self.disk_bytes()), ..limits },
        }
    }

    /// For `describe()`.
    pub(crate) fn told(&self, described: BoxDescription<'_>) -> serde_json::Value {
        serde_json::json!({
            "isolation": described.isolation,
            "box": described.confinement,
            "path_resolution": described.path_resolution,
            "process_cleanup": "by process 1 of the box; all of them with the box",
            "max_file_mb": self.max_file_mb,
            "max_grep_file_mb": self.max_grep_file_mb,
            "max_timeout_ms": self.max_timeout_ms,
            "max_output_bytes": self.max_output_bytes.min(MAX_OUTPUT_BYTES),
            "max_spill_bytes": process::MAX_SPILL_BYTES,
            "background_output_bytes": warren_init::BACKGROUND_OUTPUT_BYTES,
            "pass_env": self.pass_env,
        })
    }
}

/// The declared set must be within what the provider offers (W3).
pub(crate) fn check_offered(
    kind: ProviderKind,
    declared: CapabilitySet,
    offered: CapabilitySet,
) -> Result<(), Error> {
    let missing = declared.without(offered);
    if missing.is_empty() {
        return Ok(());
    }
    let detail = format!("the provider `{kind}` does not offer {missing}");
    Err(Error::permanent(ErrorCode::CapabilityMissing, detail))
}
