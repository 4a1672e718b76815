//! `warren ws start`, `ps`, `logs` and `kill`: processes in the background.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::Duration;

use futures_util::StreamExt as _;
use warren_api::client::Client;
use warren_api::{Process, ProcessFrame, ProcessState, PtySize, SignalName, StartProcess};
use warren_doors::{Clock as _, SystemClock};
use warren_model::{ErrorCode, Timestamp};

use super::exec::decode;
use super::workspace::age;
use crate::arguments::{KillArguments, KillSignal, LogsArguments, StartArguments};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::raw_mode;
use crate::terminal_text::VisibleBytes;
use crate::workspace_name::resolve;

/// Of a command line, in a list.
const SHOWN_CHARACTERS: usize = 60;
/// How long a process has to end before somebody is told that it did not.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) async fn start(context: &Context, client: &Client, arguments: StartArguments) -> Outcome<Exit> {
    let id = resolve(client, &arguments.workspace).await?;
    let usual = PtySize { rows: 24, columns: 80 };
    let request = StartProcess {
        argv: arguments.shell.is_none().then_some(arguments.command),
        command: arguments.shell,
        cwd: arguments.cwd,
        env: arguments.env.into_iter().collect::<BTreeMap<_, _>>(),
        stdin: None,
        timeout_ms: arguments.timeout.map(|span| span.ms),
        pty: arguments.pty.then(|| raw_mode::size().unwrap_or(usual)),
    };
    let process = client.start_process(&id, &request).await?;
    if context.output.is_json {
        context.output.json(&process)?;
    } else {
        context.output.line(&process.id.to_string())?;
    }
    Ok(Exit::OK)
}

pub(crate) async fn list(context: &Context, client: &Client, workspace: &str) -> Outcome<Exit> {
    let id = resolve(client, workspace).await?;
    let found = client.processes(&id).await?.items;
    if context.output.is_json {
        context.output.json(&found)?;
    } else if found.is_empty() {
        context.output.note("No processes. Start one with `warren ws start` or `warren ws shell`.");
    } else {
        let now = SystemClock.now();
        let rows: Vec<Vec<String>> = found.iter().map(|one| row(one, now)).collect();
        context.output.table(&["process", "command", "state", "terminal", "output", "age"], &rows)?;
    }
    Ok(Exit::OK)
}

fn row(process: &Process, now: Timestamp) -> Vec<String> {
    vec![
        process.id.to_string(),
        one_line(process.command_line.as_deref().unwrap_or(&process.program)),
        state(process),
        if process.has_pty { "yes" } else { "no" }.to_owned(),
        format!("{} bytes", process.output_bytes),
        age(&process.started_at, now),
    ]
}

/// A table has room for the beginning of a long one; `--json` has more of it.
fn one_line(line: &str) -> String {
    let flat: String = line.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    match flat.char_indices().nth(SHOWN_CHARACTERS) {
        Some((at, _)) => format!("{}…", &flat[..at]),
        None => flat,
    }
}

