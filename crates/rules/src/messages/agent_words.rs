//! What an agent says, before it is kept and shown: without the secrets of its workspace (F32).
//!
//! Texts, documents, addresses, names and bytes are looked through. Not the ids of messages and artifacts, by which what
//! comes in pieces is put together; and each piece by itself, so that a value that is broken between two is not found.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use warren_model::{Content, Message, Part, TaskUpdate};

use crate::text::redaction::Redactor;

/// Whether there is anything in it that could hold a secret.
pub fn say_something(updates: &[TaskUpdate]) -> bool {
    updates.iter().any(|update| match update {
        TaskUpdate::Status { message, .. } => message.is_some(),
        TaskUpdate::Artifact { .. } | TaskUpdate::Message(_) | TaskUpdate::Metadata(_) => true,
    })
}

/// Masks what is said about a task.
pub fn mask_updates(updates: &mut [TaskUpdate], known: &Redactor) {
    for update in updates {
        match update {
            TaskUpdate::Status { message, .. } => {
                message.iter_mut().for_each(|message| mask_message(message, known));
            }
            TaskUpdate::Message(message) => mask_message(message, known),
            TaskUpdate::Artifact { artifact, .. } => {
                let named = artifact.name.iter_mut().chain(&mut artifact.description);
                named.for_each(|text| known.mask_text(text));
                mask_parts(&mut artifact.parts, known);
                known.mask_fields(&mut artifact.metadata);
            }
            TaskUpdate::Metadata(fields) => known.mask_fields(fields),
        }
    }
}

fn mask_message(message: &mut Message, known: &Redactor) {
    mask_parts(&mut message.parts, known);
    known.mask_fields(&mut message.metadata);
}

/// Masks parts of a message.
pub fn mask_parts(parts: &mut [Part], known: &Redactor) {
    for part in parts {
        match &mut part.content {
            Content::Text(text) | Content::Url(text) => known.mask_text(text),
            Content::Raw(base64) => mask_bytes(base64, known),
            Content::Data(data) => known.mask_json(data),
        }
        part.filename.iter_mut().for_each(|name| known.mask_text(name));
        known.mask_fields(&mut part.metadata);
    }
}

