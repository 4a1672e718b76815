//! What the two sides say.

use serde::{Deserialize, Serialize};

use crate::file_call::{FileAnswer, FileCall};

/// From the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the owner; every reply carries it. Free again after the reply that ends the request.
    pub id: u32,
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Comes first on every connection. Ends with `CallAnswer::Hello`.
    Hello {
        version: u16,
    },
    /// A command whose caller waits: `CallAnswer::Output` as it comes, and `CallAnswer::Exited` (or `Failed`) at its end.
    Run(Spawn),
    /// More output of the `Run` with this id may be sent, as `output_cost` counts it. No reply.
    Grant {
        bytes: u32,
    },
    /// More input for the `Run` with this id. No reply; `CallAnswer::InputTaken` tells how much more may be sent.
    Input {
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
        last: bool,
    },
    /// Takes up the `Run` with this key that a former owner began. `CallAnswer::Attached`, then as for `Run`: what is kept
    /// of its output, what is still to come, and its end. `UnknownNumber`: there is none; `Invalid`: somebody waits for it.
    Attach {
        #[serde(with = "serde_bytes")]
        key: Vec<u8>,
    },
    /// Whether there is a `Run` with this key. Ends with `CallAnswer::Done`, or with `Failed(UnknownNumber)`.
    FindRun {
        #[serde(with = "serde_bytes")]
        key: Vec<u8>,
    },
    /// Ends the `Run` or `File(Watch)` with this id: its processes are killed, and its last reply follows.
    Cancel,
    /// A process that stays when the request ends. Ends with `CallAnswer::Started`.
    Start(Spawn),
    /// Output of a process from `offset` on. Ends with `CallAnswer::Polled`.
    Poll {
        process: u32,
        offset: u64,
        max_bytes: u32,
        wait_ms: u32,
    },
    /// Input for a process. Ends with `CallAnswer::Done` once the process's pipe or terminal has taken it.
    Write {
        process: u32,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
        close: bool,
    },
    Resize {
        process: u32,
        size: TerminalSize,
    },
    /// To the whole tree of a process. `Done` also when it has ended already.
    Signal {
        process: u32,
        signal: i32,
    },
    /// Ends with `CallAnswer::Processes`.
    List,
    /// Ends with `CallAnswer::Done`: init is alive and answers.
    Ping,
    /// Kills everything in the box and leaves. No reply: the connection ends.
    Leave,
    /// On the files of the workspace (W83).
    File(FileCall),
}

/// What to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    /// The program (looked up in `PATH` of `env` unless it has a slash) and its arguments.
    pub argv: Vec<Vec<u8>>,
    /// Relative to the workspace; resolved beneath it.
    pub directory: Vec<u8>,
    /// All of it: init adds nothing.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// The beginning of its input.
    #[serde(with = "serde_bytes")]
    pub input: Vec<u8>,
    /// Whether more input follows; else it ends here.
    pub has_more_input: bool,
    pub terminal: Option<TerminalSize>,
    /// Killed after this; 0: no deadline.
    pub deadline_ms: u64,
    pub limits: SpawnLimits,
    /// For a `Run` in a box that outlives its owner: by this name the next owner can take it up. It goes on without an owner
    /// and is remembered for a while after its end. Empty: it ends with its owner.
    #[serde(with = "serde_bytes")]
    pub key: Vec<u8>,
}

/// Limits of each process (`setrlimit`); absent: as the box has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnLimits {
    pub open_files: Option<u64>,
    pub file_bytes: Option<u64>,
    pub address_space_bytes: Option<u64>,
    pub cpu_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

/// From init.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub id: u32,
    pub answer: CallAnswer,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallAnswer {
    Hello(Greeting),
    Output {
        channel: Channel,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// So many more bytes of input may be sent.
    InputTaken {
        bytes: u32,
    },
    /// The end of a `Run`: all of its output was sent before, and no process of it is left.
    Exited(Exit),
    /// The answer to `Attach`: so much of the beginning of its outputs is no longer kept. Output and end follow.
    Attached {
        missing_stdout: u64,
        missing_stderr: u64,
    },
    /// The number of a new process.
    Started {
        process: u32,
    },
    Polled(PolledOutput),
    Processes(Vec<ProcessSummary>),
    Done,
    Failed(Failure),
    File(FileAnswer),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    pub version: u16,
    /// What holds in this box, as init found it.
    pub facts: Facts,
}

/// What init found out about its own confinement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// 0: not applied.
    pub landlock_abi: u32,
    /// As in `/proc/self/status`: 2 is a filter.
    pub seccomp_mode: u32,
    pub no_new_privileges: bool,
    pub effective_capabilities: u64,
    pub bounding_capabilities: u64,
    pub user: u32,
    pub is_process_1: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Channel {
    Stdout,
    Stderr,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub duration_us: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolledOutput {
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
    /// Where `bytes` begins: later than asked if older output is no longer kept.
    pub offset: u64,
    /// Absent while it runs. All output that will ever come is there once this is present.
    pub exit: Option<Exit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSummary {
    pub process: u32,
    /// The program's name, not its arguments.
    pub program: Vec<u8>,
    /// Microseconds since 1970.
    pub started_at: i64,
    pub output_bytes: u64,
    pub has_terminal: bool,
    pub exit: Option<Exit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// The kernel's number for it; 0: none.
    pub errno: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The program does not exist, or is nothing that can be executed.
    ProgramNotFound,
    ProgramNotExecutable,
    /// The working directory is not there, is no directory, or leads out of the workspace.
    BadDirectory,
    /// No such process, run or file handle.
    UnknownNumber,
    /// More processes, requests or handles than init keeps.
    TooMany,
    /// The call makes no sense (no arguments, a NUL in a name, too long).
    Invalid,
    /// `Hello` has not been said, or names a version that this init does not speak.
    Version,
    /// The kernel refused; see `errno`.
    System,
}
