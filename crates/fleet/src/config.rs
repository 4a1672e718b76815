//! How a fleet is configured.

use std::time::Duration;

use warren_model::Ceilings;
use warren_rules::lifecycle::sweeps::Retention;
use warren_rules::lifecycle::vitals::Expectations;

/// What the fleet expects of its workspaces, and what its callers may expect of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    pub expectations: Expectations,
    /// A time for provisioning that holds for all (F5).
    pub provision_timeout_ms: Option<i64>,
    pub retention: Retention,
    /// How much those who are no operators may give a workspace.
    pub ceilings: Ceilings,
    /// How long the caller of a removal waits to hear how it went. What is not done by then goes on (F8).
    pub removal_patience: Duration,
    /// Whether images are looked at without anybody's asking (F52).
    pub watches_images: bool,
    /// Whether sweeps run by themselves, or only when they are asked for.
    pub sweeps_unasked: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            expectations: Expectations::default(),
            provision_timeout_ms: None,
            retention: Retention::default(),
            ceilings: Ceilings::default(),
            removal_patience: Duration::from_secs(10),
            watches_images: false,
            sweeps_unasked: true,
        }
    }
}
