//! A permission that a program asks for, as a question to people, and their decision as the option that it takes. Pure.
//!
//! What is shown is what runs: the whole input of the call, with every character that could hide or reorder something
//! written out. An input that is too long to be shown whole is not asked about, and not allowed.

use serde_json::{Map, Value, json};
use warren_api::{ApprovalState, RequestApproval};

/// Of an action's name, as Warren takes it.
const MAX_ACTION_CHARACTERS: usize = 200;
/// Of the text beneath it, as Warren takes it.
const MAX_REASON_BYTES: usize = 4 << 10;
/// Of everything that belongs to the call; Warren takes 64 KiB in all.
const MAX_SHOWN_BYTES: usize = 48 << 10;
/// Fields of a call that say what it does. Others, such as its output, are not what is decided about.
const SHOWN: [&str; 5] = ["title", "kind", "rawInput", "locations", "content"];

/// Why nobody is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unaskable {
    #[error("it offers no way to allow it once")]
    NoOption,
    #[error("its input has {0} bytes, which is more than can be shown to the person who decides")]
    TooLong(usize),
}

/// The question. `call` is all that is known of the tool call; `options` are those of the request.
pub(crate) fn question(call: &Value, options: &Value, task: &str) -> Result<RequestApproval, Unaskable> {
    if option(options, &["allow_once"]).is_none() {
        return Err(Unaskable::NoOption);
    }
    let mut shown = Map::new();
    for name in SHOWN {
        if let Some(value) = call.get(name).filter(|value| !value.is_null()) {
            shown.insert(name.to_owned(), visible_json(value));
        }
    }
    let bytes = Value::Object(shown.clone()).to_string().len();
    if bytes > MAX_SHOWN_BYTES {
        return Err(Unaskable::TooLong(bytes));
    }
    let title = title(call);
    let text = shown.get("rawInput").map_or_else(|| title.clone(), |input| format!("{title}\n{input:#}"));
    let reason = match text.len() {
        ..=MAX_REASON_BYTES => text,
        // All of it is beside it.
        _ => format!("{} …\nAll of it is in `call`.", head(&text, MAX_REASON_BYTES - 64)),
    };
    Ok(RequestApproval {
        action: title.chars().take(MAX_ACTION_CHARACTERS).collect(),
        reason,
        context: Some(json!({ "asked_by": "the program", "call": shown })),
        expires_in_seconds: None,
        task_id: Some(task.to_owned()),
    })
}

/// What the call is about, in a line.
pub(crate) fn title(call: &Value) -> String {
    let text = |name: &str| call.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let title = match (text("title"), text("kind")) {
        (Some(title), _) => title,
        (None, Some(kind)) => kind,
        (None, None) => "a tool call without a title",
    };
    visible(title.trim()).replace('\n', " ")
}

/// The answer to the program. Only what was decided for this one call is handed on: an option that counts for later calls
/// too is taken for a refusal alone.
pub(crate) fn outcome(options: &Value, decided: ApprovalState) -> Value {
    let chosen = match decided {
        ApprovalState::Approved => option(options, &["allow_once"]),
        ApprovalState::Denied | ApprovalState::Expired | ApprovalState::Void | ApprovalState::Pending => {
            option(options, &["reject_once", "reject_always"])
        }
    };
    match chosen {
        Some(id) => json!({ "outcome": { "outcome": "selected", "optionId": id } }),
        None => cancelled(),
    }
}

pub(crate) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// The id of the first option of one of these kinds.
fn option(options: &Value, kinds: &[&str]) -> Option<String> {
    let of_kind = |kind: &&str| {
        let all = options.as_array()?;
        let found = all.iter().find(|one| one.get("kind").and_then(Value::as_str) == Some(*kind))?;
        found.get("optionId").and_then(Value::as_str).map(str::to_owned)
    };
    kinds.iter().find_map(of_kind)
}

/// The text with every character written out that shows nothing, or changes how others are shown.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for one in text.chars() {
        if one == '\n' || one == '\t' || !is_hidden(one) {
            shown.push(one);
        } else {
            shown.extend(one.escape_unicode());
        }
    }
    shown
}

fn is_hidden(one: char) -> bool {
    one.is_control()
        || matches!(one,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn visible_json(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible(text)),
        Value::Array(items) => items.iter().map(visible_json).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (visible(name), visible_json(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The beginning of a text, at most so many bytes.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn options() -> Value {
        json!([
            { "optionId": "always", "name": "Always", "kind": "allow_always" },
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "never", "name": "Never", "kind": "reject_always" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ])
    }

    fn selected(options: &Value, decided: ApprovalState) -> Option<String> {
        Some(outcome(options, decided)["outcome"]["optionId"].as_str()?.to_owned())
    }

    // A80, X51
    #[test]
    fn a_decision_counts_for_this_call_and_no_other() {
        assert_eq!(selected(&options(), ApprovalState::Approved).as_deref(), Some("yes"));
        for refused in [ApprovalState::Denied, ApprovalState::Expired, ApprovalState::Void] {
            assert_eq!(selected(&options(), refused).as_deref(), Some("no"));
        }
        let only_always = json!([{ "optionId": "always", "kind": "allow_always" }]);
        assert_eq!(selected(&only_always, ApprovalState::Approved), None);
        assert_eq!(question(&json!({ "title": "x" }), &only_always, "t"), Err(Unaskable::NoOption));
        assert_eq!(question(&json!({ "title": "x" }), &json!([]), "t"), Err(Unaskable::NoOption));
    }

    // A80: what is shown is what runs
    #[test]
    fn what_hides_or_reorders_text_is_written_out() {
        let call =
            json!({ "title": "rm \u{202e}txt.sselmrah", "rawInput": { "command": "echo a\u{200b}b\u{7}" } });
        let asked = question(&call, &options(), "t").unwrap();
        assert_eq!(asked.action, "rm \\u{202e}txt.sselmrah");
        let shown = &asked.context.unwrap()["call"]["rawInput"]["command"];
        assert_eq!(shown, "echo a\\u{200b}b\\u{7}");
        assert!(asked.reason.contains("echo a\\\\u{200b}b\\\\u{7}"), "{}", asked.reason);
    }

    // A80
    #[test]
    fn an_input_that_cannot_be_shown_whole_is_not_asked_about() {
        let call = json!({ "title": "write", "rawInput": { "text": "x".repeat(MAX_SHOWN_BYTES) } });
        assert!(matches!(question(&call, &options(), "t"), Err(Unaskable::TooLong(_))));
    }

    proptest! {
        // A80
        #[test]
        fn any_call_is_a_question_that_warren_takes(title in "\\PC{0,400}", input in ".{0,6000}") {
            let call = json!({ "title": title, "kind": "execute", "rawInput": { "command": input } });
            let asked = question(&call, &options(), "t").unwrap();
            prop_assert!((1..=MAX_ACTION_CHARACTERS).contains(&asked.action.chars().count()));
            prop_assert!(!asked.action.chars().any(is_hidden));
            prop_assert!(!asked.reason.is_empty() && asked.reason.len() <= MAX_REASON_BYTES);
            prop_assert!(!asked.reason.contains('\0'));
        }
    }
}
