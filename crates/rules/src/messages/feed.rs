//! The progress feed (X34): events as lines for people who watch, the last few of them, repeats folded into one.

use warren_model::{Content, Event, EventData, EventKind, TaskUpdate, Timestamp, truncate_utf8};

use crate::messages::memory::scrub;
use crate::text::redaction::Redactor;

/// Lines that are kept.
pub const MAX_LINES: usize = 20;
/// Bytes of one line.
pub const MAX_LINE_BYTES: usize = 200;

/// One line of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// When it happened last.
    pub at: Timestamp,
    pub kind: EventKind,
    pub text: String,
    /// How often it happened in a row.
    pub count: u32,
}

/// The last that an agent said about work under way: one line of it, as long as it is.
pub fn last_said(updates: &[TaskUpdate]) -> Option<String> {
    let said = updates.iter().rev().find_map(|update| match update {
        TaskUpdate::Status { state, message: Some(message), .. } if !state.is_final() => Some(message),
        TaskUpdate::Status { .. }
        | TaskUpdate::Artifact { .. }
        | TaskUpdate::Message(_)
        | TaskUpdate::Metadata(_) => None,
    })?;
    said.parts.iter().find_map(|part| match &part.content {
        Content::Text(text) => first_line(text),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    })
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|character| !character.is_control()).collect())
}

/// What is kept of it: without secrets, and short. Masked first, since half a secret is not known as one.
pub fn kept_line(said: &str, known: &Redactor) -> String {
    truncate_utf8(&scrub(said, known).text, MAX_LINE_BYTES).to_owned()
}

/// How an event reads in the feed; absent: it is none for people who watch work, or another version of Warren wrote it
/// in a way that this one does not read.
pub fn line_of(event: &Event) -> Option<Line> {
    let text = match event.read().ok()? {
        EventData::TaskSubmitted(_) => "a message came".to_owned(),
        EventData::TaskChanged(data) => format!("the work is {}", data.to),
        EventData::TaskProgressed(data) => data.line,
        EventData::DeliveryRequeued(data) => match data.reason {
            Some(reason) => format!("the message waits again: {reason}"),
            None => "the message waits again".to_owned(),
        },
        EventData::DelegationChanged(data) => format!("work handed on is {}", data.state),
        EventData::DelegationCompleted(data) => format!("work handed on is {}", data.state),
        EventData::WorkspaceFileChanged(data) => format!("{} {}", data.operation, data.path),
        EventData::WorkspaceProcessStarted(data) => format!("started {}", data.program),
        EventData::WorkspaceCommandFinished(data) => match data.exit_code {
            Some(code) => format!("{} ended with {code}", data.program),
            None => format!("{} was ended", data.program),
        },
        EventData::WorkspaceToolRefused(data) => {
            format!("{} was refused", data.tool.as_deref().unwrap_or("a tool"))
        }
        EventData::ApprovalRequested(data) => format!("asks for a decision: {}", data.action),
        EventData::ApprovalDecided(data) => format!("{} is {}", data.action, data.state),
        _ => return None,
    };
    let text = truncate_utf8(&text, MAX_LINE_BYTES).to_owned();
    Some(Line { at: event.at, kind: event.kind, text, count: 1 })
}

