//! How long a model may be silent.

use std::time::Duration;

/// Two idle times and an end. Pings count as life only a few times in a row, so that a provider cannot hold a session by
/// saying nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timers {
    /// Until the first event of an answer.
    pub first_byte: Duration,
    /// Between two events.
    pub between: Duration,
    /// From the call to the last byte.
    pub whole: Duration,
    /// How many pings in a row count as life.
    pub pings: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(120),
            between: Duration::from_secs(60),
            whole: Duration::from_secs(3_600),
            pings: 5,
        }
    }
}
