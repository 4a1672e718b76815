//! The most that a workspace may be given by those who are no operators.

use serde::{Deserialize, Serialize};

use crate::Tier;

/// By the tier of the workspace. Operators may give more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ceilings {
    pub basic: TierCeilings,
    pub extended: TierCeilings,
    pub privileged: TierCeilings,
}

impl Ceilings {
    pub const fn of(&self, tier: Tier) -> &TierCeilings {
        match tier {
            Tier::Basic => &self.basic,
            Tier::Extended => &self.extended,
            Tier::Privileged => &self.privileged,
        }
    }
}

impl Default for Ceilings {
    fn default() -> Self {
        let basic = TierCeilings::default();
        let larger = TierCeilings {
            memory_mb: 4 * basic.memory_mb,
            cpus: 2 * basic.cpus,
            pids: 4 * basic.pids,
            tmp_mb: 4 * basic.tmp_mb,
            disk_mb: 4 * basic.disk_mb,
            ..basic
        };
        Self { basic, extended: larger, privileged: larger }
    }
}

/// Each is the highest value of the field by this name in the config of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TierCeilings {
    /// Megabytes of memory of a box.
    pub memory_mb: u32,
    /// Processors of a box.
    pub cpus: u32,
    /// Processes and threads of a box.
    pub pids: u32,
    /// Megabytes of a box's `/tmp`.
    pub tmp_mb: u32,
    /// Megabytes of a workspace's files.
    pub disk_mb: u32,
    /// Milliseconds that a command may take.
    pub max_timeout_ms: u64,
    /// Bytes of output that are kept of a command.
    pub max_output_bytes: u64,
    /// Megabytes of one file that is read or written through the API.
    pub max_file_mb: u32,
    /// Megabytes of one file that is searched.
    pub max_grep_file_mb: u32,
}

impl Default for TierCeilings {
    fn default() -> Self {
        Self {
            memory_mb: 4_096,
            cpus: 4,
            pids: 1_024,
            tmp_mb: 1_024,
            disk_mb: 20_480,
            max_timeout_ms: 3_600_000,
            max_output_bytes: 1 << 20,
            max_file_mb: 100,
            max_grep_file_mb: 100,
        }
    }
}
