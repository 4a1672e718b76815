//! Messages and tasks between the wire and the model.

use warren_api as api;
use warren_exchange::{Claimed, Placed};
use warren_model as model;
use warren_model::{Content, ErrorCode, TaskUpdate, Timestamp};

use crate::problem::Failure;

fn invalid(detail: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidMessage, detail)
}

/// A message as it came; `id` names it where its sender did not.
pub(crate) fn message_from(
    message: api::TaskMessage,
    id: String,
    field: &str,
) -> Result<model::Message, Failure> {
    let role = match message.role {
        api::MessageRole::User => model::Role::User,
        api::MessageRole::Agent => model::Role::Agent,
    };
    let parts = message.parts.into_iter().enumerate();
    let parts: Result<_, _> =
        parts.map(|(at, part)| part_from(part, &format!("{field}.parts[{at}]"))).collect();
    Ok(model::Message {
        metadata: message.metadata,
        ..model::Message::new(message.id.unwrap_or(id), role, parts?)
    })
}

pub(crate) fn part_from(part: api::MessagePart, field: &str) -> Result<model::Part, Failure> {
    let content = match (part.text, part.raw, part.url, part.data) {
        (Some(text), None, None, None) => Content::Text(text),
        (None, Some(raw), None, None) => Content::Raw(raw),
        (None, None, Some(url), None) => Content::Url(url),
        (None, None, None, Some(data)) => Content::Data(data),
        _ => return Err(invalid(format!("{field}: exactly one of text, raw, url and data"))),
    };
    if let Content::Raw(raw) = &content {
        use base64::Engine as _;
        let is_base64 = base64::engine::general_purpose::STANDARD.decode(raw).is_ok();
        if !is_base64 {
            return Err(invalid(format!("{field}.raw: expected base64")));
        }
    }
    Ok(model::Part { content, media_type: part.media_type, filename: part.filename, metadata: part.metadata })
}

pub(crate) fn part(part: &model::Part) -> api::MessagePart {
    let mut wire = api::MessagePart {
        media_type: part.media_type.clone(),
        filename: part.filename.clone(),
        metadata: part.metadata.clone(),
        ..api::MessagePart::default()
    };
    match &part.content {
        Content::Text(text) => wire.text = Some(text.clone()),
        Content::Raw(raw) => wire.raw = Some(raw.clone()),
        Content::Url(url) => wire.url = Some(url.clone()),
        Content::Data(data) => wire.data = Some(data.clone()),
    }
    wire
}

pub(crate) fn role(role: model::Role) -> api::MessageRole {
    match role {
        model::Role::User => api::MessageRole::User,
        model::Role::Agent => api::MessageRole::Agent,
    }
}

pub(crate) fn message(message: &model::Message) -> api::TaskMessage {
    api::TaskMessage {
        id: Some(message.id.clone()),
        role: role(message.role),
        parts: message.parts.iter().map(part).collect(),
        metadata: message.metadata.clone(),
    }
}

fn artifact(artifact: &model::Artifact) -> api::TaskArtifact {
    api::TaskArtifact {
        id: artifact.id.clone(),
        name: artifact.name.clone(),
        description: artifact.description.clone(),
        parts: artifact.parts.iter().map(part).collect(),
        metadata: artifact.metadata.clone(),
    }
}

fn artifact_from(update: api::ArtifactUpdate, field: &str) -> Result<TaskUpdate, Failure> {
    let parts = update.artifact.parts.into_iter().enumerate();
    let parts: Result<_, _> =
        parts.map(|(at, part)| part_from(part, &format!("{field}.parts[{at}]"))).collect();
    Ok(TaskUpdate::Artifact {
        artifact: model::Artifact {
            id: update.artifact.id,
            name: update.artifact.name,
            description: update.artifact.description,
            parts: parts?,
            metadata: update.artifact.metadata,
            extensions: Vec::new(),
        },
        is_append: update.append,
        is_last: update.last,
    })
}

pub(crate) fn artifacts_from(updates: Vec<api::ArtifactUpdate>) -> Result<Vec<TaskUpdate>, Failure> {
    let updates = updates.into_iter().enumerate();
    updates.map(|(at, update)| artifact_from(update, &format!("artifacts[{at}]"))).collect()
}

pub(crate) fn task_state(state: model::TaskState) -> api::TaskState {
    match state {
        model::TaskState::Submitted => api::TaskState::Submitted,
        model::TaskState::Working => api::TaskState::Working,
        model::TaskState::InputRequired => api::TaskState::InputRequired,
        model::TaskState::AuthRequired => api::TaskState::AuthRequired,
        model::TaskState::Completed => api::TaskState::Completed,
        model::TaskState::Failed => api::TaskState::Failed,
        model::TaskState::Cancelled => api::TaskState::Cancelled,
        model::TaskState::Rejected => api::TaskState::Rejected,
    }
}

pub(crate) fn task_state_from(state: api::TaskState) -> model::TaskState {
    match state {
        api::TaskState::Submitted => model::TaskState::Submitted,
        api::TaskState::Working => model::TaskState::Working,
        api::TaskState::InputRequired => model::TaskState::InputRequired,
        api::TaskState::AuthRequired => model::TaskState::AuthRequired,
        api::TaskState::Completed => model::TaskState::Completed,
        api::TaskState::Failed => model::TaskState::Failed,
        api::TaskState::Cancelled => model::TaskState::Cancelled,
        api::TaskState::Rejected => model::TaskState::Rejected,
    }
}

pub(crate) fn author(author: &model::Principal) -> api::Author {
    api::Author { kind: author.kind.as_str().to_owned(), id: author.id.clone(), name: None }
}

