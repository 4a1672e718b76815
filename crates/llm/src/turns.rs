//! What all wires have in common about turns: the words of an outcome, and the names of calls.

use std::collections::HashMap;

use serde_json::{Value, json};
use warren_model::session::{CallOutcome, ClosedCall, ModelRequest, Turn};
use warren_model::{Content, Part};

/// What a model reads about a call, and whether it is told as an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResultText {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

pub(crate) fn result_text(outcome: &CallOutcome) -> ResultText {
    match outcome {
        CallOutcome::Done { result } => ResultText { text: result.to_text(), is_error: false },
        CallOutcome::Failed { result } => ResultText { text: result.to_text(), is_error: true },
        CallOutcome::Denied { reason } => ResultText {
            text: format!(
                "This call was not carried out: it was denied. {}Nothing was changed. Do not repeat it as it is; go on \
                 without it, or ask the user.",
                sentence("Reason: ", reason)
            ),
            is_error: true,
        },
        CallOutcome::Unknown { evidence } => ResultText {
            text: format!(
                "It is not known whether this call was carried out: it was begun, and what became of it was lost. \
                 {}Look at the present state before you repeat it.",
                sentence("What is known: ", evidence)
            ),
            is_error: true,
        },
    }
}

fn sentence(lead: &str, text: &str) -> String {
    let text = text.trim();
    match text.chars().last() {
        None => String::new(),
        Some('.' | '!' | '?') => format!("{lead}{text} "),
        Some(_) => format!("{lead}{text}. "),
    }
}

/// Arguments as an object, which is what the wires take. What a model wrote and was none is kept under one name.
pub(crate) fn arguments_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        other => json!({ "invalid_arguments": other }),
    }
}

/// Names of calls as a wire takes them: 1 to 64 of `A-Z a-z 0-9 _ -`, each unlike the others. The same for a call and its
/// result.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    given: HashMap<String, u32>,
}

impl CallIds {
    const MAX_BYTES: usize = 64;

    /// The name of the next call of the conversation; to be asked once for each.
    pub(crate) fn next(&mut self, call: &ClosedCall) -> String {
        let mut id: String =
            call.id.chars().map(|one| if is_id_character(one) { one } else { '_' }).collect();
        id.truncate(Self::MAX_BYTES);
        if id.is_empty() {
            id.push_str("call");
        }
        loop {
            let count = self.given.entry(id.clone()).or_default();
            *count += 1;
            if *count == 1 {
                return id;
            }
            let suffix = format!("_{count}");
            id.truncate(Self::MAX_BYTES - suffix.len());
            id.push_str(&suffix);
        }
    }
}

const fn is_id_character(one: char) -> bool {
    one.is_ascii_alphanumeric() || matches!(one, '_' | '-')
}

/// One part of a user's turn, in what the wires have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum UserPart {
    Text(String),
    /// In base64, with its media type.
    Image {
        media_type: String,
        data: String,
    },
    ImageUrl(String),
    /// In base64.
    File {
        media_type: String,
        filename: String,
        data: String,
    },
    FileUrl {
        url: String,
        filename: String,
    },
}

/// Images that every provider reads.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Nothing where the part says nothing.
pub(crate) fn user_part(part: &Part) -> Option<UserPart> {
    let media_type = part.media_type.as_deref().unwrap_or_default();
    let filename = || part.filename.clone().unwrap_or_else(|| "file".to_owned());
    let is_web = |url: &str| url.starts_with("https://") || url.starts_with("http://");
    Some(match &part.content {
        Content::Text(text) if text.trim().is_empty() => return None,
        Content::Text(text) => UserPart::Text(text.clone()),
        Content::Data(data) => UserPart::Text(data.to_string()),
        Content::Raw(data) if data.is_empty() => return None,
        Content::Raw(data) if IMAGES.contains(&media_type) => {
            UserPart::Image { media_type: media_type.to_owned(), data: data.clone() }
        }
        Content::Raw(data) if media_type == "application/pdf" => {
            UserPart::File { media_type: media_type.to_owned(), filename: filename(), data: data.clone() }
        }
        Content::Raw(_) => UserPart::Text(format!(
            "[A file that this model cannot be shown: {} ({})]",
            filename(),
            if media_type.is_empty() { "unknown type" } else { media_type }
        )),
        Content::Url(url) if is_web(url) && media_type.starts_with("image/") => {
            UserPart::ImageUrl(url.clone())
        }
        Content::Url(url) if is_web(url) && media_type == "application/pdf" => {
            UserPart::FileUrl { url: url.clone(), filename: filename() }
        }
        // A file of the workspace among them: the model opens it with a tool.
        Content::Url(url) => UserPart::Text(format!("[A file: {} at {url}]", filename())),
    })
}

