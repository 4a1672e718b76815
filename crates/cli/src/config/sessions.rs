//! `[sessions]`: how sessions with agents are carried out, and how long what they leave behind is kept.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_agent::Config;

/// How sessions with agents are carried out, and how long what they leave behind is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionsSection {
    /// Sessions that this process works on at once; others wait for their turn.
    #[schemars(range(min = 1))]
    pub max_running: u32,
    /// Days that entries of a session's stream are kept; the session itself stays. 0: for ever.
    pub keep_stream_days: u32,
    /// Days that long tool results are kept after their session was last used; what the model was shown of them stays. 0: for
    /// ever.
    pub keep_results_days: u32,
    /// Seconds between two looks for what is old.
    #[schemars(range(min = 1))]
    pub prune_every_seconds: u32,
}

const DAY_SECONDS: u64 = 24 * 3_600;

impl Default for SessionsSection {
    fn default() -> Self {
        let defaults = Config::default();
        let days = |kept: Option<Duration>| {
            kept.map_or(0, |kept| u32::try_from(kept.as_secs() / DAY_SECONDS).unwrap_or(u32::MAX))
        };
        Self {
            max_running: u32::try_from(defaults.max_running).unwrap_or(u32::MAX),
            keep_stream_days: days(defaults.keep_stream),
            keep_results_days: days(defaults.keep_results),
            prune_every_seconds: u32::try_from(defaults.prune_every.as_secs()).unwrap_or(u32::MAX),
        }
    }
}

impl SessionsSection {
    pub(crate) fn config(&self) -> Config {
        let kept = |days: u32| {
            Some(days).filter(|days| *days > 0).map(|days| Duration::from_secs(u64::from(days) * DAY_SECONDS))
        };
        Config {
            max_running: self.max_running as usize,
            keep_stream: kept(self.keep_stream_days),
            keep_results: kept(self.keep_results_days),
            prune_every: Duration::from_secs(u64::from(self.prune_every_seconds)),
            ..Config::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S50
    #[test]
    fn the_section_s_defaults_are_the_engine_s_own() {
        assert_eq!(SessionsSection::default().config(), Config::default());
    }

    // A60
    #[test]
    fn what_the_file_says_reaches_the_engine() {
        let text = "max_running = 3\nkeep_stream_days = 0\nkeep_results_days = 7\nprune_every_seconds = 5\n";
        let config = toml::from_str::<SessionsSection>(text).unwrap().config();
        let week = Duration::from_secs(7 * DAY_SECONDS);
        assert_eq!((config.max_running, config.keep_stream, config.keep_results), (3, None, Some(week)));
        assert_eq!(config.prune_every, Duration::from_secs(5));
    }
}
