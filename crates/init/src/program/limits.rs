//! How much of everything init keeps. Its memory is the box's, so all of it is bounded.

use std::time::Duration;

/// Commands whose callers wait.
pub(super) const MAX_RUNS: usize = 128;
/// Processes that were started and run.
pub(super) const MAX_PROCESSES: usize = 64;
/// Processes that have ended and can still be asked about.
pub(super) const MAX_ENDED: usize = 64;
/// What all ended processes together keep of their output.
pub(super) const MAX_ENDED_BYTES: usize = 32 << 20;
/// Commands with a key that have ended and can still be taken up.
pub(super) const MAX_KEPT_RUNS: usize = 64;
/// What all of those together keep of their output.
pub(super) const MAX_KEPT_BYTES: usize = 8 << 20;
/// Polls that wait.
pub(super) const MAX_POLLS: usize = 256;
/// Input that waits for one program to read it.
pub(super) const MAX_INPUT_BYTES: usize = 2 << 20;
/// Replies that wait for the owner to read them; then nothing more is read from anyone for its sake.
pub(super) const MAX_UNSENT_BYTES: usize = 512 << 10;
/// Pieces of one output that are read before others have their turn.
pub(super) const PIECES_PER_TURN: usize = 4;
pub(super) const MAX_POLL_WAIT: Duration = Duration::from_secs(600);
/// A process that was killed and is not gone after this is stuck in the kernel; nobody waits for it any longer.
pub(super) const KILL_PATIENCE: Duration = Duration::from_millis(1_500);
/// How often killed processes are looked at while some are left.
pub(super) const SWEEP_INTERVAL: Duration = Duration::from_millis(10);
/// Looks at fresh strays before everything in the box is killed at once: only a fork bomb lasts so long.
pub(super) const MAX_SWEEPS: u32 = 24;
/// However many there are, the others do not wait longer than this for a command's leftovers.
pub(super) const SWEEP_PATIENCE: Duration = Duration::from_secs(10);
/// A terminal hands over what was written to it a little later.
pub(super) const TERMINAL_PATIENCE: Duration = Duration::from_millis(500);
/// An owner that never comes is not waited for longer than this, unless told to linger longer.
pub(super) const FIRST_OWNER_PATIENCE: Duration = Duration::from_secs(60);
