//! The `shell` module: commands in a workspace (W30–W33).

use std::collections::BTreeMap;
use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use warren_model::{ErrorCode, Timestamp};

/// Which variables a caller may set for a command; one rule for every provider.
pub use warren_rules::boxes::command_policy::{is_reserved_variable, is_variable_name};

use crate::{Error, WorkspacePath};

/// Output as it comes, then exactly one `Finished`.
pub type RunStream = Pin<Box<dyn Stream<Item = Result<RunEvent, Error>> + Send>>;

#[async_trait]
pub trait Shell: Send + Sync + std::fmt::Debug {
    /// Runs to its end, or to its timeout; then the whole process group is gone (W32). Dropping the future kills
    /// it too.
    async fn run(&self, command: Command) -> Result<RunResult, Error>;
    /// The same with output as it comes. Dropping the stream kills the process group.
    async fn stream(&self, command: Command) -> Result<RunStream, Error>;
    /// Goes on with a command that was begun with this key, by this process or by one before it: what is kept of its output,
    /// what is still to come, and its end. Absent: nothing is known of it. Dropping the stream kills the command.
    async fn attach(&self, _key: &CommandKey) -> Result<Option<RunStream>, Error> {
        Ok(None)
    }
    /// Whether a command with this key runs here or has ended here.
    async fn knows(&self, _key: &CommandKey) -> Result<bool, Error> {
        Ok(false)
    }
    /// Starts a process that outlives the request.
    async fn start(&self, start: Start) -> Result<ProcessInfo, Error>;
    /// Output from `offset` on, at most `max_bytes`, waiting up to `wait_ms` for something new.
    async fn poll(&self, process: ProcessId, poll: Poll) -> Result<Polled, Error>;
    async fn write_stdin(&self, process: ProcessId, bytes: Bytes, close: bool) -> Result<(), Error>;
    async fn resize(&self, process: ProcessId, size: PtySize) -> Result<(), Error>;
    /// Signals the whole group.
    async fn kill(&self, process: ProcessId, signal: Signal) -> Result<(), Error>;
    async fn list(&self) -> Result<Vec<ProcessInfo>, Error>;
    /// Where Warren's runner of resident agents is in there; absent: there is none.
    fn runner(&self) -> Option<&'static str> {
        None
    }
    /// Starts a program of Warren's own whose input and output stay open for as long as it lives. It has no deadline, is
    /// in no list, and its output is kept nowhere: only the caller reads it.
    async fn open_dialog(&self, _command: Command) -> Result<Dialog, Error> {
        let detail = "programs of this provider cannot be talked to; use `sandbox` or `docker`";
        Err(Error::permanent(ErrorCode::CapabilityMissing, detail))
    }
}

/// A running program with open input and output. Dropping `events` kills it, with all it started.
pub struct Dialog {
    /// Its input; dropped, the input ends.
    pub input: mpsc::Sender<Bytes>,
    /// Its output as it comes, and its end. The outputs of `Finished` are empty.
    pub events: RunStream,
}

impl std::fmt::Debug for Dialog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialog").finish_non_exhaustive()
    }
}

/// What to run. `Argv` starts a program; `Script` is read by `/bin/sh`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    Argv(Vec<String>),
    Script(String),
}

#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    pub invocation: Invocation,
    pub cwd: WorkspacePath,
    /// Added to the environment that is built from nothing (W33). Reserved names are refused.
    pub env: BTreeMap<String, String>,
    /// Set by Warren itself, whatever the name; `env` wins.
    pub given: BTreeMap<String, String>,
    pub stdin: Bytes,
    /// Clamped to the configured maximum; absent: that maximum.
    pub timeout_ms: Option<u64>,
    /// Keep the whole output in this file of the workspace (W31).
    pub spill_to: Option<WorkspacePath>,
    /// Where the place outlives Warren, the command does too and can be taken up by this key (A4).
    pub key: Option<CommandKey>,
}

/// The name of one command, for those who may have to come back for it.
#[derive(Debug, Clone)]
pub struct CommandKey {
    /// No other command of the workspace has it.
    pub name: String,
    /// Once cancelled, a command that is dropped is left running: Warren stops, and somebody will come back.
    pub leave: CancellationToken,
}

impl PartialEq for CommandKey {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CommandKey {}

impl Command {
    pub fn argv<I: IntoIterator<Item = S>, S: Into<String>>(words: I) -> Self {
        Self::new(Invocation::Argv(words.into_iter().map(Into::into).collect()))
    }

    pub fn script(text: impl Into<String>) -> Self {
        Self::new(Invocation::Script(text.into()))
    }

    fn new(invocation: Invocation) -> Self {
        let cwd = WorkspacePath::root();
        let (env, given, stdin) = (BTreeMap::new(), BTreeMap::new(), Bytes::new());
        Self { invocation, cwd, env, given, stdin, timeout_ms: None, spill_to: None, key: None }
    }
}

/// Names of variables only: values, arguments and input may hold secrets.
impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let program = match &self.invocation {
            Invocation::Argv(words) => words.first().map_or("", String::as_str),
            Invocation::Script(_) => "/bin/sh",
        };
        let names: Vec<_> = self.env.keys().collect();
        f.debug_struct("Command")
            .field("program", &program)
            .field("cwd", &self.cwd)
            .field("env", &names)
            .finish()
    }
}

/// One of stdout and stderr, kept head and tail (W31).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// All of it, or head, a line that says how much is missing, and tail.
    pub bytes: Bytes,
    pub total_bytes: u64,
    pub truncated: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunResult {
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub stdout: Output,
    pub stderr: Output,
    pub duration_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEvent {
    Stdout(Bytes),
    Stderr(Bytes),
    /// The outcome; its outputs are what was kept, as in `run`.
    Finished(RunResult),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub command: Command,
    /// A terminal instead of pipes.
    pub pty: Option<PtySize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtySize {
    pub rows: u16,
    pub columns: u16,
}

/// Counts from 1 within one open workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessState {
    Running,
    Exited { exit_code: Option<i32>, signal: Option<i32>, timed_out: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    pub id: ProcessId,
    /// The program's name, not its arguments.
    pub program: String,
    pub state: ProcessState,
    pub started_at: Timestamp,
    /// Bytes of output so far (stdout and stderr in the order they came).
    pub output_bytes: u64,
    pub has_pty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Poll {
    pub offset: u64,
    pub max_bytes: u64,
    pub wait_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polled {
    pub bytes: Bytes,
    /// Where `bytes` begins: later than asked if older output is no longer kept.
    pub offset: u64,
    /// Ask from here next.
    pub next_offset: u64,
    pub state: ProcessState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Kill,
}
