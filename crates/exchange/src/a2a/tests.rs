use serde_json::{Value, json};
use warren_model::Timestamp;

use super::*;

fn send(value: Value) -> Result<Incoming, ProtocolError> {
    let request = serde_json::from_value(value).map_err(|error| ProtocolError::invalid(error.to_string()))?;
    check_send(request)
}

fn message(parts: &Value) -> Value {
    json!({ "message": { "messageId": "m1", "role": "ROLE_USER", "parts": parts } })
}

// X1
#[test]
fn a_message_passes_through_unchanged() {
    let wire = json!({
        "messageId": "m1", "contextId": "c1", "role": "ROLE_USER",
        "parts": [
            { "text": "hello", "metadata": { "a": 1 } },
            { "raw": "AP8=", "filename": "a.bin", "mediaType": "application/octet-stream" },
            { "url": "https://example.com/x" },
            { "data": { "deep": [1, null] } },
            { "data": null },
        ],
        "metadata": { "mine": true },
        "extensions": ["https://example.com/ext"],
        "referenceTaskIds": ["t0"],
    });
    let read: Message = serde_json::from_value(wire.clone()).unwrap();
    let said = message_from(read);
    assert_eq!(serde_json::to_value(message_to(&said, None, Some("c1"))).unwrap(), wire);
}

// X1
#[test]
fn what_proto_json_allows_is_read() {
    let sent = send(json!({
        "message": {
            "message_id": "m1", "role": 1, "context_id": "", "metadata": null,
            "parts": [{ "raw": "_-8", "media_type": "image/png" }], "later": 1,
        },
        "configuration": { "history_length": "3", "returnImmediately": true },
    }))
    .unwrap();
    assert_eq!((sent.context_id, sent.history_length, sent.returns_immediately), (None, Some(3), true));
    let part = &sent.message.parts[0];
    assert_eq!(part.content, warren_model::Content::Raw("/+8=".to_owned()), "in one alphabet, padded");
    assert_eq!(part.media_type.as_deref(), Some("image/png"));
}

// X1
#[test]
fn what_is_no_message_is_refused_by_name() {
    let text = json!([{ "text": "x" }]);
    let with = |field: &str, value: Value| {
        let mut request = message(&text);
        request["message"][field] = value;
        request
    };
    let cases = [
        (json!({}), "missing field `message`"),
        (json!({ "message": {} }), "missing field `messageId`"),
        (message(&json!([])), "message.parts: expected at least one part"),
        (message(&Value::Null), "message.parts: expected at least one part"),
        (message(&json!([{}])), "exactly one of text, raw, url and data"),
        (message(&json!([{ "text": "a", "url": "b" }])), "exactly one of text, raw, url and data"),
        (message(&json!([{ "raw": "!" }])), "raw: expected base64"),
        (message(&json!([{ "text": 5 }])), "expected a string"),
        (with("role", json!("ROLE_AGENT")), "message.role"),
        (with("role", json!("ROLE_UNSPECIFIED")), "message.role"),
        (with("role", json!("user")), "expected one of ROLE_USER, ROLE_AGENT"),
    ];
    for (request, words) in cases {
        let refused = send(request.clone()).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::InvalidParams, "{request}");
        assert!(refused.message.contains(words), "{request}: {}", refused.message);
    }
    let mut negative = message(&text);
    negative["configuration"] = json!({ "historyLength": -1 });
    assert!(send(negative).unwrap_err().message.contains("configuration.historyLength: expected 0 or more"));
}

// X4
#[test]
fn a_client_cannot_write_into_warrens_corner_of_the_metadata() {
    let mut request = message(&json!([{ "text": "x" }]));
    let forged = json!({
        "warren/author": { "kind": "user" }, "Warren.author": 1, "warren": 2, " WARREN.request": 3, "warrenty": "kept",
    });
    request["message"]["metadata"] = forged.clone();
    request["metadata"] = forged;
    let sent = send(request).unwrap();
    let kept = json!({ "warrenty": "kept", REQUEST: { "metadata": { "warrenty": "kept" } } });
    assert_eq!(Value::Object(sent.message.metadata), kept);
}

// X1
#[test]
fn a_failure_is_spelled_for_both_bindings() {
    let error = ProtocolError::task_not_found().with("taskId", "t1");
    let info = json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
        "domain": "a2a-protocol.org", "metadata": { "taskId": "t1" },
    });
    let message = "there is no such task";
    assert_eq!(error.to_rpc(), json!({ "code": -32001, "message": message, "data": [info] }));
    let rest =
        json!({ "error": { "code": 404, "status": "NOT_FOUND", "message": message, "details": [info] } });
    assert_eq!(error.to_rest(), rest);
    for code in -32009..=-32001 {
        assert_eq!(ErrorKind::from_code(code).map(ErrorKind::code), Some(code));
    }
    assert_eq!(ErrorKind::from_code(-32000), None, "Warren's own are not the protocol's");
}

#[test]
fn only_version_one_is_spoken() {
    for good in ["1.0", "1", "1.3"] {
        assert!(is_supported_version(good), "{good}");
    }
    for bad in ["", "0.3", "2.0", "1.", "1.x", "1.0.0.0", "10", "v1", "1.0 "] {
        assert!(!is_supported_version(bad), "{bad}");
    }
}

// X1
#[test]
fn a_task_shows_as_much_history_as_is_wanted() {
    use warren_model as model;
    let at = Timestamp::from_micros(1_763_200_000_000_000);
    let said = |id: &str| model::Message::new(id, model::Role::User, vec![model::Part::text(id)]);
    let mut noted = said("m1");
    noted.metadata.insert(REQUEST.to_owned(), json!({ "metadata": {} }));
    let (id, place) = (model::TaskId::from_parts(at, [1; 10]), model::WorkspaceId::from_parts(at, [2; 10]));
    let author = model::Principal::system("test");
    let task = model::Task {
        state: model::TaskState::Cancelled,
        history: vec![noted, said("m2"), said("m3")],
        remote_id: Some("far".to_owned()),
        ..model::Task::submitted(id, model::OrgId::DEFAULT, place, "c1", author, at)
    };
    let ids = |length| {
        let shown = task_to(&task, length).history;
        shown.into_iter().map(|message| message.message_id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None), ["m1", "m2", "m3"]);
    assert_eq!(ids(Some(2)), ["m2", "m3"]);
    assert_eq!(ids(Some(0)), Vec::<String>::new());
    let whole = serde_json::to_value(task_to(&task, None)).unwrap();
    assert_eq!(
        whole["status"],
        json!({ "state": "TASK_STATE_CANCELED", "timestamp": "2025-11-15T09:46:40.000000Z" })
    );
    assert!(!whole.to_string().contains("far") && !whole.to_string().contains("warren."), "{whole}");
}
