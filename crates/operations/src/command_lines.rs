//! What the processes of workspaces were started with, for whoever may read their output. Kept in memory alone: a command
//! line may hold what nobody wants on a disk. After a restart of Warren, a process that outlived it is told by its program.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use warren_model::{Timestamp, WorkspaceId, truncate_utf8};
use warren_workspace::shell::{Command, Invocation, ProcessId, ProcessInfo};

/// Kept of one command line.
const MAX_BYTES: usize = 1_000;
/// Kept of one workspace; the oldest go first.
const MAX_PER_WORKSPACE: usize = 1_000;
/// Two tellings of when one process began may differ so much. Numbers begin anew when a workspace is opened again.
const SAME_START_MS: i64 = 5_000;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandLines(Arc<Mutex<HashMap<WorkspaceId, BTreeMap<u32, KnownLine>>>>);

#[derive(Debug)]
struct KnownLine {
    started_at: Timestamp,
    text: String,
}

impl CommandLines {
    pub(crate) fn note(&self, id: WorkspaceId, process: &ProcessInfo, line: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = all.entry(id).or_default();
        let text = truncate_utf8(line, MAX_BYTES).to_owned();
        lines.insert(process.id.0, KnownLine { started_at: process.started_at, text });
        if lines.len() > MAX_PER_WORKSPACE {
            lines.pop_first();
        }
    }

    /// The lines of these processes, as far as they are known. Those of others of the workspace are forgotten.
    pub(crate) fn of(&self, id: WorkspaceId, processes: &[ProcessInfo]) -> BTreeMap<ProcessId, String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lines) = all.get_mut(&id) else { return BTreeMap::new() };
        lines.retain(|number, known| processes.iter().any(|one| is_same(one, *number, known)));
        let told =
            processes.iter().filter_map(|one| Some((one.id, lines.get(&one.id.0)?.text.clone()))).collect();
        if lines.is_empty() {
            all.remove(&id);
        }
        told
    }
}

fn is_same(process: &ProcessInfo, number: u32, known: &KnownLine) -> bool {
    process.id.0 == number && process.started_at.ms_since(known.started_at).abs() <= SAME_START_MS
}

/// As somebody would type it.
pub(crate) fn line_of(command: &Command) -> String {
    match &command.invocation {
        Invocation::Argv(words) => typed(words.iter().map(String::as_str)),
        Invocation::Script(text) => text.clone(),
    }
}

/// The same from what a model asks for.
pub(crate) fn line_of_call(arguments: &Value) -> Option<String> {
    match (arguments.get("argv").and_then(Value::as_array), arguments.get("command").and_then(Value::as_str))
    {
        (Some(words), _) => Some(typed(words.iter().filter_map(Value::as_str))),
        (None, Some(text)) => Some(text.to_owned()),
        (None, None) => None,
    }
}

fn typed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "-_./=:,+@%".contains(one);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use warren_workspace::shell::ProcessState;

    use super::*;

    fn process(number: u32, at_ms: i64) -> ProcessInfo {
        ProcessInfo {
            id: ProcessId(number),
            program: "sh".into(),
            state: ProcessState::Running,
            started_at: Timestamp::from_micros(at_ms * 1_000),
            output_bytes: 0,
            has_pty: false,
        }
    }

    #[test]
    fn a_line_is_told_of_its_own_process_and_forgotten_with_it() {
        let (lines, id) = (CommandLines::default(), WorkspaceId::from_bytes([1; 16]));
        lines.note(id, &process(1, 0), "make all");
        lines.note(id, &process(2, 0), &"x".repeat(5_000));
        let told = lines.of(id, &[process(1, 20), process(2, 0)]);
        assert_eq!(told[&ProcessId(1)], "make all");
        assert_eq!(told[&ProcessId(2)].len(), MAX_BYTES);
        assert!(lines.of(id, &[process(1, 60_000)]).is_empty(), "the number was given out anew");
        assert!(lines.of(id, &[process(2, 0)]).is_empty(), "who was not there any more is forgotten");
        assert!(lines.0.lock().unwrap().is_empty());
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_need_it() {
        let command = Command::argv(["sh", "-c", "echo 'a b'", ""]);
        assert_eq!(line_of(&command), r"sh -c 'echo '\''a b'\''' ''");
        assert_eq!(line_of_call(&serde_json::json!({ "argv": ["ls", "-l"] })).as_deref(), Some("ls -l"));
        assert_eq!(line_of_call(&serde_json::json!({ "path": "x" })), None);
    }
}
