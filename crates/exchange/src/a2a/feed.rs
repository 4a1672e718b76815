//! What a client is streamed about a task, from what is heard of it.
//!
//! ```text
//!   undecided ── a message ─────────────────────────▶ over        an agent that keeps no task: the message is the stream
//!       │ anything else: the task, and then that
//!       ▼
//!     going ── status, artifacts … ── it ends or waits ─▶ over
//! ```

use warren_model::{Artifact, Task, TaskState, TaskUpdate, Timestamp};
use warren_rules::{messages::dispatch, messages::tasks};

use super::convert::{bare_answer, message_shown, stream_of, task_to};
use super::wire::StreamResponse;

/// One client's stream.
#[derive(Debug)]
pub struct Feed {
    /// As the client knows it.
    task: Task,
    history_length: Option<usize>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent. The task is held back, since a message in its place would be the whole stream.
    Undecided,
    Going,
    Over,
}

impl Feed {
    /// Of a message that was just accepted, and what is sent at once.
    pub fn of_message(
        task: Task,
        is_queued: bool,
        history_length: Option<usize>,
    ) -> (Self, Vec<StreamResponse>) {
        let mut feed = Self { task, history_length, stage: Stage::Undecided };
        // Who waits in a queue learns so at once; and of what is over, nothing more will be heard.
        let is_over = is_settled(feed.task.state);
        let first = match bare_answer(&feed.task) {
            Some(message) => vec![StreamResponse::Message(message_shown(message, &feed.task.context_id))],
            None if is_queued || is_over => vec![feed.whole()],
            None => Vec::new(),
        };
        if is_over {
            feed.stage = Stage::Over;
        } else if is_queued {
            feed.stage = Stage::Going;
        }
        (feed, first)
    }

    /// Of a task that has not ended. It may wait for input: then what follows another message is streamed.
    pub fn of_task(task: Task) -> (Self, Vec<StreamResponse>) {
        let feed = Self { task, history_length: None, stage: Stage::Going };
        let first = feed.whole();
        (feed, vec![first])
    }

    /// Nothing more will come.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Whether the row is wanted with this update. What comes fast can be missed (by a reader that lags, on another
    /// replica); at the end of a turn the row tells.
    pub fn wants_row(update: &TaskUpdate) -> bool {
        dispatch::state_of(update).is_some_and(is_settled)
    }

    /// What is sent about an update; `row` is the task as it is now, where it was wanted.
    pub fn take(&mut self, update: &TaskUpdate, row: Option<&Task>, now: Timestamp) -> Vec<StreamResponse> {
        let is_over = Self::wants_row(update);
        let bare = row.and_then(|row| bare_answer(row).cloned());
        let events = match (self.stage, update) {
            (Stage::Over, _) => return Vec::new(),
            (Stage::Undecided, _) if let Some(message) = &bare => {
                vec![StreamResponse::Message(message_shown(message, &self.task.context_id))]
            }
            (Stage::Undecided, TaskUpdate::Message(message)) => {
                vec![StreamResponse::Message(message_shown(message, &self.task.context_id))]
            }
            (Stage::Undecided, _) => {
                let mut events = vec![self.whole()];
                if !self.says_nothing_new(update) {
                    events.extend(self.told(update, row, now));
                }
                events
            }
            (Stage::Going, TaskUpdate::Message(message)) => {
                let (state, message) = (TaskState::Completed, Some(message.clone()));
                self.told(&TaskUpdate::Status { state, message, at: now }, row, now)
            }
            (Stage::Going, TaskUpdate::Status { state, message: None, at }) if bare.is_some() => {
                self.told(&TaskUpdate::Status { state: *state, message: bare, at: *at }, row, now)
            }
            (Stage::Going, _) => self.told(update, row, now),
        };
        self.stage = if is_over { Stage::Over } else { Stage::Going };
        events
    }

    /// The update, after artifacts of the row that the client does not have.
    fn told(&mut self, update: &TaskUpdate, row: Option<&Task>, now: Timestamp) -> Vec<StreamResponse> {
        let mut missed: Vec<TaskUpdate> = Vec::new();
        for artifact in row.map(|row| row.artifacts.as_slice()).unwrap_or_default() {
            if !self.has(artifact) {
                missed.push(TaskUpdate::Artifact {
                    artifact: artifact.clone(),
                    is_append: false,
                    is_last: true,
                });
            }
        }
        missed.push(update.clone());
        let told = missed.iter().map(|update| stream_of(update, &self.task)).collect();
        for update in &missed {
            // What the row has no room for, it has said at its own end.
            let _ = tasks::apply(&mut self.task, update, now);
        }
        told
    }

    fn says_nothing_new(&self, update: &TaskUpdate) -> bool {
        matches!(update, TaskUpdate::Status { state, message: None, .. } if *state == self.task.state)
    }

    fn has(&self, artifact: &Artifact) -> bool {
        self.task.artifacts.contains(artifact)
    }

