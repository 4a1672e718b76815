//! What the exchange promises its callers, and what it expects of runtimes.

/// All of it comes from the config; the defaults hold without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bytes of one message, all its parts together (X5).
    pub max_message_bytes: usize,
    /// Messages that may wait for one workspace.
    pub max_waiting: u64,
    /// Not delivered after so long: expired.
    pub message_lifetime_ms: i64,
    /// How long work that one agent asked of another may take, progress or not (X10).
    pub agent_call_ceiling_ms: i64,
    /// How long a key stands for the same message (X16).
    pub repeat_window_ms: i64,
    /// Whether the same message id of the same sender is the same message, as well as the same key (X16).
    pub message_ids_are_unique: bool,
    /// How long a claim holds without a word of whoever has it.
    pub lease_ms: i64,
    /// How long tasks that ended are kept; absent: for ever (F42).
    pub keep_tasks_ms: Option<i64>,
    /// How long messages of conversations are kept; absent: for ever (F42).
    pub keep_chat_ms: Option<i64>,
    /// Conversations of one workspace.
    pub max_conversations: u64,
    /// Messages of one conversation. What was asked before is still answered beyond it.
    pub max_chat_messages: u64,
    /// How long runs of schedules that are over are kept; absent: for ever (F42).
    pub keep_schedule_runs_ms: Option<i64>,
    /// How long questions that are over are kept; absent: for ever (F42).
    pub keep_approvals_ms: Option<i64>,
}

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

impl Default for Config {
    fn default() -> Self {
        Self {
            max_message_bytes: 1 << 20,
            max_waiting: 10_000,
            message_lifetime_ms: DAY_MS,
            agent_call_ceiling_ms: 30 * MINUTE_MS,
            repeat_window_ms: DAY_MS,
            message_ids_are_unique: true,
            lease_ms: 30_000,
            keep_tasks_ms: Some(90 * DAY_MS),
            keep_chat_ms: None,
            max_conversations: 10_000,
            max_chat_messages: 100_000,
            keep_schedule_runs_ms: Some(90 * DAY_MS),
            keep_approvals_ms: Some(365 * DAY_MS),
        }
    }
}
