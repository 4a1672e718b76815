//! `warren ws shell` and `warren ws attach`: this terminal, connected to a process in a workspace.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use warren_api::client::{
    Client, Terminal, TerminalInput, TerminalMessage, TerminalOutput, TerminalQuery, WorkspaceQuery,
};
use warren_api::{PtySize, StartProcess, TerminalFrame};
use warren_model::ErrorCode;

use super::exec::with_exec_exit;
use super::local_files;
use crate::arguments::{AttachArguments, ShellArguments};
use crate::context::Context;
use crate::detach_key::DetachKey;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome, Report};
use crate::output::Output;
use crate::raw_mode::{self, RawMode};
use crate::workspace_name::resolve;

pub(crate) async fn run(context: &Context, client: &Client, arguments: ShellArguments) -> Outcome<Exit> {
    open_shell(context, client, arguments).await.map_err(with_exec_exit)
}

pub(crate) async fn attach(context: &Context, client: &Client, arguments: &AttachArguments) -> Outcome<Exit> {
    let attached = async {
        need_terminal("`warren ws logs --follow` shows the output of a process without one.")?;
        let workspace = resolve(client, &arguments.workspace).await?;
        let query = TerminalQuery {
            process: Some(arguments.process),
            offset: arguments.from,
            ..sized(TerminalQuery::default())
        };
        connect(context, client, &workspace, &query).await
    };
    attached.await.map_err(with_exec_exit)
}

async fn open_shell(context: &Context, client: &Client, arguments: ShellArguments) -> Outcome<Exit> {
    need_terminal("`warren ws exec` runs a command without one.")?;
    let workspace = match &arguments.workspace {
        Some(name) => resolve(client, name).await?,
        None => only_workspace(client).await?,
    };
    let mut query = TerminalQuery { ends_with_connection: arguments.end, ..sized(TerminalQuery::default()) };
    if arguments.command.is_empty() && arguments.env.is_empty() {
        query.cwd = arguments.cwd;
    } else {
        query.process = Some(start(client, &workspace, arguments).await?);
    }
    connect(context, client, &workspace, &query).await
}

/// What a terminal cannot be asked for in its address is started first.
async fn start(client: &Client, workspace: &str, arguments: ShellArguments) -> Outcome<u32> {
    let has_program = !arguments.command.is_empty();
    let request = StartProcess {
        argv: has_program.then_some(arguments.command),
        command: (!has_program).then(|| "command -v bash >/dev/null 2>&1 && exec bash; exec sh".to_owned()),
        cwd: arguments.cwd,
        env: arguments.env.into_iter().collect::<BTreeMap<_, _>>(),
        pty: Some(raw_mode::size().unwrap_or(PtySize { rows: 24, columns: 80 })),
        ..StartProcess::default()
    };
    Ok(client.start_process(workspace, &request).await?.id)
}

fn sized(query: TerminalQuery) -> TerminalQuery {
    let size = raw_mode::size();
    TerminalQuery { rows: size.map(|size| size.rows), columns: size.map(|size| size.columns), ..query }
}

fn need_terminal(instead: &str) -> Outcome<()> {
    if raw_mode::is_interactive() {
        return Ok(());
    }
    Err(Report::new(ErrorCode::InvalidUsage)
        .because("standard input and output are not both a terminal")
        .hint(instead)
        .into())
}

async fn only_workspace(client: &Client) -> Outcome<String> {
    let query = WorkspaceQuery { limit: Some(2), ..WorkspaceQuery::default() };
    match client.workspaces(&query).await?.items.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => Err(Report::new(ErrorCode::WorkspaceNotFound)
            .because("there is no workspace yet")
            .hint("Make one with `warren ws create NAME`.")
            .into()),
        _ => Err(Report::new(ErrorCode::AmbiguousName)
            .because("there are several workspaces, and none was named")
            .hint("Name one: `warren ws shell NAME`; `warren ws ls` lists them.")
            .into()),
    }
}

/// How a connection ended.
#[derive(Debug)]
enum Ended {
    Exited {
        exit_code: Option<i32>,
        signal: Option<i32>,
        timed_out: bool,
    },
    Detached,
    /// A signal for this program.
    Signalled(u8),
}

/// Where a connection stands, for whoever has to pick it up again.
#[derive(Debug, Default)]
struct Place {
    process: Option<u32>,
    offset: u64,
}