/// The turns as a wire takes them: a user's turn first, sides taking turns, none of them empty.
#[derive(Debug)]
pub(crate) enum Side<'a> {
    User(Vec<UserPart>),
    /// Its calls with their names on the wire, in the order of `calls`.
    Assistant {
        turn: &'a Turn,
        call_ids: Vec<String>,
    },
}

/// What stands in for a user who said nothing, where a wire asks for words.
const NO_WORDS: &str = "(no text)";
/// What stands before a conversation that an assistant begins.
const GO_ON: &str = "Continue.";

pub(crate) fn sides(request: &ModelRequest) -> Vec<Side<'_>> {
    let mut ids = CallIds::default();
    let mut sides: Vec<Side<'_>> = Vec::new();
    for turn in &request.turns {
        match &**turn {
            Turn::User(parts) => {
                let mut said: Vec<UserPart> = parts.iter().filter_map(user_part).collect();
                if said.is_empty() {
                    said.push(UserPart::Text(NO_WORDS.to_owned()));
                }
                match sides.last_mut() {
                    Some(Side::User(before)) => before.append(&mut said),
                    Some(Side::Assistant { .. }) | None => sides.push(Side::User(said)),
                }
            }
            Turn::Assistant { calls, .. } => {
                let call_ids = calls.iter().map(|call| ids.next(call)).collect();
                sides.push(Side::Assistant { turn, call_ids });
            }
        }
    }
    if !matches!(sides.first(), Some(Side::User(_))) {
        sides.insert(0, Side::User(vec![UserPart::Text(GO_ON.to_owned())]));
    }
    sides
}

#[cfg(test)]
mod tests {
    use warren_model::session::ToolResult;

    use super::*;

    fn call(id: &str) -> ClosedCall {
        let outcome = CallOutcome::Done { result: ToolResult::text("x") };
        ClosedCall { id: id.to_owned(), tool: "t".to_owned(), arguments: json!({}), outcome }
    }

    // A8
    #[test]
    fn call_ids_are_valid_and_unlike_each_other() {
        let mut ids = CallIds::default();
        let long = "ü".repeat(300);
        let given: Vec<String> =
            ["a:b", "a.b", "a_b", "", "", &long, &long, "a_b_2"].map(|id| ids.next(&call(id))).into();
        for (at, id) in given.iter().enumerate() {
            assert!((1..=64).contains(&id.len()) && id.chars().all(is_id_character), "{id}");
            assert!(!given[..at].contains(id), "{given:?}");
        }
    }

    // A8, A20
    #[test]
    fn outcomes_are_told_in_words_and_strings_stay_raw() {
        let done = CallOutcome::Done { result: ToolResult::text("a \"quoted\"\nline") };
        assert_eq!(result_text(&done).text, "a \"quoted\"\nline");
        let denied = result_text(&CallOutcome::Denied { reason: "not today".to_owned() });
        assert!(denied.is_error && denied.text.contains("Reason: not today. "), "{denied:?}");
        let unknown = result_text(&CallOutcome::Unknown { evidence: String::new() });
        assert!(unknown.is_error && unknown.text.contains("not known"), "{unknown:?}");
    }
}
