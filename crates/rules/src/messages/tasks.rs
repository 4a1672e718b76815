//! What is said about a task, put together into the task; and which messages are taken at all (X5).

use serde_json::{Map, Value};
use warren_model::{Artifact, Content, Message, Part, Task, TaskId, TaskUpdate, Timestamp};

/// Messages that a task keeps; the oldest go first.
pub const MAX_HISTORY: usize = 200;
/// Artifacts of one task.
pub const MAX_ARTIFACTS: usize = 200;
/// Bytes of all of them.
pub const MAX_ARTIFACT_BYTES: usize = 16 << 20;
/// Bytes of what is noted about one task as a whole.
pub const MAX_METADATA_BYTES: usize = 256 << 10;
pub const MAX_PARTS: usize = 100;
pub const MAX_CONTEXT_ID_BYTES: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMessage {
    #[error("message.id: expected 1 to {} bytes without control characters", Message::MAX_ID_BYTES)]
    Id,
    #[error("context_id: expected 1 to {MAX_CONTEXT_ID_BYTES} bytes without control characters")]
    ContextId,
    #[error("message.parts: at least one is needed")]
    NoParts,
    #[error("message.parts: at least one must say something")]
    SaysNothing,
    #[error("message.parts: at most {MAX_PARTS}")]
    TooManyParts,
    /// They end up in headers and names of files.
    #[error("message.parts[{0}]: its media type and its filename have no control characters")]
    PartName(usize),
    #[error("the message has {bytes} bytes, and may have {max}")]
    TooLarge { bytes: usize, max: usize },
}

/// Looks a message over before it is accepted. Nothing is ever cut off.
pub fn check(message: &Message, context_id: Option<&str>, max_bytes: usize) -> Result<(), InvalidMessage> {
    if !is_name(&message.id, Message::MAX_ID_BYTES) {
        return Err(InvalidMessage::Id);
    }
    if context_id.is_some_and(|id| !is_name(id, MAX_CONTEXT_ID_BYTES)) {
        return Err(InvalidMessage::ContextId);
    }
    match message.parts.len() {
        0 => return Err(InvalidMessage::NoParts),
        count if count > MAX_PARTS => return Err(InvalidMessage::TooManyParts),
        _ => {}
    }
    if message.parts.iter().all(is_blank) {
        return Err(InvalidMessage::SaysNothing);
    }
    if let Some(index) = message.parts.iter().position(has_bad_name) {
        return Err(InvalidMessage::PartName(index));
    }
    let bytes = size(message);
    if bytes > max_bytes { Err(InvalidMessage::TooLarge { bytes, max: max_bytes }) } else { Ok(()) }
}

fn is_blank(part: &Part) -> bool {
    match &part.content {
        Content::Text(text) => text.trim().is_empty(),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => false,
    }
}

fn has_bad_name(part: &Part) -> bool {
    [&part.media_type, &part.filename].into_iter().flatten().any(|name| name.chars().any(char::is_control))
}

fn is_name(text: &str, max_bytes: usize) -> bool {
    (1..=max_bytes).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// All that a message carries, every part of it.
pub fn size(message: &Message) -> usize {
    let parts = parts_size(&message.parts);
    let lists = message.extensions.iter().chain(&message.reference_task_ids).map(String::len).sum::<usize>();
    parts + lists + json_size(&message.metadata)
}

fn parts_size(parts: &[Part]) -> usize {
    parts.iter().map(part_size).sum()
}

/// All that one part carries.
pub fn part_size(part: &Part) -> usize {
    let content = match &part.content {
        Content::Text(text) | Content::Raw(text) | Content::Url(text) => text.len(),
        Content::Data(data) => data.to_string().len(),
    };
    let named = [&part.media_type, &part.filename].into_iter().flatten().map(String::len).sum::<usize>();
    content + named + json_size(&part.metadata)
}

fn json_size(map: &Map<String, Value>) -> usize {
    map.iter().map(|(key, value)| key.len() + value.to_string().len()).sum()
}

/// Puts what was said into the task. The state is changed by whoever knows how the delivery stands.
pub fn apply(task: &mut Task, update: &TaskUpdate, now: Timestamp) -> Result<(), TooMuch> {
    match update {
        TaskUpdate::Status { message, .. } => {
            if let Some(message) = message {
                let before = task.status_message.replace(message.clone());
                remember(task, before);
            }
        }
        TaskUpdate::Artifact { artifact, is_append, .. } => put_artifact(task, artifact, *is_append)?,
        TaskUpdate::Message(message) => {
            let before = task.status_message.take();
            remember(task, before);
            remember(task, Some(message.clone()));
        }
        TaskUpdate::Metadata(metadata) => put_metadata(task, metadata)?,
    }
    task.updated_at = now;
    Ok(())
}

/// The work has left more than one task may hold. What was kept before stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a task holds at most {MAX_ARTIFACTS} artifacts, {MAX_ARTIFACT_BYTES} bytes of them, and {MAX_METADATA_BYTES} bytes \
     of metadata"
)]
pub struct TooMuch;

