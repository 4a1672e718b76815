//! What is printed: data to stdout, as tables for people or JSON for programs, and talk to stderr.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::arguments::ColorChoice;
use crate::failure::{Outcome, Report, of_output};
use crate::terminal_text::{visible, visible_json};
use crate::{raw_mode, table};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) is_json: bool,
    has_color: bool,
    /// The same for what is said beside the data.
    has_talk_color: bool,
}

/// For statuses and verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Careful,
    Bad,
    Quiet,
}

impl Tone {
    /// Of a workspace's, a task's, a session's or a process's status.
    pub(crate) fn of_status(status: &str) -> Self {
        match status {
            "online" | "running" | "completed" | "active" | "ok" => Self::Good,
            "provisioning" | "awaiting_agent" | "degraded" | "submitted" | "working" | "suspended"
            | "pending" | "queued" | "input_required" | "auth_required" => Self::Careful,
            "failed" | "offline" | "rejected" | "broken" => Self::Bad,
            _ => Self::Quiet,
        }
    }

    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Careful => "33",
            Self::Bad => "31",
            Self::Quiet => "2",
        }
    }
}

impl Output {
    pub(crate) fn new(is_json: bool, color: ColorChoice, no_color_is_set: bool) -> Self {
        let on = |is_terminal: bool| match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => !no_color_is_set && is_terminal,
        };
        let (has_color, has_talk_color) = (on(io::stdout().is_terminal()), on(io::stderr().is_terminal()));
        Self { is_json, has_color, has_talk_color }
    }

    /// One JSON document on one line.
    pub(crate) fn json(&self, value: &impl Serialize) -> Outcome<()> {
        let document = serde_json::to_string(value).expect("our own types are JSON");
        self.bytes(format!("{}\n", visible_json(&document)).as_bytes())
    }

    /// One line, made safe for a terminal.
    pub(crate) fn line(&self, text: &str) -> Outcome<()> {
        self.bytes(format!("{}\n", visible(text)).as_bytes())
    }

    /// Text of our own making, as it is.
    pub(crate) fn text(&self, text: &str) -> Outcome<()> {
        self.bytes(text.as_bytes())
    }

    /// Bytes exactly, at once.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Outcome<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| of_output(&error))
    }

    /// Bytes exactly, to stderr: the error output of a command.
    pub(crate) fn error_bytes(&self, bytes: &[u8]) -> Outcome<()> {
        io::stderr().lock().write_all(bytes).map_err(|error| of_output(&error))
    }

    /// A table without a frame, so that `awk` and `cut` can read it too.
    pub(crate) fn table(&self, header: &[&str], rows: &[Vec<String>]) -> Outcome<()> {
        self.text(&format!("{}\n", table::lines(header, rows, self.width()).join("\n")))
    }

    /// The same with the statuses of one column in their colours.
    pub(crate) fn table_with_statuses(
        &self,
        header: &[&str],
        rows: &[Vec<String>],
        column: usize,
    ) -> Outcome<()> {
        let lines = table::lines(header, rows, self.width());
        let paint = |status: &str| self.paint(status, Tone::of_status(status));
        let mut text = String::new();
        for (at, line) in lines.iter().enumerate() {
            let line = match at.checked_sub(1).and_then(|at| rows.get(at)) {
                Some(row) => table::painted(line, row, column, paint),
                None => line.clone(),
            };
            text.push_str(&line);
            text.push('\n');
        }
        self.text(&text)
    }

    /// How wide a line may be: what is read by a program is not cut.
    fn width(&self) -> Option<usize> {
        if !io::stdout().is_terminal() {
            return None;
        }
        raw_mode::size().map(|size| usize::from(size.columns))
    }

    pub(crate) fn paint(&self, text: &str, tone: Tone) -> String {
        if self.has_color { format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()) } else { text.to_owned() }
    }

    /// The same for standard error.
    pub(crate) fn paint_talk(&self, text: &str, tone: Tone) -> String {
        if self.has_talk_color { format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()) } else { text.to_owned() }
    }

    /// A sentence to the person at the terminal. It is not data, and losing it is no failure.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", visible(text));
    }

    /// What a list lacks, so that nobody takes it for complete.
    pub(crate) fn note_unreadable(&self, ids: &[String]) {
        if !ids.is_empty() {
            let ids = ids.join(", ");
            self.note(&format!("Not shown, since this version of Warren cannot read them: {ids}."));
        }
    }

    pub(crate) fn report(&self, report: &Report) {
        if self.is_json {
            report_as_json(report);
            return;
        }
        let mut text = format!("error[{}]: {}\n", report.code, visible(&report.message));
        for cause in &report.causes {
            text.push_str(&format!("  {}\n", visible(cause)));
        }
        if let Some(hint) = &report.hint {
            text.push_str(&format!("hint: {}\n", visible(hint)));
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

pub(crate) fn report_as_json(report: &Report) {
    let document = serde_json::json!({ "error": report }).to_string();
    let _ = writeln!(io::stderr().lock(), "{}", visible_json(&document));
}
