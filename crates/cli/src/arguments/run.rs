//! The command line of `warren run`.

use clap::Args;

use super::Span;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// What to say to the agent; `-` is standard input [default, for the guided agent: "Show me around."]
    pub(crate) prompt: Option<String>,
    /// A file, which is checked and stored first, or the name of a stored agent [default: a guided agent that needs no
    /// key]
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) agent: Option<String>,
    /// Answer with this model, as provider/name; kept as an agent of its own beside the one that was named
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Where to work, by id or name [default: a new workspace]
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) workspace: Option<String>,
    /// What the new workspace is: sandbox, docker, memory or local [default: sandbox where it works, else docker]
    #[arg(long, value_name = "KIND", conflicts_with = "workspace")]
    pub(crate) provider: Option<String>,
    /// Go on with the session of this name, or begin one under it [default: a new one]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Remove the new workspace when the run has ended; one that waits or was stopped stays
    #[arg(long = "rm", conflicts_with = "workspace")]
    pub(crate) removes_workspace: bool,
    #[command(flatten)]
    pub(crate) attend: AttendArguments,
}

/// How a session is followed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct AttendArguments {
    /// Approve whatever the agent asks to do, without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// How long to try to reach a server that went away
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) reconnect: Span,
}
