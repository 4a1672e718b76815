//! The program, from its beginning to its loop.
//!
//! ```text
//!   options ─▶ confinement ─▶ serve ┬─ owner      frames from and to the owner
//!                                   ├─ job        one command: its pipes, input, output and end
//!                                   ├─ kept       what is remembered of a command that outlives its owner
//!                                   ├─ launch     clone + exec
//!                                   ├─ files      the process that serves files
//!                                   └─ children   what came back to us: reaped, or killed and reaped
//! ```

mod call;
mod children;
mod clock;
mod confinement;
mod descriptors;
mod event_loop;
mod files;
mod input;
mod job;
mod kept;
mod launch;
mod limits;
mod memory;
mod options;
mod output;
mod own_filter;
mod owner;
mod signals;
mod system_v;
mod table;
mod terminal;

use std::process::ExitCode;

/// What `sysexits.h` calls a usage error.
const USAGE: u8 = 64;
/// The box could not be taken over.
const SETUP: u8 = 70;

pub(super) fn main() -> ExitCode {
    let options = match options::parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(error) => return complain(&error.to_string(), USAGE),
    };
    match confinement::enter(&options) {
        Ok(prepared) => event_loop::EventLoop::new(&options, prepared).map_or_else(
            |errno| complain(&format!("the loop could not be set up: {errno}"), SETUP),
            |mut serve| serve.run(),
        ),
        Err(error) => complain(&error.to_string(), SETUP),
    }
}

#[expect(clippy::print_stderr, reason = "the only way to say why there will be no channel")]
fn complain(sentence: &str, code: u8) -> ExitCode {
    eprintln!("warren-init: {sentence}");
    ExitCode::from(code)
}
