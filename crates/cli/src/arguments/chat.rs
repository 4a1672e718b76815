//! The command line of `warren chat`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ChatArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ChatCommand>,
    /// With whom, by id or name
    #[arg(required = true)]
    pub(crate) workspace: Option<String>,
    /// What to say; without it, each line of standard input is a message
    pub(crate) message: Option<String>,
    /// Send this file along; may be given several times
    #[arg(long, value_name = "FILE", requires = "message")]
    pub(crate) attach: Vec<PathBuf>,
    /// Go on with this conversation, or with the `last` one [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChatCommand {
    /// List the conversations of a workspace, the youngest first
    Ls {
        /// By id or name
        workspace: String,
    },
    /// Show what was said in a conversation
    Show {
        /// By id or name
        workspace: String,
        /// As `warren chat ls` shows it
        conversation: String,
    },
    /// Search what was said, the youngest first
    Search {
        /// By id or name
        workspace: String,
        /// Each must begin a word of what is found
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Delete a conversation with its messages
    Rm {
        /// By id or name
        workspace: String,
        /// As `warren chat ls` shows it
        conversation: String,
    },
}
