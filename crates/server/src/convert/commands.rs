//! Commands and processes between the wire and the workspace.

use std::collections::BTreeMap;

use bytes::Bytes;
use warren_api as api;
use warren_model::ErrorCode;
use warren_workspace::WorkspacePath;
use warren_workspace::shell;

use crate::problem::Failure;

/// The fields that every request for a command has.
#[derive(Debug)]
pub(crate) struct CommandFields {
    pub(crate) argv: Option<Vec<String>>,
    pub(crate) command: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) stdin: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) spill_to: Option<String>,
}

impl CommandFields {
    pub(crate) fn command(self) -> Result<shell::Command, Failure> {
        let invalid = |detail: &str| Failure::new(ErrorCode::InvalidCommand, detail);
        let invocation = match (self.argv, self.command) {
            (Some(argv), None) => shell::Invocation::Argv(argv),
            (None, Some(command)) => shell::Invocation::Script(command),
            (Some(_), Some(_)) => return Err(invalid("send either `argv` or `command`, not both")),
            (None, None) => return Err(invalid("send `argv` or `command`")),
        };
        let path = |text: Option<String>| text.map(|text| WorkspacePath::parse(&text)).transpose();
        Ok(shell::Command {
            invocation,
            cwd: path(self.cwd)?.unwrap_or_else(WorkspacePath::root),
            env: self.env,
            given: Default::default(),
            stdin: self.stdin.map_or_else(Bytes::new, Bytes::from),
            timeout_ms: self.timeout_ms,
            spill_to: path(self.spill_to)?,
            key: None,
        })
    }
}

pub(crate) fn command_from(body: api::ExecRequest) -> Result<shell::Command, Failure> {
    let api::ExecRequest { argv, command, cwd, env, stdin, timeout_ms, spill_to } = body;
    CommandFields { argv, command, cwd, env, stdin, timeout_ms, spill_to }.command()
}

pub(crate) fn exec_result(result: &shell::RunResult) -> api::ExecResult {
    let (stdout, stdout_base64) = text_or_base64(&result.stdout.bytes);
    let (stderr, stderr_base64) = text_or_base64(&result.stderr.bytes);
    api::ExecResult {
        exit_code: result.exit_code,
        signal: result.signal,
        stdout,
        stderr,
        stdout_base64,
        stderr_base64,
        timed_out: result.timed_out,
        truncated: result.stdout.truncated || result.stderr.truncated,
        total_bytes: result.stdout.total_bytes + result.stderr.total_bytes,
        duration_ms: result.duration_ms,
    }
}

fn text_or_base64(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), Some(base64(bytes))),
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

pub(crate) fn process(info: &shell::ProcessInfo) -> api::Process {
    let (state, exit_code, signal, timed_out) = process_state(&info.state);
    api::Process {
        id: info.id.0,
        program: info.program.clone(),
        command_line: None,
        state,
        exit_code,
        signal,
        timed_out,
        started_at: info.started_at.to_string(),
        output_bytes: info.output_bytes,
        has_pty: info.has_pty,
    }
}

pub(crate) fn process_output(polled: &shell::Polled) -> api::ProcessOutput {
    let (output, output_base64) = text_or_base64(&polled.bytes);
    let (state, exit_code, signal, timed_out) = process_state(&polled.state);
    api::ProcessOutput {
        output,
        output_base64,
        offset: polled.offset,
        next_offset: polled.next_offset,
        state,
        exit_code,
        signal,
        timed_out,
    }
}

/// State, exit code, signal, and whether it timed out.
fn process_state(state: &shell::ProcessState) -> (api::ProcessState, Option<i32>, Option<i32>, bool) {
    match *state {
        shell::ProcessState::Running => (api::ProcessState::Running, None, None, false),
        shell::ProcessState::Exited { exit_code, signal, timed_out } => {
            (api::ProcessState::Exited, exit_code, signal, timed_out)
        }
    }
}

pub(crate) fn signal_from(signal: api::SignalName) -> shell::Signal {
    match signal {
        api::SignalName::Interrupt => shell::Signal::Interrupt,
        api::SignalName::Terminate => shell::Signal::Terminate,
        api::SignalName::Kill => shell::Signal::Kill,
    }
}

/// Rows and columns that a terminal can have; `field` begins the error.
pub(crate) fn pty_size_from(field: &str, rows: u16, columns: u16) -> Result<shell::PtySize, Failure> {
    const MAX: u16 = 4_096;
    for (name, value) in [("rows", rows), ("columns", columns)] {
        if !(1..=MAX).contains(&value) {
            let detail = format!("{field}{name}: expected 1 to {MAX}");
            return Err(Failure::new(ErrorCode::InvalidRequest, detail));
        }
    }
    Ok(shell::PtySize { rows, columns })
}
