//! A message of Warren as the content of a prompt, by what the program can read. Pure.

use std::path::Path;

use serde_json::{Value, json};
use warren_api::MessagePart;

/// What a program can be given and asked, as it said itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentAbilities {
    pub(crate) reads_images: bool,
    pub(crate) reads_audio: bool,
    pub(crate) reads_resources: bool,
    pub(crate) loads_sessions: bool,
    pub(crate) resumes_sessions: bool,
    pub(crate) calls_http_tools: bool,
    /// Ways to sign in, by id.
    pub(crate) sign_ins: Vec<String>,
}

impl AgentAbilities {
    /// From the answer to `initialize`; whatever is absent cannot be done.
    pub(crate) fn of(answer: &Value) -> Self {
        let has = |pointer: &str| match answer.pointer(pointer) {
            Some(Value::Bool(has)) => *has,
            Some(Value::Object(_)) => true,
            _ => false,
        };
        let sign_ins = answer.get("authMethods").and_then(Value::as_array).into_iter().flatten();
        Self {
            reads_images: has("/agentCapabilities/promptCapabilities/image"),
            reads_audio: has("/agentCapabilities/promptCapabilities/audio"),
            reads_resources: has("/agentCapabilities/promptCapabilities/embeddedContext"),
            loads_sessions: has("/agentCapabilities/loadSession"),
            resumes_sessions: has("/agentCapabilities/sessionCapabilities/resume"),
            calls_http_tools: has("/agentCapabilities/mcpCapabilities/http"),
            sign_ins: sign_ins.filter_map(|one| one.get("id")?.as_str().map(str::to_owned)).collect(),
        }
    }
}

/// The blocks of a prompt.
pub(crate) fn blocks(parts: &[MessagePart], abilities: &AgentAbilities, root: &Path) -> Vec<Value> {
    let blocks: Vec<Value> = parts.iter().filter_map(|part| block(part, abilities, root)).collect();
    if blocks.is_empty() { vec![text("")] } else { blocks }
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn block(part: &MessagePart, abilities: &AgentAbilities, root: &Path) -> Option<Value> {
    let media_type = part.media_type.as_deref().unwrap_or("application/octet-stream");
    match (&part.text, &part.data, &part.url, &part.raw) {
        (Some(said), ..) => Some(text(said)),
        (None, Some(data), ..) => Some(text(&data.to_string())),
        (None, None, Some(url), _) => {
            let (uri, name) = match url.strip_prefix("workspace:") {
                Some(path) => (file_uri(root, path), path.rsplit('/').next().unwrap_or(path).to_owned()),
                None => (url.clone(), url.clone()),
            };
            let mut link = json!({
                "type": "resource_link", "uri": uri, "name": part.filename.clone().unwrap_or(name),
            });
            if let Some(media_type) = &part.media_type {
                link["mimeType"] = json!(media_type);
            }
            Some(link)
        }
        (None, None, None, Some(raw)) if abilities.reads_images && media_type.starts_with("image/") => {
            Some(json!({ "type": "image", "data": raw, "mimeType": media_type }))
        }
        (None, None, None, Some(raw)) if abilities.reads_audio && media_type.starts_with("audio/") => {
            Some(json!({ "type": "audio", "data": raw, "mimeType": media_type }))
        }
        (None, None, None, Some(raw)) if abilities.reads_resources => {
            let uri = format!("attachment:{}", part.filename.as_deref().unwrap_or("unnamed"));
            let resource = json!({ "uri": uri, "mimeType": media_type, "blob": raw });
            Some(json!({ "type": "resource", "resource": resource }))
        }
        (None, None, None, _) => part.filename.as_ref().map(|name| text(&format!("[attached: {name}]"))),
    }
}

fn file_uri(root: &Path, path: &str) -> String {
    let whole = root.join(path.trim_start_matches('/'));
    let mut uri = String::from("file://");
    for byte in whole.to_string_lossy().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// What a piece of the answer is for Warren; text is collected elsewhere.
pub(crate) fn part_of(content: &Value, root: &Path) -> Option<MessagePart> {
    let word = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    match content.get("type").and_then(Value::as_str)? {
        "image" | "audio" => Some(MessagePart {
            raw: word(content, "data"),
            media_type: word(content, "mimeType"),
            ..MessagePart::default()
        })
        .filter(|part| part.raw.is_some()),
        "resource_link" => {
            let uri = word(content, "uri")?;
            Some(MessagePart {
                url: Some(workspace_url(&uri, root).unwrap_or(uri)),
                media_type: word(content, "mimeType"),
                filename: word(content, "name"),
                ..MessagePart::default()
            })
        }
        "resource" => {
            let resource = content.get("resource")?;
            let (text, raw) = (word(resource, "text"), word(resource, "blob"));
            let name =
                word(resource, "uri").map(|uri| uri.rsplit(['/', ':']).next().unwrap_or(&uri).to_owned());
            (text.is_some() || raw.is_some()).then(|| MessagePart {
                raw: raw.filter(|_| text.is_none()),
                text,
                media_type: word(resource, "mimeType"),
                filename: name,
                ..MessagePart::default()
            })
        }
        _ => None,
    }
}

/// A file below the root as Warren names it.
fn workspace_url(uri: &str, root: &Path) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let code = match (*first, after) {
            (b'%', [high, low, ..]) => {
                std::str::from_utf8(&[*high, *low]).ok().and_then(|text| u8::from_str_radix(text, 16).ok())
            }
            _ => None,
        };
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => bytes.push(*first),
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    let below = Path::new(&path).strip_prefix(root).ok()?;
    Some(format!("workspace:{}", below.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    // A80, X33
    #[test]
    fn files_go_both_ways_by_what_the_program_can_read() {
        let root = Path::new("/workspace");
        let part = |value: Value| serde_json::from_value::<MessagePart>(value).unwrap();
        let parts = [
            part(json!({ "text": "look" })),
            part(json!({ "url": "workspace:in/a b.txt", "media_type": "text/plain" })),
            part(json!({ "raw": "AA==", "media_type": "image/png", "filename": "x.png" })),
            part(json!({ "raw": "AA==", "filename": "y.bin" })),
        ];
        let plain = blocks(&parts, &AgentAbilities::default(), root);
        assert_eq!(plain[0], text("look"));
        assert_eq!(plain[1]["uri"], "file:///workspace/in/a%20b.txt");
        assert_eq!(plain[2], text("[attached: x.png]"));
        let able = AgentAbilities { reads_images: true, reads_resources: true, ..AgentAbilities::default() };
        let rich = blocks(&parts, &able, root);
        assert_eq!((&rich[2]["type"], &rich[3]["type"]), (&json!("image"), &json!("resource")));
        let back = part_of(&plain[1], root).unwrap();
        assert_eq!(back.url.as_deref(), Some("workspace:in/a b.txt"));
        let elsewhere = json!({ "type": "resource_link", "uri": "file:///etc/passwd", "name": "p" });
        assert_eq!(part_of(&elsewhere, root).unwrap().url.as_deref(), Some("file:///etc/passwd"));
        assert_eq!(part_of(&json!({ "type": "hologram" }), root), None);
        assert_eq!(workspace_url("file:///workspace/%e2%82", root), None, "not UTF-8");
    }
}
