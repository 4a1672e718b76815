//! The runner as a program, for boxes: static, since a box may have nothing in it.
//!
//! ```text
//!   warren-runner place PATH                                      puts its input there, for its owner alone
//!   warren-runner run FOLDER [--wedge-sign TEXT]… -- COMMAND…     speaks to Warren on its input and output
//! ```
//!
//! Warren starts it and nobody else does, so that it says little about itself: why it ended, in one line.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use warren_runner::{Credentials, LineApi, Settings, place, work};

const MAX_PLACED_BYTES: u64 = 64 << 10;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = match words.iter().map(|word| word.to_str()).collect::<Option<_>>() {
        Some(words) => words,
        None => return complain("arguments must be UTF-8"),
    };
    match words.split_first() {
        Some((&"place", [path])) => place_input(Path::new(path)),
        Some((&"run", [folder, rest @ ..])) => match settings(Path::new(folder), rest) {
            Some(settings) => run(&settings),
            None => complain("usage: warren-runner run FOLDER [--wedge-sign TEXT]... -- COMMAND..."),
        },
        _ => complain("usage: warren-runner place PATH | warren-runner run FOLDER [...] -- COMMAND..."),
    }
}

fn place_input(path: &Path) -> ExitCode {
    let mut contents = Vec::new();
    let read = std::io::stdin().take(MAX_PLACED_BYTES).read_to_end(&mut contents);
    match read.and_then(|_| place(path, &contents)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string()),
    }
}

fn settings(folder: &Path, rest: &[&str]) -> Option<Settings> {
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
    let file = |name: &str| -> PathBuf { folder.join(name) };
    let credentials = Credentials { join_token: file("join-token"), credential: file("credential") };
    (!command.is_empty()).then_some(Settings { command, credentials, wedge_signs })
}

fn run(settings: &Settings) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error.to_string()),
    };
    let ended = runtime.block_on(async {
        let api = LineApi::new(tokio::io::stdin(), tokio::io::stdout());
        work(&api, settings).await
    });
    // A thread may still wait for input that will not come.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string()),
    }
}

fn complain(sentence: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "warren-runner: {sentence}");
    ExitCode::FAILURE
}
