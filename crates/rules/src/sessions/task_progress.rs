//! What the stream of a session tells about the task that one of its messages belongs to.
//!
//! ```text
//!   message queued ─▶ delivered: its run is the task's ─▶ words, calls ─▶ the run ends: so does the task
//!                                                          └▶ suspended, interrupted: the task waits for input
//! ```

use std::collections::HashMap;

use serde_json::Value;
use warren_model::session::{PhaseKind, StreamItem, Suspension};
use warren_model::{SessionMessageId, TaskState, truncate_utf8};

use super::stops::ABORTED;

/// Of one line about a call.
const MAX_LINE_BYTES: usize = 160;
/// Lines about calls that one delivery tells: a task keeps a bounded history, and the session has all of them.
const MAX_CALL_LINES: u32 = 50;

/// How a task stands, as far as its session's stream tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskStanding {
    /// It is worked on, or waits for its turn in the session.
    Working,
    /// Somebody has to do something first.
    Waits { by: Suspension, reason: String },
    /// Somebody stopped the run; it can be resumed.
    Interrupted,
    /// The run is over, in this state and with this sentence.
    Ended { state: TaskState, message: Option<String> },
}

/// Something to tell those who follow the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskWord {
    /// More of the answer that is being given; not appended: in the place of what was told of it before.
    Text { text: String, is_append: bool },
    /// What was said before tools were called.
    Said(String),
    /// A call began.
    Call { tool: String, line: String },
}

/// Reads a session's stream for one task.
#[derive(Debug, Clone)]
pub struct TaskProgress {
    message_id: SessionMessageId,
    /// The run that the stream tells of now.
    current_run: u32,
    /// The run that has the message.
    own_run: Option<u32>,
    step: Option<u32>,
    /// Of the step's answer so far.
    text: String,
    is_fresh: bool,
    /// Calls of the open step by their ids, with a line about each.
    proposed: HashMap<String, (String, String)>,
    call_lines: u32,
    standing: TaskStanding,
}

impl TaskProgress {
    /// For a stream that is read from its beginning.
    pub fn from_beginning(message_id: SessionMessageId) -> Self {
        Self::from_run(message_id, 0)
    }

    /// For a stream that is read on from within or behind this run.
    pub fn from_run(message_id: SessionMessageId, current_run: u32) -> Self {
        Self {
            message_id,
            current_run,
            own_run: None,
            step: None,
            text: String::new(),
            is_fresh: true,
            proposed: HashMap::new(),
            call_lines: 0,
            standing: TaskStanding::Working,
        }
    }

    /// The task belongs to the run that is under way.
    #[must_use]
    pub fn within_current_run(mut self) -> Self {
        self.own_run = Some(self.current_run);
        self
    }

    pub fn standing(&self) -> &TaskStanding {
        &self.standing
    }

    /// The run that the task belongs to, once the message was delivered.
    pub fn run(&self) -> Option<u32> {
        self.own_run
    }

    /// The step that was begun last in that run.
    pub fn step(&self) -> Option<u32> {
        self.step
    }

