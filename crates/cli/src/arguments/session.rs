//! The command line of `warren session`.

use clap::{Args, Subcommand, ValueEnum};

use super::run::AttendArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions, the newest first
    Ls(ListSessionsArguments),
    /// Show a session, what it waits for, and the command that answers it
    Show {
        /// By name or id
        session: String,
    },
    /// Show what happens in a session until nothing is under way, and ask what it asks
    Follow {
        /// By name or id
        session: String,
        /// From this entry of its stream on, not included; 0 is the beginning [default: only what is new]
        #[arg(long, value_name = "SEQUENCE")]
        after: Option<u64>,
        #[command(flatten)]
        attend: AttendArguments,
    },
    /// Go on with a session that was interrupted, ran out of its limits or went in circles, and follow it
    Resume(ResumeArguments),
    /// Say something to a session, without waiting for an answer
    Send {
        /// By name or id
        session: String,
        /// What to say; `-` is standard input
        text: String,
        /// What becomes of it while a run is under way [default: as the agent says]
        #[arg(long, value_enum)]
        mode: Option<SendMode>,
    },
    /// Take back a message that the model has not seen
    Cancel {
        /// By name or id
        session: String,
        /// As `warren session show` and `send` tell it
        message: String,
    },
    /// Approve a tool call that waits for a decision
    Approve {
        #[command(flatten)]
        which: DecisionArguments,
        /// Run it with these arguments instead, a JSON object; both are kept
        #[arg(long, value_name = "JSON", conflicts_with = "all")]
        arguments: Option<String>,
        /// Allow calls of this tool from now on without asking
        #[arg(long, value_name = "WHERE")]
        remember: Option<RememberScope>,
    },
    /// List the rules about tool calls that people made, or revoke one
    Rules {
        /// The id of the rule to revoke
        #[arg(long, value_name = "ID")]
        revoke: Option<String>,
    },
    /// Deny a tool call that waits for a decision; the agent is told and goes on
    Deny {
        #[command(flatten)]
        which: DecisionArguments,
    },
    /// Answer a question of the agent, or hand in the result of a tool that you run
    Answer(AnswerArguments),
    /// Stop the run at the next safe point; `resume` goes on
    Interrupt(StopArguments),
    /// Fail the run now; messages that wait are dropped
    Abort(StopArguments),
    /// Begin a new session with the steps of this one
    Branch {
        /// By name or id
        session: String,
        /// The last step that the new one has [default: the latest]
        #[arg(long)]
        step: Option<u32>,
        /// What to call it [default: its id]
        #[arg(long)]
        name: Option<String>,
    },
    /// Go back to the end of a step, in place
    Rewind {
        /// By name or id
        session: String,
        /// The last step that stays; 0 is the beginning
        step: u32,
    },
    /// Move a session to the version that its agent's name stands for now
    Upgrade {
        /// By name or id
        session: String,
    },
    /// List the steps of a session: what the model said, which tools ran, tokens, cost and time
    Steps {
        /// By name or id
        session: String,
    },
    /// Show what the model was shown for a step, as JSON
    Context {
        /// By name or id
        session: String,
        /// As `warren session steps` shows it
        step: u32,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ListSessionsArguments {
    /// Only those of this workspace, by id or name
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) workspace: Option<String>,
    /// Only those with this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only those in this status: idle, running, suspended, completed, failed or interrupted
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// By name or id
    pub(crate) session: String,
    /// Let the run take so many steps altogether
    #[arg(long, value_name = "COUNT")]
    pub(crate) steps: Option<u32>,
    /// Let it make so many tool calls
    #[arg(long, value_name = "COUNT")]
    pub(crate) tool_calls: Option<u32>,
    /// Let it use so many tokens
    #[arg(long, value_name = "COUNT")]
    pub(crate) tokens: Option<u64>,
    /// Let it cost so much, in millionths of the currency's unit
    #[arg(long, value_name = "MICROS")]
    pub(crate) cost_micros: Option<u64>,
    /// Let it work for so many seconds
    #[arg(long, value_name = "COUNT")]
    pub(crate) seconds: Option<u32>,
    /// Do not follow it
    #[arg(long)]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) attend: AttendArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DecisionArguments {
    /// By name or id
    pub(crate) session: String,
    /// Which one, as `warren session show` tells it [default: the only one]
    #[arg(conflicts_with = "all")]
    pub(crate) approval: Option<String>,
    /// All that wait
    #[arg(long)]
    pub(crate) all: bool,
    /// A note that is kept; with a denial the agent is told it
    #[arg(long, visible_alias = "reason", value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// By name or id
    pub(crate) session: String,
    /// The answer, as text; `-` is standard input
    #[arg(required_unless_present_any = ["output", "error"], conflicts_with_all = ["output", "error"])]
    pub(crate) text: Option<String>,
    /// Which call, as `warren session show` tells it [default: the only one]
    #[arg(long, value_name = "CALL")]
    pub(crate) call: Option<String>,
    /// The result, as JSON
    #[arg(long, value_name = "JSON", conflicts_with = "error")]
    pub(crate) output: Option<String>,
    /// Say that it failed, and why
    #[arg(long, value_name = "TEXT")]
    pub(crate) error: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StopArguments {
    /// By name or id
    pub(crate) session: String,
    /// Only if this run is the one under way [default: whichever is]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) run: Option<u32>,
    /// How long tools that run may still take, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) within: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SendMode {
    /// It waits for the end of the run
    Queue,
    /// The model sees it with its next step
    Steer,
    /// The run is cut short and goes on with it
    Interrupt,
    /// It is refused
    Reject,
}

/// Where a remembered decision counts.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum RememberScope {
    Session,
    Workspace,
    Agent,
    Org,
}

impl From<RememberScope> for warren_api::ToolRuleScope {
    fn from(scope: RememberScope) -> Self {
        match scope {
            RememberScope::Session => Self::Session,
            RememberScope::Workspace => Self::Workspace,
            RememberScope::Agent => Self::Agent,
            RememberScope::Org => Self::Org,
        }
    }
}
