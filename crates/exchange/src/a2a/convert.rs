//! Between the wire and Warren's own nouns. Nothing is decided here and nothing is lost: what one side has and the other
//! lacks is named in the function that loses or makes it up.

use warren_model as model;
use warren_model::TaskUpdate;

use super::wire::{
    Artifact, ArtifactUpdate, Message, Part, PartContent, Role, StatusUpdate, StreamResponse, Task,
    TaskState, TaskStatus,
};

/// Task and context are the row's business and are left out.
pub fn message_from(message: Message) -> model::Message {
    model::Message {
        id: message.message_id,
        role: match message.role {
            Role::Agent => model::Role::Agent,
            Role::User | Role::Unspecified => model::Role::User,
        },
        parts: message.parts.into_iter().map(part_from).collect(),
        metadata: message.metadata,
        extensions: message.extensions,
        reference_task_ids: message.reference_task_ids,
    }
}

/// A message of a task, with the task's names in it.
pub fn message_to(message: &model::Message, task_id: Option<&str>, context_id: Option<&str>) -> Message {
    Message {
        message_id: message.id.clone(),
        context_id: context_id.map(str::to_owned),
        task_id: task_id.map(str::to_owned),
        role: match message.role {
            model::Role::User => Role::User,
            model::Role::Agent => Role::Agent,
        },
        parts: message.parts.iter().map(part_to).collect(),
        metadata: message.metadata.clone(),
        extensions: message.extensions.clone(),
        reference_task_ids: message.reference_task_ids.clone(),
    }
}

fn part_from(part: Part) -> model::Part {
    model::Part {
        content: match part.content {
            PartContent::Text(text) => model::Content::Text(text),
            PartContent::Raw(base64) => model::Content::Raw(base64),
            PartContent::Url(url) => model::Content::Url(url),
            PartContent::Data(data) => model::Content::Data(data),
        },
        media_type: part.media_type,
        filename: part.filename,
        metadata: part.metadata,
    }
}

fn part_to(part: &model::Part) -> Part {
    Part {
        content: match &part.content {
            model::Content::Text(text) => PartContent::Text(text.clone()),
            model::Content::Raw(base64) => PartContent::Raw(base64.clone()),
            model::Content::Url(url) => PartContent::Url(url.clone()),
            model::Content::Data(data) => PartContent::Data(data.clone()),
        },
        metadata: part.metadata.clone(),
        filename: part.filename.clone(),
        media_type: part.media_type.clone(),
    }
}

pub fn artifact_from(artifact: Artifact) -> model::Artifact {
    model::Artifact {
        id: artifact.artifact_id,
        name: artifact.name,
        description: artifact.description,
        parts: artifact.parts.into_iter().map(part_from).collect(),
        metadata: artifact.metadata,
        extensions: artifact.extensions,
    }
}

pub fn artifact_to(artifact: &model::Artifact) -> Artifact {
    Artifact {
        artifact_id: artifact.id.clone(),
        name: artifact.name.clone(),
        description: artifact.description.clone(),
        parts: artifact.parts.iter().map(part_to).collect(),
        metadata: artifact.metadata.clone(),
        extensions: artifact.extensions.clone(),
    }
}

/// Absent where the agent did not say.
pub fn state_from(state: TaskState) -> Option<model::TaskState> {
    Some(match state {
        TaskState::Unspecified => return None,
        TaskState::Submitted => model::TaskState::Submitted,
        TaskState::Working => model::TaskState::Working,
        TaskState::Completed => model::TaskState::Completed,
        TaskState::Failed => model::TaskState::Failed,
        TaskState::Canceled => model::TaskState::Cancelled,
        TaskState::InputRequired => model::TaskState::InputRequired,
        TaskState::Rejected => model::TaskState::Rejected,
        TaskState::AuthRequired => model::TaskState::AuthRequired,
    })
}

pub fn state_to(state: model::TaskState) -> TaskState {
    match state {
        model::TaskState::Submitted => TaskState::Submitted,
        model::TaskState::Working => TaskState::Working,
        model::TaskState::InputRequired => TaskState::InputRequired,
        model::TaskState::AuthRequired => TaskState::AuthRequired,
        model::TaskState::Completed => TaskState::Completed,
        model::TaskState::Failed => TaskState::Failed,
        model::TaskState::Cancelled => TaskState::Canceled,
        model::TaskState::Rejected => TaskState::Rejected,
    }
}

/// A task as clients see it, with the last `history_length` messages.
pub fn task_to(task: &model::Task, history_length: Option<usize>) -> Task {
    let id = task.id.to_string();
    let said = |message: &model::Message| shown(message, &id, &task.context_id);
    let skipped = history_length.map_or(0, |length| task.history.len().saturating_sub(length));
    Task {
        status: TaskStatus {
            state: state_to(task.state),
            message: task.status_message.as_ref().map(said),
            timestamp: Some(task.updated_at.to_string()),
        },
        artifacts: task.artifacts.iter().map(artifact_to).collect(),
        history: task.history.iter().skip(skipped).map(said).collect(),
        metadata: task.metadata.clone(),
        context_id: Some(task.context_id.clone()),
        id,
    }
}

/// A message as clients see it: what Warren noted for the transport is left out.
fn shown(message: &model::Message, task_id: &str, context_id: &str) -> Message {
    let mut message = message_to(message, Some(task_id), Some(context_id));
    message.metadata.remove(super::metadata::REQUEST);
    message
}

/// An update of a task as an event of a stream; `task` is the task before it.
pub fn stream_of(update: &TaskUpdate, task: &model::Task) -> StreamResponse {
    let (task_id, context_id) = (task.id.to_string(), task.context_id.clone());
    let metadata = serde_json::Map::new();
    match update {
        TaskUpdate::Status { state, message, at } => {
            let status = TaskStatus {
                state: state_to(*state),
                message: message.as_ref().map(|message| shown(message, &task_id, &context_id)),
                timestamp: Some(at.to_string()),
            };
            StreamResponse::StatusUpdate(StatusUpdate { task_id, context_id, status, metadata })
        }
        TaskUpdate::Artifact { artifact, is_append, is_last } => {
            StreamResponse::ArtifactUpdate(ArtifactUpdate {
                artifact: artifact_to(artifact),
                append: *is_append,
                last_chunk: *is_last,
                task_id,
                context_id,
                metadata,
            })
        }
        TaskUpdate::Message(message) => StreamResponse::Message(message_shown(message, &context_id)),
        // Only events about a state or an artifact can carry it.
        TaskUpdate::Metadata(metadata) => {
            let timestamp = Some(task.updated_at.to_string());
            let status = TaskStatus { state: state_to(task.state), message: None, timestamp };
            StreamResponse::StatusUpdate(StatusUpdate {
                task_id,
                context_id,
                status,
                metadata: metadata.clone(),
            })
        }
    }
}

/// A message that stands for itself: it belongs to a context and to no task that its reader should know.
pub fn message_shown(message: &model::Message, context_id: &str) -> Message {
    let mut message = message_to(message, None, Some(context_id));
    message.metadata.remove(super::metadata::REQUEST);
    message
}

/// The message with which an agent answered that keeps no task. What is said about a state is kept beside the state, so
/// an end without such words, after words of the agent, is one of these.
pub fn bare_answer(task: &model::Task) -> Option<&model::Message> {
    let is_bare = task.state == model::TaskState::Completed && task.status_message.is_none();
    task.history.last().filter(|last| is_bare && last.role == model::Role::Agent)
}