    /// What was told of the answer that is being given.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn is_own(&self) -> bool {
        self.own_run == Some(self.current_run)
    }

    /// Takes in one entry and says what is new.
    pub fn take(&mut self, item: &StreamItem) -> Vec<TaskWord> {
        // What the session does after it is of other tasks. Who reads late gets several runs at once.
        if matches!(self.standing, TaskStanding::Ended { .. }) {
            return Vec::new();
        }
        match item {
            StreamItem::RunStarted { run } => self.current_run = *run,
            StreamItem::MessageDelivered { message_id, .. } if *message_id == self.message_id => {
                self.own_run = Some(self.current_run);
            }
            // These hold up whoever waits for the session, too.
            StreamItem::Suspended { by, reason } => {
                self.standing = TaskStanding::Waits { by: *by, reason: reason.clone() };
            }
            StreamItem::Interrupted { .. } => self.standing = TaskStanding::Interrupted,
            StreamItem::Resumed => self.standing = TaskStanding::Working,
            StreamItem::RunEnded { run, status, message, .. } => self.run_ended(*run, status, message),
            item if self.is_own() => return self.take_own(item),
            _ => {}
        }
        Vec::new()
    }

    fn run_ended(&mut self, run: u32, status: &str, message: &Option<String>) {
        if self.own_run != Some(run) {
            // Whatever held that run up, the next one begins.
            self.standing = TaskStanding::Working;
            return;
        }
        let is_aborted = message.as_ref().is_some_and(|message| message.starts_with(ABORTED));
        let state = match PhaseKind::parse(status) {
            Some(PhaseKind::Completed) => TaskState::Completed,
            Some(PhaseKind::Interrupted) => TaskState::Cancelled,
            _ if is_aborted => TaskState::Cancelled,
            _ => TaskState::Failed,
        };
        self.standing = TaskStanding::Ended { state, message: message.clone() };
    }

    fn take_own(&mut self, item: &StreamItem) -> Vec<TaskWord> {
        match item {
            StreamItem::StepStarted { step, .. } => {
                self.step = Some(*step);
                self.begin_text();
                self.proposed.clear();
            }
            StreamItem::StepReset { .. } => self.begin_text(),
            StreamItem::TextDelta { text, .. } => {
                let is_append = !std::mem::replace(&mut self.is_fresh, false);
                self.text.push_str(text);
                return vec![TaskWord::Text { text: text.clone(), is_append }];
            }
            StreamItem::CallProposed { call_id, tool, arguments, problem: None, .. } => {
                self.proposed.insert(call_id.clone(), (tool.clone(), line_of(tool, arguments)));
            }
            StreamItem::CallStarted { call_id, .. } => return self.call_started(call_id),
            _ => {}
        }
        Vec::new()
    }

    fn begin_text(&mut self) {
        self.text.clear();
        self.is_fresh = true;
    }

    fn call_started(&mut self, call_id: &str) -> Vec<TaskWord> {
        let Some((tool, line)) = self.proposed.remove(call_id) else { return Vec::new() };
        let mut words = Vec::new();
        if !self.text.is_empty() {
            words.push(TaskWord::Said(std::mem::take(&mut self.text)));
            self.is_fresh = true;
        }
        if self.call_lines < MAX_CALL_LINES {
            self.call_lines += 1;
            words.push(TaskWord::Call { tool, line });
        }
        words
    }
}

