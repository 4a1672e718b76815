//! A session's stream as a person reads it: what the model says to standard output, what it does to standard error.

use std::collections::HashMap;
use std::io::{self, Write as _};

use serde_json::Value;
use warren_api::{Session, SessionEntry, SessionStatus};

use super::labels;
use crate::context::Context;
use crate::failure::{Outcome, of_output};
use crate::output::Tone;
use crate::terminal_text::{VisibleBytes, visible};

pub(super) struct Screen<'a> {
    context: &'a Context,
    /// Holds back half a character.
    text: VisibleBytes,
    /// Which line is not ended yet.
    open: Option<Line>,
    calls: HashMap<String, ShownCall>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Said,
    Thought,
    Printed,
}

#[derive(Debug, Default)]
struct ShownCall {
    label: String,
    /// Its output was shown as it came.
    has_output: bool,
}

impl<'a> Screen<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, text: VisibleBytes::default(), open: None, calls: HashMap::new() }
    }

    pub(super) fn entry(&mut self, entry: &SessionEntry) -> Outcome<()> {
        if self.context.output.is_json {
            return self.context.output.json(entry);
        }
        let text = |name: &str| entry.fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let value = |name: &str| entry.fields.get(name).unwrap_or(&Value::Null);
        match entry.kind.as_str() {
            "text_delta" => self.said(text("text"))?,
            "reasoning_delta" => self.dimmed(Line::Thought, text("text"))?,
            "call_proposed" => {
                let label = labels::call(text("tool"), value("arguments"));
                self.talk(&format!("→ {}", visible(&label)))?;
                self.calls.insert(text("call_id").to_owned(), ShownCall { label, has_output: false });
            }
            "call_decided" => self.call_decided(text("call_id"), value("decision"))?,
            "call_output" => {
                self.dimmed(Line::Printed, text("text"))?;
                self.calls.entry(text("call_id").to_owned()).or_default().has_output = true;
            }
            "call_ended" => self.call_ended(text("call_id"), text("outcome"), value("result"))?,
            "step_reset" => {
                let reason = visible(text("reason"));
                let told =
                    format!("↺ {reason}: the model is asked again; its unfinished words above do not count");
                self.talk(&self.painted(&told, Tone::Careful))?;
            }
            "step_answered" | "suspended" | "interrupted" | "run_ended" => self.end_line()?,
            _ => {}
        }
        Ok(())
    }

    /// What a person decided, where it says more than that the call goes on.
    fn call_decided(&mut self, call: &str, decision: &Value) -> Outcome<()> {
        let Some(edited) = decision.get("arguments").filter(|arguments| !arguments.is_null()) else {
            return Ok(());
        };
        let by = decision.get("by").and_then(Value::as_str).unwrap_or_default();
        let shown = self.calls.entry(call.to_owned()).or_default();
        let tool = shown.label.split(' ').next().unwrap_or_default().to_owned();
        shown.label = labels::call(&tool, edited);
        let line = format!("  {by} changed it to: {}", shown.label);
        self.talk(&self.painted(&visible(&line), Tone::Quiet))
    }

    fn call_ended(&mut self, call: &str, outcome: &str, result: &Value) -> Outcome<()> {
        let shown = self.calls.remove(call).unwrap_or_default();
        let label = if shown.label.is_empty() { call } else { &shown.label };
        let (sign, tone, word) = match outcome {
            "done" => ("✓", Tone::Good, ""),
            "denied" => ("✗", Tone::Careful, " (denied)"),
            "unknown" => ("?", Tone::Careful, " (cut; nobody knows how it ended)"),
            _ => ("✗", Tone::Bad, " (failed)"),
        };
        self.talk(&format!("{} {}{word}", self.painted(sign, tone), visible(label)))?;
        if !shown.has_output {
            for line in labels::preview(result) {
                self.talk(&self.painted(&format!("  {}", visible(&line)), Tone::Quiet))?;
            }
        }
        Ok(())
    }

    /// What the model says is data.
    fn said(&mut self, piece: &str) -> Outcome<()> {
        if self.open != Some(Line::Said) {
            self.end_line()?;
        }
        let shown = self.text.show(piece.as_bytes());
        self.context.output.bytes(shown.as_bytes())?;
        self.note_end(Line::Said, &shown);
        Ok(())
    }

    /// Pieces of thoughts, and of what a tool prints.
    fn dimmed(&mut self, line: Line, piece: &str) -> Outcome<()> {
        if self.open != Some(line) {
            self.end_line()?;
        }
        let mut lines = VisibleBytes::default();
        let mut shown = lines.show(piece.as_bytes());
        shown.push_str(&lines.finish());
        self.write(&self.painted(&shown, Tone::Quiet))?;
        self.note_end(line, &shown);
        Ok(())
    }

    fn note_end(&mut self, line: Line, shown: &str) {
        if !shown.is_empty() {
            self.open = (!shown.ends_with('\n')).then_some(line);
        }
    }

    /// Ends a line that is open, where it is open.
    pub(super) fn end_line(&mut self) -> Outcome<()> {
        match self.open.take() {
            Some(Line::Said) => {
                let rest = std::mem::take(&mut self.text).finish();
                self.context.output.text(&format!("{rest}\n"))
            }
            Some(Line::Thought | Line::Printed) => self.write("\n"),
            None => Ok(()),
        }
    }

    /// One line to the person, already safe for a terminal.
    pub(super) fn talk(&mut self, line: &str) -> Outcome<()> {
        self.end_line()?;
        self.write(&format!("{line}\n"))
    }

    /// A question; what is typed stands behind it.
    pub(super) fn prompt(&mut self, text: &str) -> Outcome<()> {
        self.end_line()?;
        self.write(text)
    }

    pub(super) fn painted(&self, text: &str, tone: Tone) -> String {
        self.context.output.paint_talk(text, tone)
    }

    fn write(&self, text: &str) -> Outcome<()> {
        let mut stderr = io::stderr().lock();
        stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).map_err(|error| of_output(&error))
    }

    /// How the run went, as one line.
    pub(super) fn closing(&mut self, session: &Session) -> Outcome<()> {
        let (sign, tone) = match session.status {
            SessionStatus::Completed => ("●", Tone::Good),
            SessionStatus::Failed => ("●", Tone::Bad),
            SessionStatus::Idle
            | SessionStatus::Running
            | SessionStatus::Suspended
            | SessionStatus::Interrupted => ("●", Tone::Careful),
        };
        let line = format!("{} · {}", status_words(session), usage(session));
        self.talk(&format!("{} {}", self.painted(sign, tone), self.painted(&visible(&line), Tone::Quiet)))
    }
}

fn status_words(session: &Session) -> String {
    let word = crate::commands::facts::word(session.status);
    match (&session.failure, session.finish.as_deref()) {
        (Some(failure), _) => format!("{word}: {}", failure.message),
        (None, None | Some("end_turn")) => word,
        (None, Some(finish)) => format!("{word} ({finish})"),
    }
}

/// What the latest run used.
fn usage(session: &Session) -> String {
    let used = &session.usage;
    let mut parts = vec![counted(used.steps.into(), "step"), counted(used.tokens, "token")];
    if used.cost_micros > 0 {
        parts.push(format!("cost {}.{:06}", used.cost_micros / 1_000_000, used.cost_micros % 1_000_000));
    } else {
        parts.push("no cost".to_owned());
    }
    parts.push(duration(used.active_ms));
    parts.join(" · ")
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

pub(in crate::commands) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S12
    #[test]
    fn lengths_of_time_are_told_in_words() {
        for (ms, expected) in [(7, "7 ms"), (1_250, "1.2 s"), (61_000, "1 min 1 s")] {
            assert_eq!(duration(ms), expected);
        }
        assert_eq!((counted(1, "step"), counted(0, "token")), ("1 step".to_owned(), "0 tokens".to_owned()));
    }
}