/// The last lines, the oldest first. What happens again and again is one line with a count.
pub fn fold(lines: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let mut folded: Vec<Line> = Vec::new();
    for line in lines {
        match folded.last_mut() {
            Some(last) if (last.kind, &last.text) == (line.kind, &line.text) => {
                last.count = last.count.saturating_add(line.count);
                last.at = line.at;
            }
            _ => folded.push(line),
        }
    }
    folded.split_off(folded.len().saturating_sub(MAX_LINES))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warren_model::event::{TaskChanged, TaskProgressed, WorkspaceCommandFinished, WorkspaceFileChanged};
    use warren_model::{
        DeliveryId, EventJson, FileChange, Message, OrgId, Part, Principal, Role, TaskId, TaskState,
    };

    use super::*;

    fn line(at: i64, text: &str) -> Line {
        Line { at: Timestamp::from_micros(at), kind: EventKind::TaskProgressed, text: text.into(), count: 1 }
    }

    // X34
    #[test]
    fn repeats_in_a_row_are_one_line_with_a_count() {
        let folded = fold(["a", "a", "b", "a", "a", "a"].iter().zip(1..).map(|(text, at)| line(at, text)));
        let shown: Vec<_> =
            folded.iter().map(|one| (one.text.as_str(), one.count, one.at.as_micros())).collect();
        assert_eq!(shown, [("a", 2, 2), ("b", 1, 3), ("a", 3, 6)]);
        assert_eq!(fold(folded.clone()), folded, "folding what is folded changes nothing");
    }

    // X34
    #[test]
    fn the_last_twenty_lines_are_kept() {
        let folded = fold((0..50).map(|at| line(at, &at.to_string())));
        assert_eq!((folded.len(), folded[0].text.as_str(), folded[19].text.as_str()), (20, "30", "49"));
    }

    // X34
    #[test]
    fn a_line_is_short_and_says_what_happened() {
        let event = |data: EventData| Event {
            seq: 1,
            at: Timestamp::from_micros(1),
            kind: data.kind(),
            org_id: OrgId::DEFAULT,
            workspace_id: None,
            principal: Principal::system("x"),
            data: EventJson::from(&data),
        };
        let (task_id, delivery_id) = (TaskId::from_bytes([1; 16]), DeliveryId::from_bytes([2; 16]));
        let finished = WorkspaceCommandFinished {
            program: "make".to_owned(),
            process: None,
            exit_code: Some(2),
            signal: None,
            timed_out: false,
            abandoned: false,
            duration_ms: 1,
        };
        let (from, to) = (TaskState::Submitted, TaskState::Working);
        let cases: [(EventData, Option<&str>); 6] = [
            (
                TaskChanged { task_id, delivery_id, from, to, reason: None }.into(),
                Some("the work is working"),
            ),
            (WorkspaceCommandFinished { exit_code: None, ..finished.clone() }.into(), Some("make was ended")),
            (finished.into(), Some("make ended with 2")),
            (
                WorkspaceFileChanged { operation: FileChange::Write, path: "a".to_owned(), bytes: 1 }.into(),
                Some("write a"),
            ),
            (EventKind::TokenCreated.example(), None),
            (EventKind::WorkspaceStatusChanged.example(), None),
        ];
        for (data, text) in cases {
            assert_eq!(line_of(&event(data)).map(|line| line.text).as_deref(), text);
        }
        let long = event(TaskProgressed { task_id, line: "ü".repeat(500) }.into());
        assert_eq!(line_of(&long).map(|line| line.text.len()), Some(MAX_LINE_BYTES));
        let of_tomorrow = Event { data: json!({ "line": 3 }).into(), ..long };
        assert_eq!(line_of(&of_tomorrow), None);
    }

    // X34
    #[test]
    fn progress_is_the_first_line_of_the_last_word() {
        let says = |state, text: &str| TaskUpdate::Status {
            state,
            message: Some(Message::new("m", Role::Agent, vec![Part::text(text)])),
            at: Timestamp::from_micros(1),
        };
        let updates = [
            says(TaskState::Working, "one"),
            says(TaskState::Working, "\n  two \u{7}\nmore"),
            says(TaskState::Completed, "end"),
        ];
        assert_eq!(last_said(&updates).as_deref(), Some("two "));
        assert_eq!(last_said(&updates[2..]), None);
    }

    // X34, sec/U08
    #[test]
    fn a_line_is_masked_before_it_is_cut() {
        let known = Redactor::new(["s3cret-of-the-workspace"]);
        let at_the_cut = format!("{}s3cret-of-the-workspace", "x".repeat(MAX_LINE_BYTES - 5));
        let kept = kept_line(&at_the_cut, &known);
        assert!(kept.len() <= MAX_LINE_BYTES && !kept.contains("s3c"), "{kept}");
        assert_eq!(kept_line("all is well", &known), "all is well");
    }
}
