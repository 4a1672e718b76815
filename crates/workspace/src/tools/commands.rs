//! The tools of `shell`, behind the run policy (W61).

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::json;
use warren_model::ErrorCode;
use warren_rules::access::secrets;
use warren_rules::boxes::command_policy::{CommandRefusal, Decision, Request, check_variable, decide};

use super::arguments::{DEFAULT_READ_BYTES, KillSignal, ProcessKill, ProcessOutput, Run, RunBackground};
use super::shown;
use super::{CommandStart, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::shell::{Command, Poll, ProcessId, ProcessState, Shell, Signal, Start};
use crate::{Error, WorkspacePath};

type ToolResult = Result<ToolOutput, ToolError>;

pub(super) async fn run(shell: &dyn Shell, arguments: &Run, context: &ToolContext) -> ToolResult {
    let command = judge_run(arguments, context)?;
    let result = match (&context.start, &context.output) {
        (CommandStart::TakeUp(key), sink) => {
            let events = shell.attach(key).await?.ok_or_else(unknown_command)?;
            shown::to_the_end(events, sink.as_ref()).await?
        }
        (start, sink) => {
            let command = Command { key: start.key().cloned(), ..command };
            match sink {
                Some(sink) => shown::to_the_end(shell.stream(command).await?, Some(sink)).await?,
                None => shell.run(command).await?,
            }
        }
    };
    let answer = json!({
        "exit_code": result.exit_code,
        "signal": result.signal,
        "timed_out": result.timed_out,
        "stdout": String::from_utf8_lossy(&result.stdout.bytes),
        "stderr": String::from_utf8_lossy(&result.stderr.bytes),
        "truncated": result.stdout.truncated || result.stderr.truncated,
        "total_bytes": result.stdout.total_bytes + result.stderr.total_bytes,
        "duration_ms": result.duration_ms,
    });
    let effect = ToolEffect::CommandRan {
        exit_code: result.exit_code,
        signal: result.signal,
        timed_out: result.timed_out,
    };
    Ok(ToolOutput { answer, effect })
}

pub(super) async fn run_background(
    shell: &dyn Shell,
    arguments: &RunBackground,
    context: &ToolContext,
) -> ToolResult {
    let command = judge_background(arguments, context)?;
    let process = shell.start(Start { command, pty: None }).await?;
    let answer = json!({
        "process_id": process.id.0,
        "program": process.program,
        "started_at": process.started_at.to_string(),
    });
    Ok(ToolOutput { answer, effect: ToolEffect::ProcessStarted(process) })
}

pub(super) async fn process_output(shell: &dyn Shell, arguments: &ProcessOutput) -> ToolResult {
    let poll = Poll {
        offset: arguments.offset,
        max_bytes: arguments.max_bytes.unwrap_or(DEFAULT_READ_BYTES),
        wait_ms: arguments.wait_ms.unwrap_or(0),
    };
    let polled = shell.poll(ProcessId(arguments.process_id), poll).await?;
    let held_back = match polled.state {
        ProcessState::Running => unfinished_character(&polled.bytes),
        ProcessState::Exited { .. } => 0,
    };
    let shown = &polled.bytes[..polled.bytes.len() - held_back];
    let mut answer = json!({
        "output": String::from_utf8_lossy(shown),
        "offset": polled.offset,
        "next_offset": polled.next_offset - held_back as u64,
        "state": "running",
    });
    if let ProcessState::Exited { exit_code, signal, timed_out } = polled.state {
        answer["state"] = json!("exited");
        answer["exit_code"] = json!(exit_code);
        answer["signal"] = json!(signal);
        answer["timed_out"] = json!(timed_out);
    }
    Ok(ToolOutput::unchanged(answer))
}

pub(super) async fn process_kill(shell: &dyn Shell, arguments: &ProcessKill) -> ToolResult {
    let signal = match arguments.signal {
        KillSignal::Interrupt => Signal::Interrupt,
        KillSignal::Terminate => Signal::Terminate,
        KillSignal::Kill => Signal::Kill,
    };
    shell.kill(ProcessId(arguments.process_id), signal).await?;
    Ok(ToolOutput::unchanged(json!({"process_id": arguments.process_id})))
}

pub(super) fn judge_run(run: &Run, context: &ToolContext) -> Result<Command, ToolError> {
    let request = request(run.argv.as_deref(), run.command.as_deref());
    let command = judge("workspace_run", request, &run.env, context)?;
    Ok(Command {
        cwd: WorkspacePath::parse(&run.cwd)?,
        env: run.env.clone(),
        stdin: Bytes::from(run.stdin.clone()),
        timeout_ms: run.timeout_ms,
        ..command
    })
}

pub(super) fn judge_background(run: &RunBackground, context: &ToolContext) -> Result<Command, ToolError> {
    let request = request(run.argv.as_deref(), run.command.as_deref());
    let command = judge("workspace_run_background", request, &run.env, context)?;
    Ok(Command { cwd: WorkspacePath::parse(&run.cwd)?, env: run.env.clone(), ..command })
}

fn unknown_command() -> Error {
    let detail = "nothing is known here of a command that was begun earlier";
    Error::operation(ErrorCode::ProcessNotFound, detail)
}

/// The arguments were checked: exactly one of the two is there.
fn request<'a>(argv: Option<&'a [String]>, command: Option<&'a str>) -> Request<'a> {
    match (argv, command) {
        (Some(words), _) => Request::Argv(words),
        (None, text) => Request::Command(text.unwrap_or_default()),
    }
}

fn judge(
    tool: &str,
    request: Request<'_>,
    env: &BTreeMap<String, String>,
    context: &ToolContext,
) -> Result<Command, ToolError> {
    let note = |refusal: CommandRefusal| {
        context.refusals.record(context.workspace_id, tool, &refusal);
        ToolError::Refused(refusal)
    };
    env.keys().try_for_each(|name| check_variable(name)).map_err(note)?;
    if let Some(name) = env.keys().find(|name| context.secrets.contains(name)) {
        return Err(note(secrets::not_for_models(name)));
    }
    match decide(&context.policy, context.is_boxed, request) {
        Decision::Argv(words) => Ok(Command::argv(words)),
        Decision::Script(text) => Ok(Command::script(text)),
        Decision::Refused(refusal) => Err(note(refusal)),
    }
}

/// Bytes at the end that are the beginning of a character whose rest has not come yet.
pub(super) fn unfinished_character(bytes: &[u8]) -> usize {
    // A character has at most four bytes, so at most three of it can wait for the rest.
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let Some(lead) = tail.iter().rposition(|byte| byte & 0b1100_0000 != 0b1000_0000) else {
        return 0;
    };
    let needed = match tail[lead] {
        0b1100_0000..=0b1101_1111 => 2,
        0b1110_0000..=0b1110_1111 => 3,
        0b1111_0000..=0b1111_0111 => 4,
        _ => 1,
    };
    let present = tail.len() - lead;
    if present < needed { present } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::unfinished_character;

    #[test]
    fn a_character_cut_by_a_poll_waits_for_its_rest() {
        let text = "a漢🦀é".as_bytes();
        for end in 0..=text.len() {
            let whole = end - unfinished_character(&text[..end]);
            assert!(std::str::from_utf8(&text[..whole]).is_ok(), "{end}");
            assert!(end - whole <= 3);
        }
        assert_eq!(unfinished_character(b"\xff\xff\xff"), 0);
        assert_eq!(unfinished_character(b"\x80\x80\x80\x80"), 0);
    }
}
