//! The command line of processes and terminals.

use clap::{Args, ValueEnum};

use super::Span;
use super::workspace::parse_variable;

#[derive(Debug, Args)]
pub(crate) struct ShellArguments {
    /// By id or name [default: the only workspace there is]
    pub(crate) workspace: Option<String>,
    /// Where to start, relative to the workspace's root
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// A variable for the shell; give it once per variable
    #[arg(long, short, value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub(crate) env: Vec<(String, String)>,
    /// End the program when this terminal goes away, instead of leaving it running
    #[arg(long)]
    pub(crate) end: bool,
    /// A program and its arguments instead of the workspace's shell
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StartArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// Where to run it, relative to the workspace's root
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// A variable for the command; give it once per variable
    #[arg(long, short, value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub(crate) env: Vec<(String, String)>,
    /// When to end it, such as `30s` [default: when the workspace closes]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Span>,
    /// Give it a terminal, for `warren ws attach`
    #[arg(long)]
    pub(crate) pty: bool,
    /// A text for the workspace's shell, instead of a program and its arguments
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    pub(crate) shell: Option<String>,
    /// The program and its arguments, and the end of the command line; no shell reads them
    #[arg(trailing_var_arg = true, required_unless_present = "shell")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// As `warren ws ps` shows it
    pub(crate) process: u32,
    /// The byte of output to begin at [default: all that is kept]
    #[arg(long, value_name = "OFFSET")]
    pub(crate) from: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// As `warren ws ps` shows it
    pub(crate) process: u32,
    /// Stay and print what comes, until the process ends
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// The byte of output to begin at [default: all that is kept]
    #[arg(long, value_name = "OFFSET")]
    pub(crate) from: Option<u64>,
    /// On a terminal, obey control sequences instead of showing them
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KillArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// As `warren ws ps` shows it
    #[arg(required = true)]
    pub(crate) processes: Vec<u32>,
    /// What to send it and all it started
    #[arg(long, short, value_enum, default_value_t = KillSignal::Terminate)]
    pub(crate) signal: KillSignal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KillSignal {
    /// As Ctrl-C does
    Interrupt,
    /// Ask it to end
    Terminate,
    /// End it without asking
    Kill,
}
