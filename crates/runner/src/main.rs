//! The runner as a program, for boxes: static, since a box may have nothing in it.
//!
//! ```text
//!   warren-runner run [--wedge-sign TEXT]… -- COMMAND…     speaks to Warren on its input and output
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
use std::process::ExitCode;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use warren_runner::doors::Doors;
use warren_runner::{Credentials, Error, LineApi, Settings, tool, work};

/// Of the line with the join token.
const MAX_TOKEN_BYTES: u64 = 4 << 10;

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
        Some((&"run", rest)) => match arguments(rest) {
            Some((command, wedge_signs)) => run(command, wedge_signs),
            None => complain("usage: warren-runner run [--wedge-sign TEXT]... -- COMMAND..."),
        },
        _ => complain("usage: warren-runner run [...] -- COMMAND..."),
    }
}

/// Before anything secret is read: from now on nobody of its own user opens its descriptors or reads its memory.
fn hide_from_programs() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// The command, and the signs of a wedge.
fn arguments(rest: &[&str]) -> Option<(Vec<String>, Vec<String>)> {
    let end = rest.iter().position(|word| *word == "--")?;
    let (options, command) = (&rest[..end], &rest[end + 1..]);
    let mut wedge_signs = Vec::new();
    for pair in options.chunks(2) {
        match pair {
            ["--wedge-sign", sign] => wedge_signs.push((*sign).to_owned()),
            _ => return None,
        }
    }
    let command: Vec<_> = command.iter().map(|word| (*word).to_owned()).collect();
    (!command.is_empty()).then_some((command, wedge_signs))
}

fn run(command: Vec<String>, wedge_signs: Vec<String>) -> ExitCode {
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
        work(&api, &Settings { command, credentials, wedge_signs }).await
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
