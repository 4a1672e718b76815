//! The one binary, `warren`: the commands people type, the config tree, and the place where all rooms are put
//! together into a server (`warren up`).
//!
//! stdout is data, stderr is talk. Every command but `up`, `doctor` and `config` is a client of the public API and
//! works the same against a server elsewhere.

mod access;
mod arguments;
mod commands;
pub mod config;
mod confirmation;
mod context;
mod data_folder;
mod database;
mod detach_key;
mod doctor;
mod exit;
mod failure;
mod hints;
mod names;
mod nearest;
mod output;
mod raw_mode;
pub mod reference;
mod table;
mod terminal_text;
mod up;
mod workspace_name;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use warren_doors::Environment;

use crate::arguments::Arguments;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Reads the command line, carries it out, and says how it went.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage_exit(&error).into(),
    };
    let context = Context::new(arguments.global, Environment::of_process());
    let outcome = commands::run(&context, arguments.command);
    let exit = match outcome {
        Ok(exit) => exit,
        Err(Failure::BrokenPipe) => Exit::OK,
        Err(Failure::Told(report)) => {
            context.output.report(&report);
            report.exit
        }
    };
    exit.into()
}

/// What somebody typed where a command was expected.
fn unknown_command(error: &clap::Error) -> Option<String> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => Some(word.clone()),
        _ => None,
    }
}

/// Help and version are data; a wrong command line is talk.
fn usage_exit(error: &clap::Error) -> Exit {
    let asks_for_json =
        std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    let hint = unknown_command(error).and_then(|word| hints::hint(&word));
    if error.use_stderr() && asks_for_json {
        let report = failure::Report::usage(&error.to_string());
        output::report_as_json(&match hint {
            Some(hint) => report.hint(hint),
            None => report,
        });
        return Exit::USAGE;
    }
    if let (Some(hint), Some(word)) = (hint, unknown_command(error)) {
        let word = terminal_text::visible(&word);
        // Nobody is left to tell when the terminal is gone.
        let _ = writeln!(io::stderr().lock(), "error: there is no command `{word}`\nhint: {hint}");
        return Exit::USAGE;
    }
    // Nobody is left to tell when the terminal is gone.
    let _ = error.print();
    if error.use_stderr() { Exit::USAGE } else { Exit::OK }
}
