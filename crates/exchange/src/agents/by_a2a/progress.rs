//! What an agent's answers tell about a delivery: from events of a stream, or from the task as it is when asked.

use serde_json::{Map, Value};
use warren_model::{Artifact, Message, TaskState, TaskUpdate, Timestamp};

use super::super::AgentUpdate;
use crate::a2a::{StreamResponse, Task, TaskStatus, artifact_from, message_from, state_from, strip_reserved};

/// What is known of a delivery so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    remote_id: Option<String>,
    state: Option<TaskState>,
    status_message: Option<Message>,
    artifacts: Vec<Artifact>,
    metadata: Map<String, Value>,
    is_over: bool,
}

impl Progress {
    pub(super) fn of(remote_id: Option<String>) -> Self {
        Self { remote_id, ..Self::default() }
    }

    /// The agent's own name for the task, once it said so.
    pub(super) fn remote_id(&self) -> Option<&str> {
        self.remote_id.as_deref()
    }

    /// The delivery has ended: the agent answered, finished, or waits for more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes in one event and says what is new in it.
    pub(super) fn take(&mut self, event: StreamResponse, now: Timestamp) -> Vec<AgentUpdate> {
        match event {
            StreamResponse::Task(task) => self.take_task(task, now),
            StreamResponse::Message(message) => {
                self.is_over = true;
                vec![AgentUpdate::Task(TaskUpdate::Message(message_from(message)))]
            }
            StreamResponse::StatusUpdate(update) => {
                let mut told: Vec<_> = self.know(update.task_id).into_iter().collect();
                told.extend(self.note(update.metadata));
                told.extend(self.take_status(update.status, now));
                told
            }
            StreamResponse::ArtifactUpdate(update) => {
                let mut told: Vec<_> = self.know(update.task_id).into_iter().collect();
                told.extend(self.note(update.metadata));
                let artifact = artifact_from(update.artifact);
                self.keep(&artifact, update.append);
                let (is_append, is_last) = (update.append, update.last_chunk);
                told.push(AgentUpdate::Task(TaskUpdate::Artifact { artifact, is_append, is_last }));
                told
            }
        }
    }

    /// The whole task, which may repeat what is known: only what is new is told.
    pub(super) fn take_task(&mut self, task: Task, now: Timestamp) -> Vec<AgentUpdate> {
        let mut told: Vec<_> = self.know(task.id).into_iter().collect();
        told.extend(self.note(task.metadata));
        for artifact in task.artifacts.into_iter().map(artifact_from) {
            if !self.artifacts.contains(&artifact) {
                self.keep(&artifact, false);
                told.push(AgentUpdate::Task(TaskUpdate::Artifact {
                    artifact,
                    is_append: false,
                    is_last: true,
                }));
            }
        }
        told.extend(self.take_status(task.status, now));
        told
    }

    fn know(&mut self, id: String) -> Option<AgentUpdate> {
        if id.is_empty() || self.remote_id.as_ref() == Some(&id) {
            return None;
        }
        self.remote_id = Some(id.clone());
        Some(AgentUpdate::RemoteId(id))
    }

    /// What is new of what the agent notes about the task. Warren's own names are Warren's to write (X4).
    fn note(&mut self, mut metadata: Map<String, Value>) -> Option<AgentUpdate> {
        strip_reserved(&mut metadata);
        metadata.retain(|name, value| self.metadata.get(name) != Some(value));
        if metadata.is_empty() {
            return None;
        }
        self.metadata.extend(metadata.clone());
        Some(AgentUpdate::Task(TaskUpdate::Metadata(metadata)))
    }

    fn take_status(&mut self, status: TaskStatus, now: Timestamp) -> Option<AgentUpdate> {
        let state = state_from(status.state)?;
        let message = status.message.map(message_from);
        self.is_over = state.is_final() || state.is_interrupted();
        if self.state == Some(state) && self.status_message == message {
            return None;
        }
        self.state = Some(state);
        self.status_message.clone_from(&message);
        Some(AgentUpdate::Task(TaskUpdate::Status { state, message, at: now }))
    }

