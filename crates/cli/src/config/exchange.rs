//! `[exchange]`: what senders of messages may count on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_exchange::Config;

/// What senders of messages may count on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExchangeSection {
    /// Bytes of one message, all its parts together.
    #[schemars(range(min = 1))]
    pub max_message_bytes: u32,
    /// Messages that may wait for one workspace.
    #[schemars(range(min = 1))]
    pub max_waiting: u32,
    /// Seconds after which a message that could not be delivered has expired.
    #[schemars(range(min = 1))]
    pub message_lifetime_seconds: u32,
    /// Seconds that work may take which one agent asked of another, progress or not.
    #[schemars(range(min = 1))]
    pub agent_call_seconds: u32,
    /// Seconds for which the same key of the same sender is the same message.
    #[schemars(range(min = 1))]
    pub repeat_window_seconds: u32,
    /// The same message id of the same sender is the same message too. `false` for clients that use ids more than once.
    pub message_ids_are_unique: bool,
    /// Seconds that a claim on a message holds without a word of whoever has it.
    #[schemars(range(min = 1))]
    pub lease_seconds: u32,
    /// Days that tasks are kept after they ended. 0: for ever.
    pub keep_tasks_days: u32,
    /// Days that messages of conversations are kept. 0: for ever.
    pub keep_chat_days: u32,
    /// Conversations of one workspace.
    #[schemars(range(min = 1))]
    pub max_conversations: u32,
    /// Messages of one conversation. What was asked before is still answered beyond it.
    #[schemars(range(min = 1))]
    pub max_chat_messages: u32,
    /// Days that runs of schedules are kept after they are over. 0: for ever.
    pub keep_schedule_runs_days: u32,
    /// Days that questions to people are kept after they are over. 0: for ever.
    pub keep_approvals_days: u32,
}

const DAY_MS: i64 = 24 * 3_600 * 1_000;

impl Default for ExchangeSection {
    fn default() -> Self {
        let defaults = Config::default();
        let seconds = |ms: i64| u32::try_from(ms / 1_000).unwrap_or(u32::MAX);
        let days = |kept: Option<i64>| kept.map_or(0, |ms| u32::try_from(ms / DAY_MS).unwrap_or(u32::MAX));
        Self {
            max_message_bytes: u32::try_from(defaults.max_message_bytes).unwrap_or(u32::MAX),
            max_waiting: u32::try_from(defaults.max_waiting).unwrap_or(u32::MAX),
            message_lifetime_seconds: seconds(defaults.message_lifetime_ms),
            agent_call_seconds: seconds(defaults.agent_call_ceiling_ms),
            repeat_window_seconds: seconds(defaults.repeat_window_ms),
            message_ids_are_unique: defaults.message_ids_are_unique,
            lease_seconds: seconds(defaults.lease_ms),
            keep_tasks_days: days(defaults.keep_tasks_ms),
            keep_chat_days: days(defaults.keep_chat_ms),
            keep_schedule_runs_days: days(defaults.keep_schedule_runs_ms),
            keep_approvals_days: days(defaults.keep_approvals_ms),
            max_conversations: u32::try_from(defaults.max_conversations).unwrap_or(u32::MAX),
            max_chat_messages: u32::try_from(defaults.max_chat_messages).unwrap_or(u32::MAX),
        }
    }
}

impl ExchangeSection {
    pub(crate) fn config(&self) -> Config {
        let ms = |seconds: u32| i64::from(seconds) * 1_000;
        let kept = |days: u32| Some(days).filter(|days| *days > 0).map(|days| i64::from(days) * DAY_MS);
        Config {
            max_message_bytes: self.max_message_bytes as usize,
            max_waiting: u64::from(self.max_waiting),
            message_lifetime_ms: ms(self.message_lifetime_seconds),
            agent_call_ceiling_ms: ms(self.agent_call_seconds),
            repeat_window_ms: ms(self.repeat_window_seconds),
            message_ids_are_unique: self.message_ids_are_unique,
            lease_ms: ms(self.lease_seconds),
            keep_tasks_ms: kept(self.keep_tasks_days),
            keep_chat_ms: kept(self.keep_chat_days),
            keep_schedule_runs_ms: kept(self.keep_schedule_runs_days),
            keep_approvals_ms: kept(self.keep_approvals_days),
            max_conversations: u64::from(self.max_conversations),
            max_chat_messages: u64::from(self.max_chat_messages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S50
    #[test]
    fn the_section_s_defaults_are_the_exchange_s_own() {
        assert_eq!(ExchangeSection::default().config(), Config::default());
    }
}