/// A tool and the first thing that it is called with, for people who watch.
fn line_of(tool: &str, arguments: &Value) -> String {
    let first = arguments.as_object().and_then(|fields| {
        let named = ["path", "command", "program", "query"].iter().find_map(|name| fields.get(*name));
        named.or_else(|| fields.values().next())
    });
    let line = match first {
        Some(Value::String(text)) => format!("{tool} {}", text.lines().next().unwrap_or_default()),
        Some(Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::Null) | None => {
            tool.to_owned()
        }
    };
    truncate_utf8(&line, MAX_LINE_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warren_model::session::StopReason;

    use super::*;

    fn mine() -> SessionMessageId {
        SessionMessageId::from_bytes([1; 16])
    }

    fn delivered(id: SessionMessageId) -> StreamItem {
        StreamItem::MessageDelivered { message_id: id, step: 1, parts: Vec::new(), client_id: None }
    }

    fn text(text: &str) -> StreamItem {
        StreamItem::TextDelta { step: 1, block: 0, text: text.to_owned() }
    }

    fn ended(run: u32, status: &str, message: Option<&str>) -> StreamItem {
        let message = message.map(str::to_owned);
        StreamItem::RunEnded { run, status: status.to_owned(), finish: Some(StopReason::EndTurn), message }
    }

    fn step(number: u32) -> StreamItem {
        StreamItem::StepStarted { step: number, attempt: 1, model: "x/main".to_owned() }
    }

    // X11
    #[test]
    fn the_run_that_has_the_message_is_the_tasks_and_no_other() {
        let other = SessionMessageId::from_bytes([2; 16]);
        let mut progress = TaskProgress::from_beginning(mine());
        for item in [
            StreamItem::RunStarted { run: 1 },
            delivered(other),
            step(1),
            text("not mine"),
            ended(1, "completed", None),
        ] {
            assert_eq!(progress.take(&item), []);
        }
        assert_eq!(progress.standing(), &TaskStanding::Working, "another run's end is not ours");
        for item in [StreamItem::RunStarted { run: 2 }, delivered(mine()), step(2)] {
            progress.take(&item);
        }
        assert_eq!(progress.take(&text("mi")), [TaskWord::Text { text: "mi".into(), is_append: false }]);
        assert_eq!(progress.take(&text("ne")), [TaskWord::Text { text: "ne".into(), is_append: true }]);
        progress.take(&ended(2, "completed", None));
        assert_eq!(progress.standing(), &TaskStanding::Ended { state: TaskState::Completed, message: None });
        assert_eq!((progress.run(), progress.step(), progress.text()), (Some(2), Some(2), "mine"));
    }

    // X11, O10: who takes a delivery over reads its run and the next one at once
    #[test]
    fn what_has_ended_stays_so_whatever_the_session_does_next() {
        let mut progress = TaskProgress::from_beginning(mine());
        for item in [
            StreamItem::RunStarted { run: 1 },
            delivered(mine()),
            step(1),
            text("mine"),
            ended(1, "completed", None),
            StreamItem::RunStarted { run: 2 },
            delivered(SessionMessageId::from_bytes([2; 16])),
            step(2),
            text("not mine"),
            ended(2, "failed", None),
            StreamItem::Resumed,
        ] {
            progress.take(&item);
        }
        assert_eq!(progress.standing(), &TaskStanding::Ended { state: TaskState::Completed, message: None });
        assert_eq!((progress.step(), progress.text()), (Some(1), "mine"));
    }

    // A63: an answer that is asked for again takes the place of what was shown.
    #[test]
    fn after_a_reset_the_text_begins_anew() {
        let mut progress = TaskProgress::from_run(mine(), 1).within_current_run();
        progress.take(&step(1));
        progress.take(&text("half"));
        progress.take(&StreamItem::StepReset { step: 1, reason: String::new() });
        assert_eq!(
            progress.take(&text("whole")),
            [TaskWord::Text { text: "whole".into(), is_append: false }]
        );
        assert_eq!(progress.text(), "whole");
    }

    #[test]
    fn a_call_is_told_with_the_words_before_it() {
        let mut progress = TaskProgress::from_run(mine(), 1).within_current_run();
        progress.take(&step(1));
        progress.take(&text("I write it."));
        progress.take(&StreamItem::CallProposed {
            step: 1,
            call_id: "c".into(),
            tool: "workspace_write".into(),
            arguments: json!({ "content": "x", "path": "a.md" }),
            problem: None,
        });
        let words = progress.take(&StreamItem::CallStarted { step: 1, call_id: "c".into() });
        let call = TaskWord::Call { tool: "workspace_write".into(), line: "workspace_write a.md".into() };
        assert_eq!(words, [TaskWord::Said("I write it.".into()), call]);
    }

    // X22, A32
    #[test]
    fn an_aborted_run_is_cancelled_work_and_a_wait_is_no_end() {
        let mut progress = TaskProgress::from_run(mine(), 1).within_current_run();
        progress.take(&StreamItem::Suspended { by: Suspension::Approval, reason: "asks".into() });
        assert!(matches!(progress.standing(), TaskStanding::Waits { by: Suspension::Approval, .. }));
        progress.take(&StreamItem::Resumed);
        assert_eq!(progress.standing(), &TaskStanding::Working);
        progress.take(&StreamItem::Interrupted { run: 1 });
        assert_eq!(progress.standing(), &TaskStanding::Interrupted);
        progress.take(&ended(1, "failed", Some("aborted by user:anna")));
        assert!(matches!(progress.standing(), TaskStanding::Ended { state: TaskState::Cancelled, .. }));
        let mut progress = TaskProgress::from_run(mine(), 1).within_current_run();
        progress.take(&ended(1, "failed", Some("no key")));
        assert!(matches!(progress.standing(), TaskStanding::Ended { state: TaskState::Failed, .. }));
    }
}