    fn whole(&self) -> StreamResponse {
        StreamResponse::Task(task_to(&self.task, self.history_length))
    }
}

/// The end of a turn.
fn is_settled(state: TaskState) -> bool {
    state.is_final() || state.is_interrupted()
}

#[cfg(test)]
mod tests {
    use warren_model::{Message, OrgId, Part, Principal, Role, TaskId, WorkspaceId};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000);

    fn task(state: TaskState) -> Task {
        let (id, place) = (TaskId::from_bytes([1; 16]), WorkspaceId::from_bytes([2; 16]));
        Task {
            state,
            history: vec![Message::new("m1", Role::User, vec![Part::text("hello")])],
            ..Task::submitted(id, OrgId::DEFAULT, place, "c", Principal::system("test"), NOW)
        }
    }

    fn status(state: TaskState) -> TaskUpdate {
        TaskUpdate::Status { state, message: None, at: NOW }
    }

    fn answer() -> Message {
        Message::new("r1", Role::Agent, vec![Part::text("hi")])
    }

    fn artifact(text: &str) -> Artifact {
        let parts = vec![Part::text(text)];
        Artifact {
            id: "a".into(),
            name: None,
            description: None,
            parts,
            metadata: serde_json::Map::new(),
            extensions: vec![],
        }
    }

    fn piece(text: &str, is_append: bool) -> TaskUpdate {
        TaskUpdate::Artifact { artifact: artifact(text), is_append, is_last: false }
    }

    /// A word for each event.
    fn words(events: &[StreamResponse]) -> Vec<&'static str> {
        let word = |event: &StreamResponse| match event {
            StreamResponse::Task(_) => "task",
            StreamResponse::Message(_) => "message",
            StreamResponse::StatusUpdate(_) => "status",
            StreamResponse::ArtifactUpdate(_) => "artifact",
        };
        events.iter().map(word).collect()
    }

    // X1
    #[test]
    fn a_task_comes_first_and_then_its_changes_until_it_ends() {
        let (mut feed, first) = Feed::of_message(task(TaskState::Working), false, None);
        assert_eq!(words(&first), [] as [&str; 0]);
        assert_eq!(words(&feed.take(&status(TaskState::Working), None, NOW)), ["task"]);
        assert_eq!(words(&feed.take(&piece("one", false), None, NOW)), ["artifact"]);
        assert_eq!(words(&feed.take(&piece("two", true), None, NOW)), ["artifact"]);
        let mut whole = artifact("one");
        whole.parts.push(Part::text("two"));
        let row = Task { artifacts: vec![whole], ..task(TaskState::Completed) };
        let last = feed.take(&status(TaskState::Completed), Some(&row), NOW);
        assert_eq!(words(&last), ["status"], "all of the artifact was streamed");
        assert!(feed.is_over());
        assert_eq!(feed.take(&status(TaskState::Completed), None, NOW), []);
    }

    // X1
    #[test]
    fn a_message_alone_is_the_whole_stream() {
        let row = || {
            let mut row = task(TaskState::Completed);
            row.history.push(answer());
            row
        };
        let heard = TaskUpdate::Message(answer());
        // Heard as it came, seen in the row only, and there before anybody listened.
        for update in [heard.clone(), status(TaskState::Completed)] {
            let (mut feed, _) = Feed::of_message(task(TaskState::Working), false, None);
            assert_eq!(words(&feed.take(&update, Some(&row()), NOW)), ["message"]);
            assert!(feed.is_over());
        }
        let (feed, first) = Feed::of_message(row(), false, None);
        assert_eq!((words(&first), feed.is_over()), (vec!["message"], true));
        // After the task was shown, it can only be how the task ended.
        let (mut feed, first) = Feed::of_message(task(TaskState::Submitted), true, None);
        assert_eq!(words(&first), ["task"]);
        let StreamResponse::StatusUpdate(last) = &feed.take(&heard, Some(&row()), NOW)[0] else { panic!() };
        assert_eq!(last.status.message.as_ref().unwrap().message_id, "r1");
    }

    // X1
    #[test]
    fn what_was_missed_is_made_up_for_at_the_end() {
        let (mut feed, _) = Feed::of_task(task(TaskState::Working));
        let row = Task { artifacts: vec![artifact("all")], ..task(TaskState::InputRequired) };
        let last = feed.take(&status(TaskState::InputRequired), Some(&row), NOW);
        assert_eq!(words(&last), ["artifact", "status"]);
        assert!(feed.is_over());
    }

    // X1
    #[test]
    fn a_subscription_to_work_that_waits_goes_on_with_the_next_message() {
        let (mut feed, first) = Feed::of_task(task(TaskState::InputRequired));
        assert_eq!((words(&first), feed.is_over()), (vec!["task"], false));
        assert_eq!(words(&feed.take(&status(TaskState::Working), None, NOW)), ["status"]);
        assert_eq!(words(&feed.take(&status(TaskState::Completed), None, NOW)), ["status"]);
        assert!(feed.is_over());
    }
}
