//! `warren ws exec`: output as it comes, and the command's own exit code.

use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use warren_api::client::Client;
use warren_api::{ExecFrame, ExecRequest, ExecResult};
use warren_model::ErrorCode;

use crate::arguments::ExecArguments;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome, Report};
use crate::workspace_name::resolve;

/// The server takes no more in one request; more belongs in a file.
const MAX_STDIN_BYTES: u64 = 1 << 20;

pub(crate) async fn run(context: &Context, client: &Client, arguments: ExecArguments) -> Outcome<Exit> {
    carry_out(context, client, arguments).await.map_err(with_exec_exit)
}

async fn carry_out(context: &Context, client: &Client, arguments: ExecArguments) -> Outcome<Exit> {
    let id = resolve(client, &arguments.workspace).await?;
    let request = request(arguments)?;
    if context.output.is_json {
        let result = client.exec(&id, &request).await?;
        context.output.json(&result)?;
        return Ok(exit_of(&result));
    }
    stream(context, client, &id, &request).await
}

fn request(arguments: ExecArguments) -> Outcome<ExecRequest> {
    let stdin = if arguments.stdin { Some(read_stdin()?) } else { None };
    Ok(ExecRequest {
        argv: arguments.shell.is_none().then_some(arguments.command),
        command: arguments.shell,
        cwd: arguments.cwd,
        env: arguments.env.into_iter().collect::<BTreeMap<_, _>>(),
        stdin,
        timeout_ms: arguments.timeout.map(|span| span.ms),
        spill_to: None,
    })
}

fn read_stdin() -> Outcome<String> {
    let mut text = String::new();
    let unusable = |cause: String| {
        Report::new(ErrorCode::InvalidUsage)
            .because(cause)
            .hint("Put it into a file with `warren ws files put`, and let the command read that.")
    };
    let mut input = std::io::stdin().lock().take(MAX_STDIN_BYTES + 1);
    input.read_to_string(&mut text).map_err(|error| unusable(format!("standard input: {error}")))?;
    if text.len() as u64 > MAX_STDIN_BYTES {
        return Err(unusable(format!("standard input is longer than {MAX_STDIN_BYTES} bytes")).into());
    }
    Ok(text)
}

async fn stream(context: &Context, client: &Client, id: &str, request: &ExecRequest) -> Outcome<Exit> {
    let mut frames = client.exec_stream(id, request).await?;
    while let Some(frame) = frames.next().await {
        match frame? {
            ExecFrame::Stdout { base64 } => context.output.bytes(&decode(&base64)?)?,
            ExecFrame::Stderr { base64 } => context.output.error_bytes(&decode(&base64)?)?,
            ExecFrame::Failed { problem } => return Err(Report::from(problem).into()),
            ExecFrame::Finished { result } => {
                if result.timed_out {
                    context.output.note(&format!(
                        "The command ran into its time limit after {} ms.",
                        result.duration_ms
                    ));
                }
                return Ok(exit_of(&result));
            }
        }
    }
    Err(Report::new(ErrorCode::ServerUnreachable)
        .because("the stream ended before the command did; it may have had its effect")
        .into())
}

pub(super) fn decode(text: &str) -> Outcome<Vec<u8>> {
    STANDARD.decode(text).map_err(|error| {
        Report::new(ErrorCode::UnexpectedAnswer)
            .because(format!("the command's output cannot be read: {error}"))
            .into()
    })
}

fn exit_of(result: &ExecResult) -> Exit {
    Exit::of_command(result.exit_code, result.signal, result.timed_out)
}

/// Whoever reads the exit code must be able to tell the command's from ours.
pub(super) fn with_exec_exit(failure: Failure) -> Failure {
    match failure {
        Failure::BrokenPipe => Failure::BrokenPipe,
        Failure::Told(mut report) => {
            report.exit = match report.code.as_str() {
                code if code == ErrorCode::ProgramNotFound.as_str() => Exit::COMMAND_NOT_FOUND,
                code if code == ErrorCode::CommandRefused.as_str() => Exit::COMMAND_REFUSED,
                _ => Exit::COMMAND_NOT_RUN,
            };
            Failure::Told(report)
        }
    }
}
