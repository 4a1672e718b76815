//! `[registry]`: how open workspaces are kept.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_rules::boxes::registry::{EvictionPlan, OpenPlan, RecoveryPlan, StormPlan};
use warren_workspace::registry::{OpenGates, RegistryConfig};

const DEFAULT_GLOBAL_OPENS: u32 = 32;

/// How workspaces are opened, retried and closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RegistrySection {
    /// Opens under way at once.
    pub max_concurrent_opens: u32,
    /// Opens under way at once per provider, over all registries of the process.
    pub max_global_concurrent_opens: u32,
    /// Milliseconds one attempt to open may take.
    pub open_timeout_ms: u64,
    /// Attempts after the first, when an open fails in a way that may pass.
    pub open_retries: u32,
    /// How often one operation is repeated because its workspace was evicted under it.
    pub eviction_retries: u32,
    /// Milliseconds after which a failed workspace is tried again by its next use. Absent: never.
    pub reset_after_ms: Option<u64>,
    /// More evictions of one workspace than this within the window are a storm, and its uses fail at once.
    pub storm_evictions: u32,
    /// Milliseconds of that window.
    pub storm_window_ms: u64,
    /// Milliseconds during which uses then fail at once.
    pub storm_cooldown_ms: u64,
    /// Milliseconds a close may take before the reaper finishes it.
    pub close_deadline_ms: u64,
}

impl Default for RegistrySection {
    fn default() -> Self {
        let registry = RegistryConfig::default();
        let storm = &registry.recovery.storm;
        Self {
            max_concurrent_opens: u32::try_from(registry.max_concurrent_opens).unwrap_or(u32::MAX),
            max_global_concurrent_opens: DEFAULT_GLOBAL_OPENS,
            open_timeout_ms: milliseconds(registry.open_timeout),
            open_retries: registry.open.retries,
            eviction_retries: registry.eviction.max_retries,
            reset_after_ms: registry.recovery.reset_after_ms,
            storm_evictions: storm.max_evictions,
            storm_window_ms: storm.window_ms,
            storm_cooldown_ms: storm.cooldown_ms,
            close_deadline_ms: milliseconds(registry.close_deadline),
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl RegistrySection {
    pub(crate) fn gates(&self) -> OpenGates {
        OpenGates::new(self.max_global_concurrent_opens as usize)
    }

    pub(crate) fn to_registry(&self) -> RegistryConfig {
        RegistryConfig {
            max_concurrent_opens: self.max_concurrent_opens as usize,
            open_timeout: Duration::from_millis(self.open_timeout_ms),
            open: OpenPlan { retries: self.open_retries, ..OpenPlan::default() },
            eviction: EvictionPlan { max_retries: self.eviction_retries },
            recovery: RecoveryPlan {
                reset_after_ms: self.reset_after_ms,
                storm: StormPlan {
                    max_evictions: self.storm_evictions,
                    window_ms: self.storm_window_ms,
                    cooldown_ms: self.storm_cooldown_ms,
                },
            },
            close_deadline: Duration::from_millis(self.close_deadline_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S50
    #[test]
    fn the_section_s_defaults_are_the_registry_s_own() {
        assert_eq!(RegistrySection::default().to_registry(), RegistryConfig::default());
    }
}