fn state(process: &Process) -> String {
    match process.state {
        ProcessState::Running => "running".to_owned(),
        ProcessState::Exited if process.timed_out => "timed out".to_owned(),
        ProcessState::Exited => match (process.exit_code, process.signal) {
            (Some(code), _) => format!("exited {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "ended".to_owned(),
        },
    }
}

pub(crate) async fn kill(context: &Context, client: &Client, arguments: &KillArguments) -> Outcome<Exit> {
    let id = resolve(client, &arguments.workspace).await?;
    let signal = match arguments.signal {
        KillSignal::Interrupt => SignalName::Interrupt,
        KillSignal::Terminate => SignalName::Terminate,
        KillSignal::Kill => SignalName::Kill,
    };
    for process in &arguments.processes {
        client.signal_process(&id, *process, signal).await?;
    }
    let running = still_running(client, &id, &arguments.processes).await?;
    if context.output.is_json {
        let document = serde_json::json!({ "signalled": arguments.processes, "running": running });
        context.output.json(&document)?;
    }
    if running.is_empty() {
        return Ok(Exit::OK);
    }
    let numbers: Vec<String> = running.iter().map(ToString::to_string).collect();
    let numbers = numbers.join(" ");
    context.output.note(&format!(
        "Still running: {numbers}. A shell at a terminal does not end when it is asked to; `warren ws kill {} {numbers} \
         --signal kill` ends it without asking.",
        arguments.workspace
    ));
    Ok(Exit::FAILURE)
}

/// Those that did not end within a moment. One that is no longer known has ended.
async fn still_running(client: &Client, id: &str, processes: &[u32]) -> Outcome<Vec<u32>> {
    let began = tokio::time::Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        let found = client.processes(id).await?.items;
        let is_running =
            |number: &u32| found.iter().any(|one| one.id == *number && one.state == ProcessState::Running);
        let running: Vec<u32> = processes.iter().copied().filter(is_running).collect();
        if running.is_empty() || began.elapsed() >= KILL_PATIENCE {
            return Ok(running);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}

pub(crate) async fn logs(context: &Context, client: &Client, arguments: &LogsArguments) -> Outcome<Exit> {
    let id = resolve(client, &arguments.workspace).await?;
    let is_shown = std::io::stdout().is_terminal() && !arguments.raw;
    let mut printer = Printer { context, shown: is_shown.then(VisibleBytes::default) };
    let offset = arguments.from.unwrap_or(0);
    if arguments.follow {
        follow(client, &id, arguments.process, offset, &mut printer).await?;
    } else {
        print_kept(client, &id, arguments.process, offset, &mut printer).await?;
    }
    printer.finish()?;
    Ok(Exit::OK)
}

/// What is there now. Output that comes meanwhile does not keep this going for ever.
async fn print_kept(
    client: &Client,
    id: &str,
    process: u32,
    mut offset: u64,
    printer: &mut Printer<'_>,
) -> Outcome<()> {
    let end = client.process(id, process).await?.output_bytes;
    while offset < end {
        let piece = client.process_output(id, process, offset).await?;
        if piece.next_offset <= offset {
            break;
        }
        offset = piece.next_offset;
        if printer.context.output.is_json {
            printer.context.output.json(&piece)?;
        } else {
            match &piece.output_base64 {
                Some(exact) => printer.print(&decode(exact)?)?,
                None => printer.print(piece.output.as_bytes())?,
            }
        }
    }
    Ok(())
}

async fn follow(
    client: &Client,
    id: &str,
    process: u32,
    offset: u64,
    printer: &mut Printer<'_>,
) -> Outcome<()> {
    let mut frames = client.follow_process(id, process, offset).await?;
    while let Some(frame) = frames.next().await {
        let frame = frame?;
        if printer.context.output.is_json {
            printer.context.output.json(&frame)?;
        }
        match frame {
            ProcessFrame::Output { base64, .. } if !printer.context.output.is_json => {
                printer.print(&decode(&base64)?)?;
            }
            ProcessFrame::Output { .. } => {}
            ProcessFrame::Exited { .. } => return Ok(()),
            ProcessFrame::Closing { code, next_offset } => {
                let code = ErrorCode::parse(&code).unwrap_or(ErrorCode::ServerUnreachable);
                let hint =
                    format!("Go on with `warren ws logs {id} {process} --follow --from {next_offset}`.");
                return Err(Report::new(code).because("the server closed the stream").hint(hint).into());
            }
        }
    }
    Err(Report::new(ErrorCode::ServerUnreachable).because("the stream broke off").into())
}

/// Prints exactly, or for a person at a terminal so that nothing drives it (sec/T08).
struct Printer<'a> {
    context: &'a Context,
    shown: Option<VisibleBytes>,
}

impl Printer<'_> {
    fn print(&mut self, bytes: &[u8]) -> Outcome<()> {
        match &mut self.shown {
            Some(shown) => self.context.output.text(&shown.show(bytes)),
            None => self.context.output.bytes(bytes),
        }
    }

    fn finish(&mut self) -> Outcome<()> {
        match self.shown.take() {
            Some(shown) => self.context.output.text(&shown.finish()),
            None => Ok(()),
        }
    }
}
