//! What went wrong, as it is told to a person: a code, a sentence, causes, and one thing to try.

use std::io;
use std::path::Path;

use serde::Serialize;
use warren_api::client;
use warren_model::ErrorCode;

use crate::config::without_secrets;
use crate::exit::Exit;

pub(crate) type Outcome<T> = Result<T, Failure>;

#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of our output is gone. That is how `… | head` ends, and nothing to talk about.
    BrokenPipe,
    Told(Box<Report>),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Report {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    #[serde(skip)]
    pub(crate) exit: Exit,
}

impl Report {
    /// The sentence and remedy of the table.
    pub(crate) fn new(code: ErrorCode) -> Self {
        let entry = code.entry();
        let exit = match code {
            ErrorCode::ServerUnreachable => Exit::UNAVAILABLE,
            ErrorCode::InvalidUsage => Exit::USAGE,
            _ => Exit::of_status(entry.status),
        };
        Self {
            code: entry.code.to_owned(),
            message: entry.sentence.to_owned(),
            causes: Vec::new(),
            hint: Some(entry.remedy.to_owned()),
            request_id: None,
            exit,
        }
    }

    #[must_use]
    pub(crate) fn because(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Clap's words for a wrong command line, without its own `error:`.
    pub(crate) fn usage(text: &str) -> Self {
        // What is missing stands in the lines beneath the first, up to an empty one.
        let lines: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let said = lines.join(" ");
        Self::new(ErrorCode::InvalidUsage).because(said.strip_prefix("error: ").unwrap_or(&said))
    }

    /// A file of this machine, not of a workspace.
    pub(crate) fn local_file(path: &Path, error: &io::Error) -> Self {
        Self::new(ErrorCode::LocalFileFailed).because(format!("{}: {error}", path.display()))
    }
}

impl From<Report> for Failure {
    fn from(report: Report) -> Self {
        Self::Told(Box::new(report))
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Report::new(code).into()
    }
}

impl From<warren_api::Problem> for Report {
    fn from(problem: warren_api::Problem) -> Self {
        Self {
            exit: Exit::of_status(problem.status),
            hint: Some(command_remedy(&problem.code).map_or(problem.remedy, str::to_owned)),
            code: problem.code,
            message: problem.title,
            causes: problem.detail.into_iter().collect(),
            request_id: Some(problem.request_id),
        }
    }
}

/// The remedy at the command line, for codes whose own names a route.
fn command_remedy(code: &str) -> Option<&'static str> {
    Some(match code {
        "unauthenticated" => {
            "On the server's machine, name its data folder (`--data DIR`, or WARREN_DATA), and no token is needed. Elsewhere set \
             WARREN_URL and WARREN_TOKEN; whoever runs the server makes one with `warren token create NAME`."
        }
        "workspace_exists" => {
            "Choose another name, or use the one that is there (`warren ws show NAME`). Removing it (`warren ws rm NAME`) \
             leaves the name free."
        }
        "agent_not_found" => "`warren agent ls` lists agents; `warren agent put FILE` stores one.",
        "session_not_found" => "List sessions with `warren session ls`.",
        "session_busy" => {
            "Wait for its end, send with `--mode queue`, `steer` or `interrupt`, or stop the run."
        }
        "stale_run" => "Look with `warren session show SESSION`.",
        "not_pending" => "See what waits with `warren session show SESSION`.",
        "nothing_to_resume" => {
            "Say something with `warren run PROMPT --session SESSION`; `warren session show SESSION` tells what it waits for."
        }
        "session_message_not_found" => "See which messages wait with `warren session show SESSION`.",
        "step_not_found" => "List its steps with `warren session steps SESSION`.",
        _ => return None,
    })
}

impl From<client::Error> for Report {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Problem(problem) => Self::from(*problem),
            client::Error::InvalidUrl { url, reason } => Self::new(ErrorCode::InvalidUsage)
                .because(format!("`{}` is not the address of a server: {reason}", without_secrets(&url)))
                .hint("Give an address such as `--url http://127.0.0.1:7878`, or set WARREN_URL."),
            client::Error::InvalidToken => Self::new(ErrorCode::Unauthenticated).because(error.to_string()),
            client::Error::Unsendable => Self::new(ErrorCode::InvalidUsage)
                .because(error.to_string())
                .hint("Write names and ids as the lists show them."),
            client::Error::Unreachable { .. }
            | client::Error::Interrupted { .. }
            | client::Error::Disconnected { .. }
            | client::Error::Silent => {
                let report = Self::new(ErrorCode::ServerUnreachable).because(error.to_string());
                match root_cause(&error) {
                    Some(cause) => report.because(cause),
                    None => report,
                }
            }
            client::Error::BadAnswer { detail } => Self::new(ErrorCode::UnexpectedAnswer).because(detail),
        }
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        Report::from(error).into()
    }
}

/// The last of the chain: of "error sending request: client error: tcp connect error: refused" the end is what
/// helps.
fn root_cause(error: &dyn std::error::Error) -> Option<String> {
    let mut last = error.source()?;
    while let Some(next) = last.source() {
        last = next;
    }
    Some(last.to_string())
}

/// Writing to stdout or stderr failed.
pub(crate) fn of_output(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Failure::BrokenPipe
    } else {
        Report::new(ErrorCode::LocalFileFailed).because(format!("standard output: {error}")).into()
    }
}
