//! The one door that starts programs, and what keeps them in hand: environment from nothing, argument checks, output to
//! a cap, deadlines that leave no child behind.
//!
//! ```text
//!   Command ──▶ arguments, environment (checks) ──▶ spawn (the door) ──▶ run         one command to its end
//!                                                                   └──▶ background  processes that stay
//!                                      group (ends all of a command's processes) ◀──┘
//! ```

mod arguments;
mod background;
mod capture;
mod environment;
mod group;
mod pty;
mod run;
mod spawn;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warren_doors::{Clock, Entropy, Environment};

pub(crate) use arguments::Arguments;
pub(crate) use background::{Background, MAX_RUNNING, RING_BYTES, program_name};
pub(crate) use capture::HeadTail;
pub(crate) use environment::{Sources, build as build_environment, check_pass_env};
pub(crate) use group::end_all_of;
pub(crate) use run::{MAX_SPILL_BYTES, Spill, run, stream};

/// What a process needs from outside.
#[derive(Debug, Clone)]
pub(crate) struct Doors {
    /// Begins the mark of every command, so that those of a process that died can be found by who it was.
    pub(crate) instance: Arc<str>,
    pub(crate) environment: Arc<Environment>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// The rules for one command, from its workspace's config.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) pass_env: Vec<String>,
    /// The host directory that becomes HOME.
    pub(crate) home: String,
    pub(crate) max_timeout_ms: u64,
    pub(crate) max_output_bytes: usize,
    pub(crate) foreground: Foreground,
}

/// The commands that callers wait for. Closing the workspace ends them, whoever still waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Foreground {
    closing: CancellationToken,
    runs: TaskTracker,
}

impl Foreground {
    /// Ends all of them and waits until they are gone.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.runs.close();
        self.runs.wait().await;
    }
}

/// 128 random bits, as text.
pub(crate) fn random_mark(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
