//! Tool calls and results in a few words.

use serde_json::{Map, Value};

/// Of a call's arguments, so much stands in its line.
const MAX_LABEL: usize = 100;
/// Of a result, so many lines and so much of each is shown.
const MAX_LINES: usize = 5;
const MAX_LINE: usize = 160;

/// A call as one line: its tool and what matters of its arguments.
pub(in crate::commands) fn call(tool: &str, arguments: &Value) -> String {
    let rest = match arguments {
        Value::Object(fields) => of_fields(fields),
        Value::Null => String::new(),
        other => scalar(other),
    };
    let rest = one_line(&rest);
    if rest.is_empty() { tool.to_owned() } else { format!("{tool} {}", shortened(&rest, MAX_LABEL)) }
}

/// Whether a call's line says all that there is to say about it.
pub(super) fn says_all(tool: &str, arguments: &Value) -> bool {
    let Value::Object(fields) = arguments else { return false };
    match fields.iter().next() {
        None => true,
        Some((_, Value::String(text))) if fields.len() == 1 => {
            call(tool, arguments) == format!("{tool} {text}")
        }
        Some(_) => false,
    }
}

/// What says most about a call: a command, a path, a question. Otherwise everything.
fn of_fields(fields: &Map<String, Value>) -> String {
    if let Some(Value::Array(words)) = fields.get("argv") {
        return words.iter().map(word).collect::<Vec<_>>().join(" ");
    }
    for name in ["command", "question", "pattern", "path"] {
        if let Some(Value::String(text)) = fields.get(name) {
            return text.clone();
        }
    }
    if let (Some(Value::String(from)), Some(Value::String(to))) = (fields.get("from"), fields.get("to")) {
        return format!("{from} → {to}");
    }
    match fields.len() {
        0 => String::new(),
        _ => Value::Object(fields.clone()).to_string(),
    }
}

/// A word of a command, quoted where it would not be one otherwise.
fn word(value: &Value) -> String {
    let text = scalar(value);
    let is_plain =
        !text.is_empty() && !text.contains(|one: char| one.is_whitespace() || matches!(one, '\'' | '"'));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first lines of a result, with how many are left out.
pub(super) fn preview(result: &Value) -> Vec<String> {
    let text = of_result(result);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut shown: Vec<String> = lines.iter().take(MAX_LINES).map(|line| shortened(line, MAX_LINE)).collect();
    if lines.len() > MAX_LINES {
        shown.push(format!("… {} more lines", lines.len() - MAX_LINES));
    }
    shown
}

/// The text of a result. Of a command it is what it printed, and its exit code where that says something.
fn of_result(result: &Value) -> String {
    let Value::Object(fields) = result else {
        return if result.is_null() { String::new() } else { scalar(result) };
    };
    if let Some(error) = fields.get("error").and_then(Value::as_object) {
        let part = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        return format!("{}: {}", part("code"), part("message"));
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::trim_end);
    if let (Some(stdout), Some(stderr)) = (text("stdout"), text("stderr")) {
        let mut parts: Vec<String> =
            [stdout, stderr].into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect();
        match fields.get("exit_code").and_then(Value::as_i64) {
            Some(0) | None => {}
            Some(code) => parts.push(format!("exit code {code}")),
        }
        return parts.join("\n");
    }
    Value::Object(fields.clone()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S12
    #[test]
    fn a_call_is_told_by_what_matters_of_it() {
        for (tool, arguments, expected) in [
            ("workspace_run", json!({ "argv": ["ls", "-la", "a b"] }), "workspace_run ls -la 'a b'"),
            ("workspace_run", json!({ "command": "make\n test" }), "workspace_run make test"),
            (
                "workspace_write_file",
                json!({ "path": "a.txt", "content": "x" }),
                "workspace_write_file a.txt",
            ),
            ("workspace_mv", json!({ "from": "a", "to": "b" }), "workspace_mv a → b"),
            ("weather", json!({ "city": "Bern" }), r#"weather {"city":"Bern"}"#),
            ("now", json!({}), "now"),
            ("odd", json!("not an object"), "odd not an object"),
        ] {
            assert_eq!(call(tool, &arguments), expected);
        }
        let long = call("t", &json!({ "path": "ü".repeat(200) }));
        assert_eq!(long.chars().count(), 2 + MAX_LABEL + 1, "{long}");
    }

    // S12, A30: who decides sees everything
    #[test]
    fn a_line_that_leaves_something_out_is_known() {
        assert!(says_all("workspace_rm", &json!({ "path": "a.txt" })));
        for more in [
            json!({ "path": "a", "content": "b" }),
            json!({ "path": "a\nb" }),
            json!({ "path": "x".repeat(500) }),
        ] {
            assert!(!says_all("workspace_rm", &more), "{more}");
        }
    }

    // S12
    #[test]
    fn a_result_is_shown_by_its_first_lines() {
        assert_eq!(preview(&json!("one\n\ntwo\n")), ["one", "two"]);
        assert_eq!(
            preview(&json!({ "exit_code": 3, "stdout": "out\n", "stderr": "oh\n" })),
            ["out", "oh", "exit code 3"]
        );
        assert_eq!(preview(&json!({ "exit_code": 0, "stdout": "", "stderr": "" })), Vec::<String>::new());
        assert_eq!(preview(&json!({ "ok": true })), [r#"{"ok":true}"#]);
        assert_eq!(preview(&json!({ "error": { "code": "a", "message": "b" } })), ["a: b"]);
        assert!(preview(&Value::Null).is_empty());
        let many: String = (0..20).map(|number| format!("{number}\n")).collect();
        let shown = preview(&json!(many));
        assert_eq!((shown.len(), shown[5].as_str()), (6, "… 15 more lines"));
    }
}