async fn connect(
    context: &Context,
    client: &Client,
    workspace: &str,
    query: &TerminalQuery,
) -> Outcome<Exit> {
    let Terminal { mut input, mut output } = client.terminal(workspace, query).await?;
    let mut place = Place::default();
    let ended = {
        let _raw = RawMode::enter().map_err(|error| unusable_terminal(&error))?;
        let mut farewells = Farewells::new().map_err(|error| unusable_terminal(&error))?;
        tokio::select! {
            ended = show_output(context.output, &mut output, &mut place) => ended,
            ended = pass_input(&mut input) => ended,
            signal = farewells.next() => Ok(Ended::Signalled(signal)),
        }
    };
    // The terminal is the person's again: now there can be talk.
    let ended = ended.map_err(|failure| with_way_back(failure, workspace, &place))?;
    if matches!(ended, Ended::Detached | Ended::Signalled(_)) {
        let _ = input.close().await;
    }
    tell(context, workspace, &place, &ended)?;
    Ok(match ended {
        Ended::Exited { exit_code, signal, timed_out } => Exit::of_command(exit_code, signal, timed_out),
        Ended::Detached => Exit::OK,
        Ended::Signalled(number) => Exit(128_u8.saturating_add(number)),
    })
}

fn tell(context: &Context, workspace: &str, place: &Place, ended: &Ended) -> Outcome<()> {
    let is_detached = !matches!(ended, Ended::Exited { .. });
    if context.output.is_json {
        let (exit_code, signal, timed_out) = match *ended {
            Ended::Exited { exit_code, signal, timed_out } => (exit_code, signal, timed_out),
            Ended::Detached | Ended::Signalled(_) => (None, None, false),
        };
        return context.output.json(&json!({
            "process": place.process,
            "detached": is_detached,
            "exit_code": exit_code,
            "signal": signal,
            "timed_out": timed_out,
        }));
    }
    if let (Ended::Detached, Some(process)) = (ended, place.process) {
        context.output.note(&format!(
            "\nDetached from process {process}. Lead back with `warren ws attach {workspace} {process}`."
        ));
    }
    if matches!(ended, Ended::Exited { timed_out: true, .. }) {
        context.output.note("The process ran into its time limit.");
    }
    Ok(())
}

/// Prints what the process prints until it ends.
async fn show_output(screen: Output, output: &mut TerminalOutput, place: &mut Place) -> Outcome<Ended> {
    while let Some(message) = output.next().await {
        match message? {
            TerminalMessage::Output(bytes) => {
                screen.bytes(&bytes)?;
                place.offset += bytes.len() as u64;
            }
            TerminalMessage::Frame(TerminalFrame::Attached { process, offset, .. }) => {
                *place = Place { process: Some(process.id), offset };
            }
            TerminalMessage::Frame(TerminalFrame::Skipped { offset }) => place.offset = offset,
            // The terminal's own way to say that a key was not taken.
            TerminalMessage::Frame(TerminalFrame::InputRefused { .. }) => screen.bytes(b"\x07")?,
            TerminalMessage::Frame(TerminalFrame::Exited { exit_code, signal, timed_out }) => {
                return Ok(Ended::Exited { exit_code, signal, timed_out });
            }
            TerminalMessage::Frame(TerminalFrame::Closing { code, .. }) => {
                let code = ErrorCode::parse(&code).unwrap_or(ErrorCode::ServerUnreachable);
                return Err(Report::new(code).because("the server closed the terminal").into());
            }
        }
    }
    Err(Report::new(ErrorCode::ServerUnreachable).because("the connection broke off").into())
}

/// Passes on what is typed, and every new size of the terminal, until somebody types the way out.
async fn pass_input(input: &mut TerminalInput) -> Outcome<Ended> {
    let mut resized = signal(SignalKind::window_change()).map_err(|error| unusable_terminal(&error))?;
    let mut keyboard = pin!(local_files::stdin()?);
    let mut key = DetachKey::new();
    loop {
        tokio::select! {
            read = keyboard.next() => {
                // A terminal that hung up reads as an end.
                let Some(read) = read else { return Ok(Ended::Detached) };
                let typed = key.look(&read.map_err(|error| unusable_terminal(&error))?);
                input.write(&typed.bytes).await?;
                if typed.is_detach {
                    return Ok(Ended::Detached);
                }
            }
            _ = resized.recv() => {
                if let Some(size) = raw_mode::size() {
                    input.resize(size).await?;
                }
            }
        }
    }
}

/// Signals that end this program. They are waited for, so that the terminal is restored before.
struct Farewells {
    hang_up: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Farewells {
    fn new() -> io::Result<Self> {
        Ok(Self {
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> u8 {
        let kind = tokio::select! {
            _ = self.hang_up.recv() => SignalKind::hangup(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
        };
        u8::try_from(kind.as_raw_value()).unwrap_or(u8::MAX)
    }
}

fn unusable_terminal(error: &io::Error) -> Failure {
    Report::new(ErrorCode::LocalFileFailed).because(format!("this terminal: {error}")).into()
}

/// A process that goes on without its terminal must be findable.
fn with_way_back(failure: Failure, workspace: &str, place: &Place) -> Failure {
    match (failure, place.process) {
        (Failure::Told(mut report), Some(process)) => {
            report.hint = Some(format!(
                "The process may still be there: `warren ws attach {workspace} {process} --from {}`.",
                place.offset
            ));
            Failure::Told(report)
        }
        (failure, _) => failure,
    }
}
