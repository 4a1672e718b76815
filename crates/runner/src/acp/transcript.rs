//! What a program says in a turn, as the answer and as progress. Pure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use warren_api::{ArtifactUpdate, TaskArtifact};

use super::permission::{head, title, visible};
use super::prompt::part_of;
use crate::program::HeadOfOutput;

/// Calls of one turn that are remembered with what they are about.
const MAX_CALLS: usize = 512;
const MAX_ARTIFACTS: usize = 50;
/// Of one piece of progress.
const MAX_WORDS: usize = 500;

#[derive(Debug)]
pub(crate) struct Transcript {
    root: PathBuf,
    answer: HeadOfOutput,
    /// Something else came between: the next text is a paragraph of its own.
    is_broken: bool,
    artifacts: Vec<ArtifactUpdate>,
    calls: HashMap<String, Value>,
}

impl Transcript {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            answer: HeadOfOutput::default(),
            is_broken: false,
            artifacts: Vec::new(),
            calls: HashMap::new(),
        }
    }

    /// Takes an update. Returns what is told of it while the work goes on.
    pub(crate) fn take(&mut self, update: &Value) -> Option<String> {
        let content = update.get("content").unwrap_or(&Value::Null);
        match update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default() {
            "agent_message_chunk" => {
                self.take_answer(content);
                None
            }
            "agent_thought_chunk" => content.get("text").and_then(Value::as_str).map(str::to_owned),
            kind @ ("tool_call" | "tool_call_update") => {
                self.is_broken = true;
                self.take_call(update, kind == "tool_call")
            }
            "plan" => Some(plan(update)),
            // Its own state; nothing of the work.
            "user_message_chunk"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update"
            | "usage_update" => None,
            "notice" => Some(format!("{}\n", head(&visible(&update.to_string()), MAX_WORDS))),
            // One that this version does not know.
            _ => Some(format!("[{}]\n", head(&visible(&update.to_string()), MAX_WORDS))),
        }
    }

    fn take_answer(&mut self, content: &Value) {
        if let Some(text) = content.get("text").and_then(Value::as_str) {
            if std::mem::take(&mut self.is_broken) && !self.answer.is_empty() {
                self.answer.push(b"\n\n");
            }
            self.answer.push(text.as_bytes());
        } else if let Some(part) = part_of(content, &self.root)
            && self.artifacts.len() < MAX_ARTIFACTS
        {
            let id = format!("file-{}", self.artifacts.len() + 1);
            let name = part.filename.clone();
            let artifact = TaskArtifact {
                id,
                name,
                description: None,
                parts: vec![part],
                metadata: serde_json::Map::new(),
            };
            self.artifacts.push(ArtifactUpdate { artifact, append: false, last: true });
        }
    }

    fn take_call(&mut self, update: &Value, is_new: bool) -> Option<String> {
        let status = update.get("status").and_then(Value::as_str).map(str::to_owned);
        let call = self.merge(update);
        let name = title(&call);
        match status.as_deref() {
            Some("completed" | "failed") => Some(format!("{}: {}\n", head(&name, MAX_WORDS), status?)),
            _ if is_new => Some(format!("{}\n", head(&name, MAX_WORDS))),
            _ => None,
        }
    }

    /// All that is known of a call: what it said first, and what it said since.
    pub(crate) fn merge(&mut self, update: &Value) -> Value {
        let id = update.get("toolCallId").and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&id) {
            self.calls.clear();
        }
        let known = self.calls.entry(id).or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let (Some(known), Some(fields)) = (known.as_object_mut(), update.as_object()) {
            for (name, value) in
                fields.iter().filter(|(name, value)| !value.is_null() && *name != "rawOutput")
            {
                known.insert(name.clone(), value.clone());
            }
        }
        known.clone()
    }

    pub(crate) fn text(&self) -> String {
        self.answer.text()
    }

    pub(crate) fn take_artifacts(&mut self) -> Vec<ArtifactUpdate> {
        std::mem::take(&mut self.artifacts)
    }
}

fn plan(update: &Value) -> String {
    let entries = update.get("entries").and_then(Value::as_array).into_iter().flatten();
    let line = |entry: &Value| {
        let mark = match entry.get("status").and_then(Value::as_str) {
            Some("completed") => "[x]",
            Some("in_progress") => "[>]",
            _ => "[ ]",
        };
        let content = entry.get("content").and_then(Value::as_str).unwrap_or_default();
        format!("{mark} {}\n", head(&visible(content), MAX_WORDS))
    };
    entries.map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(text: &str) -> Value {
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
    }

    // A80
    #[test]
    fn text_is_the_answer_and_all_else_is_progress() {
        let mut turn = Transcript::new(Path::new("/workspace"));
        assert_eq!(turn.take(&said("I look")), None);
        assert_eq!(turn.take(&said(" first.")), None);
        let call =
            json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "ls", "rawInput": { "a": 1 } });
        assert_eq!(turn.take(&call).as_deref(), Some("ls\n"));
        let done = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed" });
        assert_eq!(turn.take(&done).as_deref(), Some("ls: completed\n"));
        assert_eq!(
            turn.merge(&json!({ "toolCallId": "1" }))["rawInput"],
            json!({ "a": 1 }),
            "what it said first"
        );
        turn.take(&said("Done."));
        assert_eq!(turn.text(), "I look first.\n\nDone.");
        let plan =
            json!({ "sessionUpdate": "plan", "entries": [{ "content": "read", "status": "completed" }] });
        assert_eq!(turn.take(&plan).as_deref(), Some("[x] read\n"));
        let unknown = turn.take(&json!({ "sessionUpdate": "hologram", "x": 1 })).unwrap();
        assert!(unknown.contains("hologram"), "{unknown}");
        assert!(turn.take(&json!(null)).is_some(), "even that");
        let link = json!({ "type": "resource_link", "uri": "file:///workspace/out.txt", "name": "out.txt" });
        turn.take(&json!({ "sessionUpdate": "agent_message_chunk", "content": link }));
        let files = turn.take_artifacts();
        assert_eq!(files[0].artifact.parts[0].url.as_deref(), Some("workspace:out.txt"));
    }
}
