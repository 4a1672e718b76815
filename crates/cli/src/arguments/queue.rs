//! The command lines of `warren queue` and `warren task`.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueueState {
    /// Waits until the workspace is free
    #[default]
    Queued,
    /// Its agent has it
    Claimed,
    /// Answered, failed, expired or cancelled
    Ended,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// List the messages of a workspace, the oldest first
    Ls {
        /// By id or name
        workspace: String,
        /// Where they are on their way
        #[arg(long, value_enum, default_value_t = QueueState::Queued)]
        state: QueueState,
    },
    /// Show a message on its way
    Show {
        /// By id or name
        workspace: String,
        /// As `warren queue ls` shows it
        id: String,
    },
    /// Take a message that waits out of the queue; it ends as cancelled
    Rm {
        /// By id or name
        workspace: String,
        /// As `warren queue ls` shows it
        id: String,
    },
    /// Take all that wait out of the queue
    Clear {
        /// By id or name
        workspace: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Send a message to a workspace, and wait for what comes of it
    Send {
        /// By id or name
        workspace: String,
        /// What to say
        message: String,
        /// Do not wait
        #[arg(long)]
        no_wait: bool,
        /// A task that waits for this message, as `warren task ls` shows it
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        /// The same key is the same message, however often it is sent
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
        /// Higher goes first, from -100 to 100
        #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
        priority: i32,
    },
    /// List the tasks of a workspace, the youngest first
    Ls {
        /// By id or name
        workspace: String,
    },
    /// Show a task, with what was said and what came of it
    Show {
        /// By id or name
        workspace: String,
        /// As `warren task ls` shows it
        task: String,
    },
    /// End work that is not wanted any more
    Cancel {
        /// By id or name
        workspace: String,
        /// As `warren task ls` shows it
        task: String,
    },
}
