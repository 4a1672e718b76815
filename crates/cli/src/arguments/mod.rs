//! The command line, as types. Help texts and the reference page are made from the comments here.

mod agent;
mod audit;
mod backup;
mod chat;
mod duration;
mod image;
mod memory;
mod model_server;
mod peers;
mod people;
mod process;
mod queue;
mod run;
mod runner;
mod schedule;
mod secret;
mod session;
mod template;
mod webhook;
mod workspace;

pub(crate) use agent::AgentCommand;
pub(crate) use audit::{AuditCommand, AuditListArguments, AuditVerifyArguments};
pub(crate) use backup::{BackupArguments, RestoreArguments};
pub(crate) use chat::{ChatArguments, ChatCommand};
pub(crate) use duration::{Span, span_text};
pub(crate) use image::ImageCommand;
pub(crate) use memory::{
    ApprovalCommand, GetMemoryArguments, MemoryCommand, MemoryScope, SetMemoryArguments,
};
pub(crate) use model_server::ModelServerArguments;
pub(crate) use peers::{Circle, DelegationCommand, PeersArguments};
pub(crate) use people::{
    AddUserArguments, OrgCommand, Quota, QuotaArguments, RoleName, TierName, UserCommand,
};
pub(crate) use process::{
    AttachArguments, KillArguments, KillSignal, LogsArguments, ShellArguments, StartArguments,
};
pub(crate) use queue::{QueueCommand, QueueState, TaskCommand};
pub(crate) use run::{AttendArguments, RunArguments};
pub(crate) use runner::{AdapterName, RunnerArguments};
pub(crate) use schedule::{AddScheduleArguments, Missed, NextArguments, Overlap, ScheduleCommand};
pub(crate) use secret::SecretCommand;
pub(crate) use session::{
    AnswerArguments, DecisionArguments, ListSessionsArguments, RememberScope, ResumeArguments, SendMode,
    SessionCommand, StopArguments,
};
pub(crate) use template::{BundleCommand, ExpandArguments, ImportArguments, TemplateCommand};
pub(crate) use webhook::{CallState, WebhookCommand};
pub(crate) use workspace::{
    CopyArguments, CreateArguments, ExecArguments, FilesCommand, LimitArguments, ListArguments,
    RemoveArguments, SetArguments, Switch, WorkspaceCommand,
};

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Gives AI agents places to work.
///
/// `warren up` starts a server on this machine. Every other command speaks to it, or to the one that WARREN_URL
/// names.
#[derive(Debug, Parser)]
#[command(
    name = "warren",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Short forms: `warren ls`, `ps`, `exec`, `shell`, `logs` and `rm` are those of `warren ws`."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: TopCommand,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Print JSON instead of text, for errors too
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The server's address [env: WARREN_URL] [default: the one on the data folder]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The token to use; prefer the variable, since other users can see command lines [env: WARREN_TOKEN]
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// The folder of the local server [env: WARREN_DATA] [default: $XDG_DATA_HOME/warren]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The config file [env: WARREN_CONFIG] [default: warren.toml in the data folder]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Whether to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TopCommand {
    /// Start a server on this machine
    Up(UpArguments),
    /// Run an agent and watch it work; what it may not do by itself, you are asked
    ///
    /// Without an agent, a guided one shows what there is, on a model that needs no key. What the agent says is written to
    /// standard output, and what it does to standard error. Ctrl-C stops it so that it can be resumed; a second Ctrl-C
    /// leaves it to itself. Where nobody can be asked, it says what it waits for, and ends with the exit code 7.
    Run(RunArguments),
    /// Write, check and keep agents: what sessions are run by
    #[command(subcommand)]
    Agent(AgentCommand),
    /// See, steer and go on with sessions: durable conversations with agents
    #[command(subcommand)]
    Session(SessionCommand),
    /// Create, use and remove workspaces
    #[command(subcommand, visible_alias = "workspace")]
    Ws(WorkspaceCommand),
    /// As `warren ws ls`
    #[command(hide = true, alias = "list")]
    Ls(ListArguments),
    /// The processes of a workspace, as `warren ws ps`; without one, the workspaces
    #[command(hide = true)]
    Ps {
        /// By id or name
        workspace: Option<String>,
    },
    /// As `warren ws exec`
    #[command(hide = true)]
    Exec(ExecArguments),
    /// As `warren ws shell`
    #[command(hide = true)]
    Shell(ShellArguments),
    /// As `warren ws logs`
    #[command(hide = true)]
    Logs(LogsArguments),
    /// As `warren ws rm`
    #[command(hide = true)]
    Rm(RemoveArguments),
    /// Talk with the agent of a workspace
    Chat(ChatArguments),
    /// Send messages to workspaces, and see what comes of them
    #[command(subcommand)]
    Task(TaskCommand),
    /// See and change which messages wait for a workspace
    #[command(subcommand)]
    Queue(QueueCommand),
    /// List whom a workspace may talk to, or say whom it may
    Peers(PeersArguments),
    /// Hand work from one workspace to another, and see what comes of it
    #[command(subcommand)]
    Delegation(DelegationCommand),
    /// Show what happened, or follow what happens
    Events(EventsArguments),
    /// Make, list and revoke tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Set, list and remove secrets: variables that commands get and nobody reads back
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Set who Warren signs in as where images are pulled from
    #[command(subcommand)]
    Image(ImageCommand),
    /// Have other systems told of events, and let them send messages
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Show and verify the audit log: who did what to which
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Keep templates: what workspaces are made from
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Have things said to workspaces at set times
    #[command(subcommand)]
    Schedule(ScheduleCommand),
    /// Keep what agents remember: their own, their team's and their org's
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Decide what workspaces ask people for
    #[command(subcommand)]
    Approval(ApprovalCommand),
    /// Take people into the org, invite them, and say what they may do
    #[command(subcommand)]
    User(UserCommand),
    /// Make orgs and say how much they may have; make whole trees of workspaces
    #[command(subcommand)]
    Org(OrgCommand),
    /// Say who you are to the server, and what you may do
    Whoami,
    /// Move workspaces from one Warren to another
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Copy everything into one file, while the server goes on
    ///
    /// The database as of one moment, and the files of workspaces. What is written is verified before it gets its name. Keys of
    /// secrets are not in it: keep them apart (`--with-key`).
    Backup(BackupArguments),
    /// Make a data folder from a backup
    ///
    /// The folder is named by `--data` and must not exist yet, or be empty. The whole backup is verified before the first byte
    /// is written. Stop the old server first: two on the same past would both do what is due.
    Restore(RestoreArguments),
    /// Speak MCP on standard input and output, for desktop agents
    ///
    /// One JSON-RPC message per line. What is asked goes to the server, and is answered as the token allows.
    Mcp(McpArguments),
    /// Run an agent's program for a workspace: each message comes on its input, and its output is the answer
    ///
    /// For programs outside of boxes. It registers with a join token, reports, and starts the program once per message.
    /// What the program writes to its standard error is told as progress.
    Runner(RunnerArguments),
    /// Serve a scripted model over HTTP, for tests and for trying agents without a key
    ///
    /// Speaks Anthropic Messages, OpenAI Responses and Chat Completions, as strictly as the real ones, and takes any key. It
    /// ends with Ctrl-C. `GET /_requests` tells what was asked so far.
    ModelServer(ModelServerArguments),
    /// Check this host, the database and the server, and say what to do
    ///
    /// Exits with 1 if a check failed, and with 0 if there are warnings at most.
    Doctor,
    /// Check and show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the version
    Version,
    /// Print the completion script of a shell
    Completions {
        /// For which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct UpArguments {
    /// Where to listen [env: WARREN_SERVER_LISTEN] [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// `sqlite:PATH` or `postgres://…` [env: WARREN_DATABASE_URL] [default: warren.db in the data folder]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// What this one does among several on one PostgreSQL: all, api or worker [env: WARREN_SERVER_ROLE] [default: all]
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// Where the others on the same PostgreSQL reach it [env: WARREN_SERVER_REPLICA_URL] [default: where it listens, unless that is loopback]
    #[arg(long, value_name = "URL")]
    pub(crate) replica_url: Option<String>,
    /// How log lines look: auto, text or json [env: WARREN_LOG_FORMAT]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArguments {
    /// Stay and print what happens, across restarts of the server
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Also what is told and not stored, such as heartbeats; with --follow
    #[arg(long, requires = "follow")]
    pub(crate) live: bool,
    /// Only events after this sequence [default: 0, or with --follow only new ones]
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// Only events of this workspace, by id or name
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) workspace: Option<String>,
    /// Stop after this many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// The tools and files of this workspace, by id or name [default: the tools of the platform]
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) workspace: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token; its secret is shown once
    Create {
        /// To recognize it by
        name: String,
        /// What it is for: everything, what its scopes say, or one workspace
        #[arg(long, value_enum, default_value_t = TokenKind::User)]
        kind: TokenKind,
        /// What a user token may do, such as `workspaces:read`; give it once per scope [default: work with workspaces and
        /// see events, as far as you may]
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
        /// The workspace that a workspace token speaks for, by id or name
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
        /// When it ends, such as `12h` or `30d` [default: never]
        #[arg(long, value_name = "TIME")]
        expires_in: Option<Span>,
    },
    /// List tokens
    Ls,
    /// End a token at once, and what was made with it: tokens, schedules, webhooks, channels
    Revoke {
        /// As `warren token ls` shows it
        id: String,
        /// Leave what was made with it as it is
        #[arg(long)]
        keep: bool,
    },
    /// Show what was made with a token and would end with it
    Made {
        /// As `warren token ls` shows it
        id: String,
    },
    /// Make a link that signs a browser in, once
    Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokenKind {
    Admin,
    User,
    Workspace,
    /// Lets the runtime of one workspace register, once
    Join,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the file, the variables and the flags, and start nothing
    Check,
    /// Show the values in effect; passwords are hidden
    Show {
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Print the JSON Schema of the file
    Schema,
}