    fn keep(&mut self, artifact: &Artifact, is_append: bool) {
        match self.artifacts.iter_mut().find(|known| known.id == artifact.id) {
            Some(known) if is_append => known.append(artifact),
            Some(known) => known.clone_from(artifact),
            None => self.artifacts.push(artifact.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1);

    fn told(progress: &mut Progress, event: Value) -> Vec<AgentUpdate> {
        progress.take(serde_json::from_value(event).unwrap(), NOW)
    }

    fn task(state: &str, artifacts: &Value) -> Value {
        json!({ "task": { "id": "far", "contextId": "c", "status": { "state": state }, "artifacts": artifacts } })
    }

    fn artifact(text: &str) -> Value {
        json!({ "artifactId": "a", "parts": [{ "text": text }] })
    }

    #[test]
    fn a_stream_tells_the_name_the_states_and_the_pieces() {
        let mut progress = Progress::default();
        let first = told(&mut progress, task("TASK_STATE_SUBMITTED", &json!([])));
        assert_eq!(first[0], AgentUpdate::RemoteId("far".to_owned()));
        assert_eq!(first.len(), 2);
        let piece = json!({ "artifactUpdate": {
            "taskId": "far", "contextId": "c", "artifact": artifact("one"), "append": false, "lastChunk": false,
        } });
        assert_eq!(told(&mut progress, piece).len(), 1);
        assert!(!progress.is_over());
        let done = json!({ "statusUpdate": {
            "taskId": "far", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" },
        } });
        assert_eq!(told(&mut progress, done).len(), 1);
        assert!(progress.is_over());
        assert_eq!(progress.remote_id(), Some("far"));
    }

    #[test]
    fn a_task_that_is_asked_for_again_tells_only_what_is_new() {
        let mut progress = Progress::of(Some("far".to_owned()));
        assert_eq!(told(&mut progress, task("TASK_STATE_WORKING", &json!([artifact("one")]))).len(), 2);
        assert_eq!(told(&mut progress, task("TASK_STATE_WORKING", &json!([artifact("one")]))), []);
        assert_eq!(told(&mut progress, task("TASK_STATE_WORKING", &json!([artifact("two")]))).len(), 1);
        assert_eq!(
            told(&mut progress, task("TASK_STATE_INPUT_REQUIRED", &json!([artifact("two")]))).len(),
            1
        );
        assert!(progress.is_over(), "it waits for more");
    }

    #[test]
    fn pieces_that_came_by_stream_are_not_told_again_by_the_task() {
        let mut progress = Progress::default();
        for (text, append) in [("one", false), ("two", true)] {
            let piece = json!({ "artifactUpdate": {
                "taskId": "far", "contextId": "c", "artifact": artifact(text), "append": append,
            } });
            told(&mut progress, piece);
        }
        let whole = json!([{ "artifactId": "a", "parts": [{ "text": "one" }, { "text": "two" }] }]);
        assert_eq!(told(&mut progress, task("TASK_STATE_WORKING", &whole)).len(), 1, "the state alone");
    }

    // X1
    #[test]
    fn what_an_agent_notes_about_its_task_is_told_once_and_never_in_warrens_name() {
        let mut progress = Progress::default();
        let noted = json!({ "task": {
            "id": "far", "contextId": "c", "status": { "state": "TASK_STATE_WORKING" },
            "metadata": { "cost": 3, "warren/author": { "kind": "user" } },
        } });
        let first = told(&mut progress, noted.clone());
        let cost = json!({ "cost": 3 }).as_object().unwrap().clone();
        assert_eq!(first[1], AgentUpdate::Task(TaskUpdate::Metadata(cost)));
        assert_eq!(told(&mut progress, noted), []);
        let more = json!({ "statusUpdate": {
            "taskId": "far", "contextId": "c", "status": { "state": "TASK_STATE_WORKING" },
            "metadata": { "cost": 5, "model": "m" },
        } });
        let both = json!({ "cost": 5, "model": "m" }).as_object().unwrap().clone();
        assert_eq!(told(&mut progress, more), [AgentUpdate::Task(TaskUpdate::Metadata(both))]);
        // A piece of an artifact brings its own.
        for (text, note) in [("one", json!({ "a": 1 })), ("two", json!({ "b": 2 }))] {
            let piece = json!({ "artifactUpdate": { "taskId": "far", "contextId": "c", "append": true,
                "artifact": { "artifactId": "a", "parts": [{ "text": text }], "metadata": note } } });
            told(&mut progress, piece);
        }
        let whole = json!([{ "artifactId": "a", "parts": [{ "text": "one" }, { "text": "two" }],
            "metadata": { "a": 1, "b": 2 } }]);
        assert_eq!(told(&mut progress, task("TASK_STATE_WORKING", &whole)), [], "all of it is known");
    }

    #[test]
    fn a_bare_message_is_the_whole_answer() {
        let mut progress = Progress::default();
        let message =
            json!({ "message": { "messageId": "r", "role": "ROLE_AGENT", "parts": [{ "text": "hi" }] } });
        assert!(matches!(told(&mut progress, message)[..], [AgentUpdate::Task(TaskUpdate::Message(_))]));
        assert!(progress.is_over() && progress.remote_id().is_none());
    }
}