/// Masks a request of an agent before anybody knows what it asks for: every text in it, and the bytes of files as bytes.
/// What is known about it later is masked again by its kind, which changes nothing any more.
pub fn mask_request(document: &mut Value, known: &Redactor) {
    if known.is_idle() {
        return;
    }
    match document {
        Value::String(text) => known.mask_text(text),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_request(item, known)),
        Value::Object(fields) => {
            let masked = std::mem::take(fields).into_iter().map(|(mut name, mut value)| {
                match &mut value {
                    Value::Array(parts) if name == "parts" => {
                        parts.iter_mut().for_each(|part| mask_part_of_request(part, known));
                    }
                    value => mask_request(value, known),
                }
                known.mask_text(&mut name);
                (name, value)
            });
            *fields = masked.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn mask_part_of_request(part: &mut Value, known: &Redactor) {
    let file = match part.get_mut("raw") {
        Some(Value::String(base64)) => {
            mask_bytes(base64, known);
            Some(std::mem::take(base64))
        }
        _ => None,
    };
    mask_request(part, known);
    if let (Some(base64), Some(place)) = (file, part.get_mut("raw")) {
        *place = Value::String(base64);
    }
}

/// Bytes are masked as what they are: stars in base64 would be no base64 any more.
fn mask_bytes(base64: &mut String, known: &Redactor) {
    match STANDARD.decode(base64.as_bytes()) {
        Ok(bytes) => {
            let mut masked = bytes.clone();
            known.mask(&mut masked);
            if masked != bytes {
                *base64 = STANDARD.encode(masked);
            }
        }
        Err(_) => known.mask_text(base64),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};
    use warren_model::{Artifact, Role, TaskState, Timestamp};

    use super::*;

    const SECRET: &str = "s3cret-of-the-workspace";
    const STARS: &str = "***********************";

    fn part(content: Content) -> Part {
        Part { content, media_type: None, filename: None, metadata: Map::new() }
    }

    fn parts() -> Vec<Part> {
        let named = Part {
            filename: Some(format!("{SECRET}.txt")),
            metadata: Map::from_iter([(SECRET.to_owned(), json!({ "deep": [SECRET] }))]),
            ..Part::text(format!("it is {SECRET}."))
        };
        let raw = part(Content::Raw(STANDARD.encode(format!("KEY={SECRET}\n"))));
        let url = part(Content::Url(format!("https://example.com/?key={SECRET}")));
        vec![named, raw, url, Part::data(json!([{ "key": SECRET }, 1, null]))]
    }

    fn all_kinds() -> Vec<TaskUpdate> {
        let at = Timestamp::from_micros(1);
        let mut message = Message::new("m", Role::Agent, parts());
        message.metadata.insert("note".into(), json!(SECRET));
        let artifact = Artifact {
            id: "a".into(),
            name: Some(SECRET.into()),
            description: Some(SECRET.into()),
            parts: parts(),
            metadata: Map::from_iter([("note".to_owned(), json!(SECRET))]),
            extensions: Vec::new(),
        };
        vec![
            TaskUpdate::Status { state: TaskState::Working, message: Some(message.clone()), at },
            TaskUpdate::Message(message),
            TaskUpdate::Artifact { artifact, is_append: false, is_last: true },
            TaskUpdate::Metadata(Map::from_iter([("note".to_owned(), json!(SECRET))])),
        ]
    }

    // F32
    #[test]
    fn a_planted_value_is_in_nothing_that_an_agent_says() {
        let known = Redactor::new([SECRET]);
        for update in all_kinds() {
            let mut masked = [update.clone()];
            mask_updates(&mut masked, &known);
            let text = format!("{masked:?}");
            assert!(!text.contains(SECRET) && text.contains(STARS), "{text}");
            assert!(!text.contains(&STANDARD.encode(format!("KEY={SECRET}\n"))), "{text}");
            let mut kept = [update.clone()];
            mask_updates(&mut kept, &Redactor::default());
            assert_eq!(kept, [update], "who has no secrets says what they like");
        }
    }

    // F32
    #[test]
    fn bytes_stay_bytes_and_what_holds_no_secret_stays_as_it_is() {
        let known = Redactor::new([SECRET]);
        let mut masked = parts();
        mask_parts(&mut masked, &known);
        assert_eq!(masked[1].content, Content::Raw(STANDARD.encode(format!("KEY={STARS}\n"))));
        assert_eq!(masked[0].content, Content::Text(format!("it is {STARS}.")));
        assert_eq!(masked[3].content, Content::Data(json!([{ "key": STARS }, 1, null])));
        let harmless =
            [Part::text("größe 日本"), part(Content::Raw("no base64!".into())), Part::data(Value::Null)];
        let mut kept = harmless.clone();
        mask_parts(&mut kept, &known);
        assert_eq!(kept, harmless);
    }

    // F32
    #[test]
    fn words_without_content_are_not_looked_through() {
        let at = Timestamp::from_micros(1);
        assert!(!say_something(&[TaskUpdate::Status { state: TaskState::Working, message: None, at }]));
        assert!(!say_something(&[]));
        assert!(all_kinds().into_iter().all(|update| say_something(&[update])));
    }

    // F18, F32
    #[test]
    fn a_request_is_masked_whatever_it_asks_for_and_its_files_stay_files() {
        let known = Redactor::new([SECRET, "hunter2hunter2"]);
        let file = |text: &str| json!({ "raw": STANDARD.encode(text), "metadata": { "raw": SECRET } });
        let mut asked = json!({
            "sample_error": format!("401 for {SECRET}"),
            "raw": "hunter2hunter2",
            SECRET: [null, 1],
            "message": { "parts": [{ "text": SECRET }, file(&format!("KEY={SECRET}\n")), "hunter2hunter2",
                { "raw": "AAhunter2hunter2" }, { "raw": "!hunter2hunter2" }, { "raw": 1 }] },
        });
        mask_request(&mut asked, &known);
        let masked = json!({
            "sample_error": format!("401 for {STARS}"),
            "raw": "**************",
            STARS: [null, 1],
            "message": { "parts": [{ "text": STARS },
                { "raw": STANDARD.encode(format!("KEY={STARS}\n")), "metadata": { "raw": STARS } }, "**************",
                { "raw": "AAhunter2hunter2" }, { "raw": "!**************" }, { "raw": 1 }] },
        });
        assert_eq!(asked, masked);
    }
}
