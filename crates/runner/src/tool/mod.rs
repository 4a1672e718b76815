//! `warren` in a box: Warren's tools for programs that know no MCP (X23).
//!
//! ```text
//!   warren delegate NAME TEXT ──▶ POST http://127.0.0.1:7702/mcp ──▶ the tool door ──▶ delegate_task
//! ```
//!
//! It has no credential: Warren knows the box that asks by the door that it asks through.

mod arguments;
mod http;

use std::io::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};

use arguments::Asked;

/// By this name the runner is this program.
pub const NAME: &str = "warren";

const USAGE: &str = "\
usage: warren COMMAND

  warren peers [QUERY]                          who can be given work
  warren delegate NAME TEXT [--file PATH]...    hand work on, and wait for its result
         [--no-wait]                            … or do not wait
  warren task ID                                how work that was handed on stands
  warren ask TEXT [--reason TEXT]               ask people for a decision, and wait for it
  warren notify TEXT [--attach PATH]...         tell people something, with files
  warren remember KEY TEXT [--scope SCOPE]      keep something: local, team or org
  warren recall [KEY | --search WORDS]          what is kept
  warren info                                   about this workspace

Add --json to any of them for the whole answer.";

/// Runs one command, and says what came of it.
pub fn main(words: &[&str]) -> ExitCode {
    let asked = match arguments::read(words) {
        Ok(Some(asked)) => asked,
        Ok(None) => {
            let _ = writeln!(std::io::stdout(), "{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => return complain(&format!("{problem}\n{USAGE}"), 2),
    };
    match call(&asked) {
        Ok(answer) => {
            let _ = writeln!(std::io::stdout(), "{}", show(&asked, &answer));
            // A decision against it, or work that failed, is told by the exit code too.
            ExitCode::from(u8::from(!asked.is_well(&answer)))
        }
        Err(problem) => complain(&problem, 1),
    }
}

fn call(asked: &Asked) -> Result<Value, String> {
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": asked.tool, "arguments": asked.arguments },
    });
    let answer = http::post(&request.to_string())?;
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(message.to_owned());
    }
    // A door that is shut says why.
    if let Some(detail) = answer["detail"].as_str().or(answer["title"].as_str()) {
        return Err(detail.to_owned());
    }
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    if result["isError"] == json!(true) {
        return Err(text.to_owned());
    }
    match &result["structuredContent"] {
        Value::Null => Ok(serde_json::from_str(text).unwrap_or_else(|_| json!(text))),
        value => Ok(value.clone()),
    }
}

fn show(asked: &Asked, answer: &Value) -> String {
    if asked.is_json {
        return answer.to_string();
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let rows = |fields: &[&str]| {
        let row = |item: &Value| {
            fields.iter().map(|field| text_or_dash(&item[*field])).collect::<Vec<_>>().join("\t")
        };
        answer["items"].as_array().into_iter().flatten().map(row).collect::<Vec<_>>().join("\n")
    };
    match asked.tool {
        "list_peers" => rows(&["name", "status", "role"]),
        "recall" => rows(&["key", "value"]),
        "delegate_task" | "delegate_task_async" | "check_task" => match result_of(answer) {
            Some(result) => result,
            None => format!("{}\t{}", text(&answer["id"]), text(&answer["state"])),
        },
        "request_approval" => text(&answer["state"]),
        "send_message_to_user" => "told".to_owned(),
        "remember" => "remembered".to_owned(),
        _ => serde_json::to_string_pretty(answer).unwrap_or_default(),
    }
}

fn text_or_dash(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What the peer said, if it has ended.
fn result_of(delegation: &Value) -> Option<String> {
    let parts = delegation["result"].as_array()?;
    let texts: Vec<_> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn complain(sentence: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "warren: {sentence}");
    ExitCode::from(code)
}
