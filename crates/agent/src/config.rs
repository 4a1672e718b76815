//! How the engine works. The config tree's `[sessions]` table has these names.

use std::time::Duration;

/// How sessions are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Sessions that this process works on at once; others wait for their turn.
    pub max_running: usize,
    /// How long a lease lasts that nobody renews. A session whose owner died is taken over after this.
    pub lease: Duration,
    /// How often a lease is renewed.
    pub renew_every: Duration,
    /// How often the database is looked at for sessions that nobody works on.
    pub look_every: Duration,
    /// No other process works on this database. Leases that are found at the start are those of a process that is gone, and
    /// its sessions are taken up at once.
    pub is_alone: bool,
    /// Pieces of an answer are put together for as long, or until they have `pack_bytes`.
    pub pack_for: Duration,
    pub pack_bytes: usize,
    /// How long entries of a session's stream are kept; absent: for ever. The session itself stays.
    pub keep_stream: Option<Duration>,
    /// How long long results of tools are kept after their session was last used; absent: for ever. Those of a workspace
    /// that is removed end with it.
    pub keep_results: Option<Duration>,
    /// How often pieces of answers are removed whose step holds the whole by now.
    pub clear_every: Duration,
    /// How often what is old is removed.
    pub prune_every: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_running: 256,
            lease: Duration::from_secs(15),
            renew_every: Duration::from_secs(5),
            look_every: Duration::from_secs(2),
            is_alone: false,
            pack_for: Duration::from_millis(50),
            pack_bytes: 4 << 10,
            keep_stream: Some(Duration::from_secs(30 * 24 * 3_600)),
            keep_results: Some(Duration::from_secs(90 * 24 * 3_600)),
            clear_every: Duration::from_secs(2),
            prune_every: Duration::from_secs(600),
        }
    }
}
