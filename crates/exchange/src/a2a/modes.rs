//! What an agent's card says that it takes.
//!
//! Only types that a sender names are held against it, and only where the card says something at all: text and data
//! without a type are what every agent is spoken to with, and an agent that is silent about its input takes its chances.

use serde_json::Value;
use warren_model::{Content, Message, Part};

use super::error::{ErrorKind, ProtocolError};

/// Refuses a message with a part of a type that the card names nowhere, neither for the agent nor for one of its skills.
pub fn check_input_modes(card: &Value, message: &Message) -> Result<(), ProtocolError> {
    let modes = input_modes(card);
    if modes.is_empty() {
        return Ok(());
    }
    let is_refused = |part: &Part| !modes.iter().any(|mode| is_taken_by(mode, part));
    let Some(index) = message.parts.iter().position(is_refused) else { return Ok(()) };
    let words = format!("message.parts[{index}].mediaType: not one that the agent takes");
    let error = ProtocolError::new(ErrorKind::ContentTypeNotSupported, words);
    Err(error.with("supportedTypes", modes.join(", ")))
}

/// Whether any part names its type; without one there is nothing to hold against a card.
pub fn names_types(message: &Message) -> bool {
    message.parts.iter().any(|part| part.media_type.is_some())
}

fn input_modes(card: &Value) -> Vec<&str> {
    let own = std::iter::once(&card["defaultInputModes"]);
    let skills = card["skills"].as_array().into_iter().flatten().map(|skill| &skill["inputModes"]);
    let lists = own.chain(skills).filter_map(Value::as_array).flatten();
    lists.filter_map(Value::as_str).map(str::trim).filter(|mode| !mode.is_empty()).collect()
}

fn is_taken_by(mode: &str, part: &Part) -> bool {
    let Some(media_type) = part.media_type.as_deref() else { return true };
    let (mode, media_type) = (essence(mode), essence(media_type));
    match mode.split_once('/') {
        Some((_, "*")) if mode == "*/*" => true,
        Some((range, "*")) => media_type.split_once('/').is_some_and(|(kind, _)| kind == range),
        Some(_) => mode == media_type,
        // Some cards name kinds of parts instead of types.
        None => mode == "*" || mode == kind_of(part) || media_type.split('/').next() == Some(&mode),
    }
}

/// The type without its parameters.
fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

const fn kind_of(part: &Part) -> &'static str {
    match part.content {
        Content::Text(_) => "text",
        Content::Raw(_) | Content::Url(_) => "file",
        Content::Data(_) => "data",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use warren_model::Role;

    use super::*;

    fn message(content: Content, media_type: Option<&str>) -> Message {
        let part = Part { content, media_type: media_type.map(str::to_owned), ..Part::text("") };
        Message::new("m1", Role::User, vec![Part::text("look"), part])
    }

    fn takes(modes: &[&str], media_type: Option<&str>) -> bool {
        let card = json!({ "defaultInputModes": modes });
        check_input_modes(&card, &message(Content::Raw("AA==".into()), media_type)).is_ok()
    }

    // X1
    #[test]
    fn a_type_is_taken_if_the_card_names_it_in_one_way_or_another() {
        for (modes, media_type) in [
            (vec!["text/plain", "image/png"], "image/png"),
            (vec!["image/png"], "Image/PNG; q=1"),
            (vec!["image/*"], "image/png"),
            (vec!["*/*"], "image/png"),
            (vec!["*"], "image/png"),
            (vec!["image"], "image/png"),
            (vec!["file"], "image/png"),
            (vec![], "image/png"),
        ] {
            assert!(takes(&modes, Some(media_type)), "{modes:?} {media_type}");
        }
        assert!(takes(&["text/plain"], None), "no type is named");
        for (modes, media_type) in [
            (vec!["text/plain"], "image/png"),
            (vec!["text"], "image/png"),
            (vec!["data"], "image/png"),
            (vec!["image/*"], "imagery/png"),
            (vec!["image/png"], "image/pn"),
        ] {
            assert!(!takes(&modes, Some(media_type)), "{modes:?} {media_type}");
        }
    }

    // X1
    #[test]
    fn what_one_skill_takes_the_agent_takes() {
        let card =
            json!({ "defaultInputModes": ["text/plain"], "skills": [{}, { "inputModes": ["image/png"] }] });
        let of = |media_type| message(Content::Raw("AA==".into()), Some(media_type));
        assert_eq!(check_input_modes(&card, &of("image/png")), Ok(()));
        let refused = check_input_modes(&card, &of("image/gif")).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::ContentTypeNotSupported);
        assert_eq!(refused.message, "message.parts[1].mediaType: not one that the agent takes");
        assert_eq!(refused.metadata["supportedTypes"], "text/plain, image/png");
    }

    // X1
    #[test]
    fn a_card_of_any_shape_is_borne() {
        for card in [json!(null), json!({ "defaultInputModes": "text", "skills": 5 }), json!([1])] {
            let data = message(Content::Data(json!(1)), Some("application/json"));
            assert_eq!(check_input_modes(&card, &data), Ok(()), "{card}");
        }
    }
}