/// Adds to what was said.
pub fn remember(task: &mut Task, message: Option<Message>) {
    task.history.extend(message);
    let excess = task.history.len().saturating_sub(MAX_HISTORY);
    task.history.drain(..excess);
}

fn put_metadata(task: &mut Task, metadata: &Map<String, Value>) -> Result<(), TooMuch> {
    let mut merged = task.metadata.clone();
    merged.extend(metadata.iter().map(|(name, value)| (name.clone(), value.clone())));
    if json_size(&merged) > MAX_METADATA_BYTES {
        return Err(TooMuch);
    }
    task.metadata = merged;
    Ok(())
}

fn put_artifact(task: &mut Task, artifact: &Artifact, is_append: bool) -> Result<(), TooMuch> {
    let kept: usize = task.artifacts.iter().map(|known| parts_size(&known.parts)).sum();
    if kept + parts_size(&artifact.parts) > MAX_ARTIFACT_BYTES {
        return Err(TooMuch);
    }
    if let Some(known) = task.artifacts.iter_mut().find(|known| known.id == artifact.id) {
        if is_append {
            known.append(artifact);
        } else {
            *known = artifact.clone();
        }
        return Ok(());
    }
    if task.artifacts.len() >= MAX_ARTIFACTS {
        return Err(TooMuch);
    }
    task.artifacts.push(artifact.clone());
    Ok(())
}

/// Other tasks that a message speaks of, under the names that its receiver has for them: the sender knows Warren's. One
/// that the receiver never got is left out; what is no name of ours is passed on as it is.
pub fn references<E>(
    said: &[String],
    mut name_over_there: impl FnMut(TaskId) -> Result<Option<String>, E>,
) -> Result<Vec<String>, E> {
    let mut known = Vec::with_capacity(said.len());
    for text in said {
        match text.parse::<TaskId>() {
            Ok(id) => known.extend(name_over_there(id)?),
            Err(_) => known.push(text.clone()),
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warren_model::Role;

    use super::*;

    fn message(parts: Vec<Part>) -> Message {
        Message::new("m", Role::User, parts)
    }

    // X5
    #[test]
    fn all_text_parts_count_and_one_byte_too_many_is_refused_not_cut() {
        let fits = message(vec![Part::text("12345"), Part::text("67890")]);
        assert_eq!(check(&fits, None, 10), Ok(()));
        assert_eq!(check(&fits, None, 9), Err(InvalidMessage::TooLarge { bytes: 10, max: 9 }));
        let data = message(vec![Part::data(json!({ "key": "value" }))]);
        assert!(check(&data, None, 10).is_err(), "data counts too");
        let mut tagged = message(vec![Part::text("1")]);
        tagged.metadata.insert("note".into(), json!("x".repeat(100)));
        assert!(check(&tagged, None, 50).is_err(), "and so does what stands beside the parts");
    }

    // X5
    #[test]
    fn empty_parts_and_names_that_are_none_are_refused() {
        let one = vec![Part::text("a")];
        assert_eq!(check(&message(Vec::new()), None, 100), Err(InvalidMessage::NoParts));
        for blank in [vec![Part::text("")], vec![Part::text(" \n"), Part::text("\t")]] {
            assert_eq!(check(&message(blank), None, 100), Err(InvalidMessage::SaysNothing));
        }
        let file = Part { content: Content::Url("workspace:a".into()), ..Part::text("") };
        assert_eq!(check(&message(vec![Part::text(""), file]), None, 100), Ok(()), "a file says something");
        let many = vec![Part::text(""); MAX_PARTS + 1];
        assert_eq!(check(&message(many), None, 100), Err(InvalidMessage::TooManyParts));
        for id in ["", "a\r\nb", "\0", &"x".repeat(129)] {
            let named = Message::new(id, Role::User, one.clone());
            assert_eq!(check(&named, None, 100), Err(InvalidMessage::Id), "{id:?}");
            assert_eq!(check(&message(one.clone()), Some(id), 100), Err(InvalidMessage::ContextId), "{id:?}");
        }
        for name in ["a\r\nX: y", "\0"] {
            let named = |media_type: Option<&str>, filename: Option<&str>| Part {
                media_type: media_type.map(str::to_owned),
                filename: filename.map(str::to_owned),
                ..Part::text("a")
            };
            for part in [named(Some(name), None), named(Some("text/plain"), Some(name))] {
                let message = message(vec![Part::text("a"), part]);
                assert_eq!(check(&message, None, 100), Err(InvalidMessage::PartName(1)), "{name:?}");
            }
        }
        assert_eq!(check(&message(one), Some("talk 1"), 100), Ok(()));
    }

    // X1
    #[test]
    fn a_reference_reaches_the_agent_under_the_name_it_knows() {
        let at = warren_model::Timestamp::from_micros(1);
        let (known, unknown) = (TaskId::from_parts(at, [1; 10]), TaskId::from_parts(at, [2; 10]));
        let said = [known.to_string(), unknown.to_string(), "theirs".to_owned()];
        let named = references(&said, |id| Ok::<_, ()>((id == known).then(|| "far".to_owned())));
        assert_eq!(named, Ok(vec!["far".to_owned(), "theirs".to_owned()]));
    }
}
