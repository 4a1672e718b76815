//! Lines of JSON between a runner and a process per message, for programs that have more to say than a text (A80).
//!
//! ```text
//!   in    {"task_id": …, "context_id": …, "author": "user:…", "message": {"parts": […]}}      one line
//!   out   {"progress": "reading"}        told to whoever follows the task
//!         {"artifact": {"id": …, "name": …, "parts": […]}}
//!         {"answer": "text", "state": "completed"}     the last one counts; `state` may be absent
//! ```
//!
//! What is no such line counts as talk, like the error output.

use serde_json::{Value, json};
use warren_api::{ArtifactUpdate, ClaimedMessage, TaskArtifact, TaskState};

use crate::acp::{Line, LineSplitter};
use crate::adapter::{Failure, ProgramAnswer, ProgramOutcome};
use crate::program::StderrTail;

const MAX_ARTIFACTS: usize = 100;

/// The line that a program reads.
pub(crate) fn input(message: &ClaimedMessage) -> String {
    let line = json!({
        "task_id": message.task.id,
        "context_id": message.task.context_id,
        "author": format!("{}:{}", message.author.kind, message.author.id),
        "message": message.message,
    });
    format!("{line}\n")
}

#[derive(Debug, Default)]
pub(crate) struct JsonOutput {
    lines: LineSplitter,
    answer: Option<(String, Option<TaskState>)>,
    artifacts: Vec<ArtifactUpdate>,
    talk: StderrTail,
}

impl JsonOutput {
    /// Takes a piece. Returns what is told of it while the work goes on.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Option<String> {
        let lines = self.lines.push(piece);
        let told: String = lines.into_iter().filter_map(|line| self.take(line)).collect();
        (!told.is_empty()).then_some(told)
    }

    fn take(&mut self, line: Line) -> Option<String> {
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong { bytes, .. } => return Some(format!("[a line of {bytes} bytes is left out]\n")),
        };
        let document = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
        let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        if let Some(words) = text("progress") {
            return Some(format!("{words}\n"));
        }
        if let Some(answer) = text("answer") {
            let state = document.get("state").cloned().and_then(|state| serde_json::from_value(state).ok());
            self.answer = Some((answer, state));
            return None;
        }
        let artifact = document.get("artifact").cloned();
        if let Some(artifact) = artifact.and_then(|one| serde_json::from_value::<TaskArtifact>(one).ok())
            && self.artifacts.len() < MAX_ARTIFACTS
        {
            self.artifacts.push(ArtifactUpdate { artifact, append: false, last: true });
            return None;
        }
        self.talk.push(&bytes);
        self.talk.push(b"\n");
        Some(String::from_utf8_lossy(&bytes).into_owned() + "\n")
    }

    pub(crate) fn last_words(&self) -> String {
        self.answer.as_ref().map_or_else(|| self.talk.last(), |(text, _)| text.clone())
    }

    pub(crate) fn outcome(&self) -> ProgramOutcome {
        let artifacts = self.artifacts.clone();
        match self.answer.clone() {
            Some((text, Some(TaskState::Failed))) => ProgramOutcome::Failed(Failure::passing(text)),
            Some((text, state)) => ProgramOutcome::Answered(ProgramAnswer { text, artifacts, state }),
            None => {
                let told =
                    format!("the program ended without a line that has an `answer`\n{}", self.talk.last());
                ProgramOutcome::Failed(Failure::passing(told.trim().to_owned()))
            }
        }
    }
}
