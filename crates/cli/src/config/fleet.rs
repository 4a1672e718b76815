//! `[fleet]`: what is expected of workspaces and their runtimes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_fleet::Expectations;
use warren_fleet::{Config as FleetConfig, Retention};
use warren_model::Ceilings;

/// What is expected of workspaces and their runtimes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FleetSection {
    /// Seconds without a report after which a runtime is offline.
    pub liveness_seconds: u32,
    /// Seconds that work may show no progress, for runtimes that name no time of their own.
    pub idle_timeout_seconds: u32,
    /// Seconds from the start of provisioning to the first sign of life, for all workspaces. Absent: as each says, ten
    /// minutes if it says nothing.
    pub provision_timeout_seconds: Option<u32>,
    /// Whether images are fetched anew every five minutes, and boxes made anew from what changed.
    pub watch_images: bool,
    /// Days that events are kept. 0: for ever.
    pub keep_events_days: u32,
    /// Days that tokens are kept after they ended. 0: for ever.
    pub keep_ended_tokens_days: u32,
    /// How much those who are no operators may give a workspace.
    pub ceilings: Ceilings,
}

impl Default for FleetSection {
    fn default() -> Self {
        let seconds = |ms: i64| u32::try_from(ms / 1_000).unwrap_or(u32::MAX);
        let FleetConfig { expectations, retention, ceilings, .. } = FleetConfig::default();
        Self {
            liveness_seconds: seconds(expectations.liveness_ms),
            idle_timeout_seconds: seconds(expectations.idle_timeout_ms),
            provision_timeout_seconds: None,
            watch_images: FleetConfig::default().watches_images,
            keep_events_days: retention.events_days.unwrap_or(0),
            keep_ended_tokens_days: retention.ended_tokens_days.unwrap_or(0),
            ceilings,
        }
    }
}

impl FleetSection {
    pub(crate) fn to_config(&self) -> FleetConfig {
        let ms = |seconds: u32| i64::from(seconds) * 1_000;
        FleetConfig {
            expectations: Expectations {
                liveness_ms: ms(self.liveness_seconds),
                idle_timeout_ms: ms(self.idle_timeout_seconds),
            },
            provision_timeout_ms: self.provision_timeout_seconds.map(ms),
            watches_images: self.watch_images,
            retention: Retention {
                events_days: Some(self.keep_events_days).filter(|days| *days > 0),
                ended_tokens_days: Some(self.keep_ended_tokens_days).filter(|days| *days > 0),
            },
            ceilings: self.ceilings,
            ..FleetConfig::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S50
    #[test]
    fn the_section_s_defaults_are_the_fleet_s_own() {
        assert_eq!(FleetSection::default().to_config(), FleetConfig::default());
    }
}
