use std::path::PathBuf;

use clap::Args;

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
    /// The program and its arguments; started once per message
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}