fn optional_time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

pub(crate) fn task(task: &model::Task) -> api::Task {
    api::Task {
        id: task.id.to_string(),
        workspace_id: task.workspace_id.to_string(),
        context_id: task.context_id.clone(),
        author: author(&task.author),
        state: task_state(task.state),
        status_message: task.status_message.as_ref().map(message),
        history: task.history.iter().map(message).collect(),
        artifacts: task.artifacts.iter().map(artifact).collect(),
        created_at: task.created_at.to_string(),
        updated_at: task.updated_at.to_string(),
    }
}

pub(crate) fn delivery_state_from(state: api::DeliveryState) -> model::DeliveryState {
    match state {
        api::DeliveryState::Queued => model::DeliveryState::Queued,
        api::DeliveryState::Claimed => model::DeliveryState::Claimed,
        api::DeliveryState::Ended => model::DeliveryState::Ended,
    }
}

pub(crate) fn placed(placed: &Placed) -> api::QueuedMessage {
    api::QueuedMessage { position: placed.position, ..delivery(&placed.delivery) }
}

pub(crate) fn delivery(row: &model::Delivery) -> api::QueuedMessage {
    api::QueuedMessage {
        id: row.id.to_string(),
        task_id: row.task_id.to_string(),
        author: author(&row.author),
        message: message(&row.message),
        priority: row.priority,
        state: match row.state {
            model::DeliveryState::Queued => api::DeliveryState::Queued,
            model::DeliveryState::Claimed => api::DeliveryState::Claimed,
            model::DeliveryState::Ended => api::DeliveryState::Ended,
        },
        position: None,
        end: row.end.map(|end| end.as_str().to_owned()),
        reason: row.reason.map(|reason| reason.as_str().to_owned()),
        attempts: row.attempts,
        not_before: row.not_before.to_string(),
        expires_at: row.expires_at.to_string(),
        lease_until: optional_time(row.lease_until),
        created_at: row.created_at.to_string(),
        ended_at: optional_time(row.ended_at),
    }
}

pub(crate) fn claimed(claimed: &Claimed) -> api::ClaimedMessage {
    let Claimed { delivery, task: work } = claimed;
    api::ClaimedMessage {
        queue_id: delivery.id.to_string(),
        attempt: delivery.attempts,
        lease_until: optional_time(delivery.lease_until).unwrap_or_default(),
        author: author(&delivery.author),
        message: message(&delivery.message),
        task: task(work),
    }
}

pub(crate) fn delegation_state(state: model::DelegationState) -> api::DelegationState {
    match state {
        model::DelegationState::Pending => api::DelegationState::Pending,
        model::DelegationState::Queued => api::DelegationState::Queued,
        model::DelegationState::Dispatched => api::DelegationState::Dispatched,
        model::DelegationState::Completed => api::DelegationState::Completed,
        model::DelegationState::Failed => api::DelegationState::Failed,
        model::DelegationState::Cancelled => api::DelegationState::Cancelled,
        model::DelegationState::Expired => api::DelegationState::Expired,
    }
}

pub(crate) fn delegation(
    row: &model::Delegation,
    work: Option<&model::Task>,
    position: Option<u64>,
) -> api::Delegation {
    let has_ended = row.state.is_final();
    let result = work.filter(|_| has_ended).map(warren_exchange::result_of).unwrap_or_default();
    api::Delegation {
        id: row.id.to_string(),
        from: row.from.to_string(),
        to: row.to.to_string(),
        task_id: row.task_id.to_string(),
        parent_task: row.parent_task.map(|id| id.to_string()),
        state: delegation_state(row.state),
        result: result.iter().map(part).collect(),
        position,
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
        ended_at: optional_time(row.ended_at),
    }
}

pub(crate) fn peer(row: &model::Workspace) -> api::Peer {
    api::Peer {
        id: row.id.to_string(),
        name: row.name.to_string(),
        role: row.spec.role.clone(),
        status: crate::convert::status(row.status),
        parent_id: row.parent_id.map(|id| id.to_string()),
    }
}

pub(crate) fn peer_circle(circle: model::PeerCircle) -> api::PeerCircle {
    match circle {
        model::PeerCircle::Nobody => api::PeerCircle::Nobody,
        model::PeerCircle::Family => api::PeerCircle::Family,
        model::PeerCircle::Org => api::PeerCircle::Org,
    }
}

pub(crate) fn peer_policy(policy: Option<&model::PeerPolicy>) -> api::PeerPolicy {
    let usual = model::PeerPolicy::default();
    let policy = policy.unwrap_or(&usual);
    api::PeerPolicy {
        circle: peer_circle(policy.circle),
        allow: policy.allow.iter().map(ToString::to_string).collect(),
        deny: policy.deny.iter().map(ToString::to_string).collect(),
    }
}

pub(crate) fn peer_policy_from(policy: &api::PeerPolicy) -> Result<model::PeerPolicy, Failure> {
    let ids = |field: &str, ids: &[String]| -> Result<Vec<model::WorkspaceId>, Failure> {
        let wrong =
            || Failure::new(ErrorCode::InvalidRequest, format!("{field}: expected ids of workspaces"));
        ids.iter().map(|id| id.parse().map_err(|_| wrong())).collect()
    };
    Ok(model::PeerPolicy {
        circle: match policy.circle {
            api::PeerCircle::Nobody => model::PeerCircle::Nobody,
            api::PeerCircle::Family => model::PeerCircle::Family,
            api::PeerCircle::Org => model::PeerCircle::Org,
        },
        allow: ids("allow", &policy.allow)?,
        deny: ids("deny", &policy.deny)?,
    })
}
