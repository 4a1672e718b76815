//! The command lines of `warren memory` and `warren approval`.

use clap::{Args, Subcommand, ValueEnum};

use super::Span;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Remember something, in place of what is there under its key
    Set(SetMemoryArguments),
    /// Print what is remembered under a key: the workspace's own, else its team's, else its org's
    Get(GetMemoryArguments),
    /// List all that a workspace can read
    Ls {
        /// By id or name
        workspace: String,
        /// Only of this scope [default: of all]
        #[arg(long, value_enum)]
        scope: Option<MemoryScope>,
    },
    /// Search what a workspace can read, the best first
    Search {
        /// By id or name
        workspace: String,
        /// Words that must all be there, or begin one that is
        words: String,
        /// Only of this scope [default: of all]
        #[arg(long, value_enum)]
        scope: Option<MemoryScope>,
    },
    /// Forget something
    Rm(MemoryKeyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SetMemoryArguments {
    #[command(flatten)]
    pub(crate) at: MemoryKeyArguments,
    /// Credentials in it are masked
    pub(crate) value: String,
    /// Forget it after so long, such as 30d [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) ttl: Option<Span>,
    /// Only if this is still its version; 0: only if there is none
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct GetMemoryArguments {
    /// By id or name
    pub(crate) workspace: String,
    pub(crate) key: String,
    /// Only of this scope [default: the nearest that has it]
    #[arg(long, value_enum)]
    pub(crate) scope: Option<MemoryScope>,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryKeyArguments {
    /// By id or name
    pub(crate) workspace: String,
    pub(crate) key: String,
    /// With whom it is shared
    #[arg(long, value_enum, default_value_t = MemoryScope::Local)]
    pub(crate) scope: MemoryScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryScope {
    /// The workspace's own
    Local,
    /// Its parent's, and of all below
    Team,
    /// Of every workspace of the org
    Org,
}

impl MemoryScope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Team => "team",
            Self::Org => "org",
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalCommand {
    /// List what workspaces ask people for
    Ls {
        /// Of this workspace, by id or name [default: of all]
        workspace: Option<String>,
        /// Also what is decided or expired
        #[arg(long)]
        all: bool,
    },
    /// Show a question with its context and its answer
    Show {
        /// As `warren approval ls` shows it
        id: String,
    },
    /// Approve what a workspace asks for
    Approve(DecideArguments),
    /// Deny what a workspace asks for
    Deny(DecideArguments),
}

#[derive(Debug, Args)]
pub(crate) struct DecideArguments {
    /// As `warren approval ls` shows it
    pub(crate) id: String,
    /// What the agent is told with it
    #[arg(long)]
    pub(crate) note: Option<String>,
}
