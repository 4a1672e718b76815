use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct RunnerArguments {
    /// The workspace, by id or name: fetches a join token for it with your own token
    #[arg(long, value_name = "WORKSPACE", required_unless_present = "credentials")]
    pub(crate) workspace: Option<String>,
    /// The folder with the file `join-token`; the credential that it is exchanged for is kept beside it, so that a later
    /// start needs no other [default, with --workspace: its memory]
    #[arg(long, value_name = "DIR")]
    pub(crate) credentials: Option<PathBuf>,
    /// A phrase of the program's errors after which it counts as wedged; give it once per phrase [default: those of
    /// model APIs]
    #[arg(long, value_name = "TEXT")]
    pub(crate) wedge_sign: Vec<String>,
    /// How the program is spoken with: `stdio` (a process for each message, with text), `json` (the same, with lines of
    /// JSON), `acp` (one that lives on and speaks the Agent Client Protocol), `a2a` (one that lives on and serves A2A)
    #[arg(long, value_name = "NAME", default_value = "stdio")]
    pub(crate) adapter: AdapterName,
    /// The mode in which an ACP program works [default: one in which it asks before it acts]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// Said first in each conversation with an ACP program
    #[arg(long, value_name = "TEXT")]
    pub(crate) initial_prompt: Option<String>,
    /// Where a program that serves A2A listens
    #[arg(long, value_name = "URL", required_if_eq("adapter", "a2a"))]
    pub(crate) a2a_url: Option<String>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}

/// What passes between a runner and its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdapterName {
    Stdio,
    Json,
    Acp,
    A2a,
}
