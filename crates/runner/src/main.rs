//! The runner as a program, for boxes: static, since a box may have nothing in it.
//!
//! ```text
//!   warren-runner run [OPTIONS] -- COMMAND…                speaks to Warren on its input and output
//!   warren-runner doors                                    carries the doors of a box that has no resident agent
//!   warren …                                               asks Warren for something, for programs that know no MCP
//! ```
//!
//! Beside its work, `run` carries the doors of its box too.
//!
//! The first line of its input is its join token. Warren starts it and nobody else does, so that it says little about
//! itself: why it ended, in one line.
//!
//! Surprise: the programs of its box are the same user. What keeps them from its memory and its descriptors is that it is
//! not *dumpable*. It asks for that itself, and has it from its first instruction on, since its file cannot be read by the
//! user that executes it (`providers/src/boxes/program.rs`): whoever waits for it to start finds no moment in between.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use warren_runner::doors::Doors;
use warren_runner::{Adapter, AgentOptions, Credentials, Error, LineApi, Settings, tool, work};

/// Of the line with the join token.
const MAX_TOKEN_BYTES: u64 = 4 << 10;
/// Beside the program's own files, which are gone when this one is.
const SESSIONS_FILE: &str = ".warren/acp-sessions.json";
const USAGE: &str = "usage: warren-runner run [--adapter stdio|json|acp|a2a] [--mode MODE] [--initial-prompt TEXT] \
    [--a2a-url URL] [--declares CAPABILITY]... [--idle-timeout-seconds N] [--start-timeout-seconds N] \
    [--wedge-sign TEXT]... -- COMMAND...";

fn main() -> ExitCode {
    if let Err(error) = hide_from_programs() {
        return complain(&format!("it cannot be hidden from the programs of its box: {error}"));
    }
    let own_name = std::env::args_os().next().unwrap_or_default();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = match words.iter().map(|word| word.to_str()).collect::<Option<_>>() {
        Some(words) => words,
        None => return complain("arguments must be UTF-8"),
    };
    if std::path::Path::new(&own_name).file_name().is_some_and(|name| name == tool::NAME) {
        return tool::main(&words);
    }
    match words.split_first() {
        Some((&"tool", rest)) => tool::main(rest),
        Some((&"doors", [])) => carry_doors(),
        Some((&"run", rest)) => match settings(rest) {
            Some(settings) => run(settings),
            None => complain(USAGE),
        },
        _ => complain(USAGE),
    }
}

/// Before anything secret is read: from now on nobody of its own user opens its descriptors or reads its memory.
fn hide_from_programs() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// All but the credentials, which come on the input.
fn settings(rest: &[&str]) -> Option<Settings> {
    let end = rest.iter().position(|word| *word == "--")?;
    let (words, command) = (&rest[..end], &rest[end + 1..]);
    let (mut wedge_signs, mut adapter) = (Vec::new(), Adapter::default());
    let variable = |name: &str| {
        let found = std::env::vars_os().find(|(known, _)| known == name)?.1.into_string().ok()?;
        Some(found).filter(|value| !value.is_empty())
    };
    let mut options = AgentOptions {
        root: std::env::current_dir().ok()?,
        sessions_file: variable("HOME").map(|home| PathBuf::from(home).join(SESSIONS_FILE)),
        tools_url: variable("WARREN_MCP_URL"),
        ..AgentOptions::default()
    };
    for pair in words.chunks(2) {
        match pair {
            ["--wedge-sign", sign] => wedge_signs.push((*sign).to_owned()),
            ["--adapter", name] => adapter = Adapter::parse(name)?,
            ["--mode", mode] => options.mode = Some((*mode).to_owned()),
            ["--initial-prompt", text] => options.initial_prompt = Some((*text).to_owned()),
            ["--a2a-url", url] => options.a2a_url = Some((*url).to_owned()),
            ["--idle-timeout-seconds", seconds] => options.idle_timeout_seconds = Some(seconds.parse().ok()?),
            ["--start-timeout-seconds", seconds] => {
                options.start_timeout = Duration::from_secs(seconds.parse().ok()?);
            }
            ["--declares", name] => declare(&mut options, name)?,
            _ => return None,
        }
    }
    let command: Vec<_> = command.iter().map(|word| (*word).to_owned()).collect();
    let credentials = Credentials::InMemory { join_token: String::new() };
    (!command.is_empty()).then_some(Settings { command, credentials, wedge_signs, adapter, options })
}

/// Something that the program takes over from Warren.
fn declare(options: &mut AgentOptions, name: &str) -> Option<()> {
    let capabilities = options.capabilities.get_or_insert_default();
    let switch = match name {
        "scheduler" => &mut capabilities.scheduler,
        "session" => &mut capabilities.session,
        "status_mgmt" => &mut capabilities.status_mgmt,
        "deduplication" => &mut capabilities.deduplication,
        _ => return None,
    };
    *switch = Some(true);
    Some(())
}

fn run(settings: Settings) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error.to_string()),
    };
    let ended = runtime.block_on(async {
        let mut input = BufReader::new(tokio::io::stdin());
        let mut line = String::new();
        if (&mut input).take(MAX_TOKEN_BYTES).read_line(&mut line).await.is_err() {
            return Err(Error::NoJoinToken);
        }
        let credentials = Credentials::InMemory { join_token: line.trim().to_owned() };
        let api = LineApi::new(input, tokio::io::stdout());
        let _doors = Doors::listen().await.serve(api.streams());
        work(&api, &Settings { credentials, ..settings }).await
    });
    // A thread may still wait for input that will not come.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string()),
    }
}

/// Until Warren is gone.
fn carry_doors() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error.to_string()),
    };
    runtime.block_on(async {
        let doors = Doors::listen().await;
        // Before anything else is said: whoever waits for the doors may go on.
        let mut output = tokio::io::stdout();
        let line = format!("{}\n", warren_api::DOORS_ARE_OPEN);
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
        let mut api = LineApi::new(tokio::io::stdin(), output);
        let _doors = doors.serve(api.streams());
        api.ended().await;
    });
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

fn complain(sentence: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "warren-runner: {sentence}");
    ExitCode::FAILURE
}
