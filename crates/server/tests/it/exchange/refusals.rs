use serde_json::{Value, json};
use warren_exchange::Config;
use warren_testkit::Warren;

use super::{agent, queue, said, say, send, with_agent};

#[tokio::test]
async fn bad_messages_get_a_code_and_the_field_and_leave_nothing_behind() {
    let (warren, peer) = with_agent().await;
    let (id, _) = agent(&warren, json!({})).await;
    let with = |field: &str, value: Value| {
        let mut body = said("x");
        body[field] = value;
        body
    };
    let cases = [
        (json!({ "message": { "parts": [] } }), 422, "invalid_message"),
        (json!({ "message": { "parts": [{}] } }), 422, "invalid_message"),
        (json!({ "message": { "parts": [{ "text": "" }, { "text": " \n" }] } }), 422, "invalid_message"),
        (json!({ "message": { "parts": [{ "text": "a", "url": "b" }] } }), 422, "invalid_message"),
        (json!({ "message": { "parts": [{ "raw": "not base64!" }] } }), 422, "invalid_message"),
        (json!({ "message": { "id": "", "parts": [{ "text": "a" }] } }), 422, "invalid_message"),
        (json!({ "message": { "id": "a\r\nb", "parts": [{ "text": "a" }] } }), 422, "invalid_message"),
        (json!({ "message": { "id": "x".repeat(129), "parts": [{ "text": "a" }] } }), 422, "invalid_message"),
        (json!({ "message": { "parts": vec![json!({ "text": "" }); 101] } }), 422, "invalid_message"),
        (
            json!({ "message": { "parts": [{ "text": "a" }, { "raw": "AA==", "filename": "a\r\nX: y" }] } }),
            422,
            "invalid_message",
        ),
        (
            json!({ "message": { "parts": [{ "text": "a", "media_type": "a\r\nX: y" }] } }),
            422,
            "invalid_message",
        ),
        (with("context_id", json!("a\u{0}b")), 422, "invalid_message"),
        (with("task_id", json!("nonsense")), 400, "invalid_request"),
        (with("task_id", json!("01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e")), 404, "task_not_found"),
        (with("priority", json!(101)), 400, "invalid_request"),
        (with("wait_ms", json!(60_001)), 400, "invalid_request"),
        (with("expires_in_ms", json!(0)), 400, "invalid_request"),
        (with("unknown", json!(1)), 400, "invalid_request"),
        (json!({}), 400, "invalid_request"),
    ];
    for (body, status, code) in cases {
        let refused = send(&warren, id, &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{body}: {}", refused.text());
    }
    assert!(peer.seen().is_empty());
    assert!(queue(&warren, id, "ended").await.is_empty());
}

// X15
#[tokio::test]
async fn a_queue_has_an_end_and_can_be_cleared() {
    let terms = Config { max_waiting: 3, ..Config::default() };
    let warren = Warren::builder().exchange_config(terms).start().await;
    let (id, _) = crate::fleet::reporting(&warren).await;
    let mut accepted = Vec::new();
    for number in 0..3 {
        accepted.push(say(&warren, id, &number.to_string()).await);
    }
    let refused = send(&warren, id, &said("one too many")).await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "queue_full"));
    assert!(refused.header("retry-after").is_some());
    let first = accepted[0]["queue_id"].as_str().unwrap();
    let dropped = warren.delete(&format!("/api/v1/workspaces/{id}/queue/{first}")).await;
    assert_eq!((dropped.status, &dropped.json()["end"]), (200, &json!("cancelled")));
    let twice = warren.delete(&format!("/api/v1/workspaces/{id}/queue/{first}")).await;
    assert_eq!(twice.code(), "task_not_cancelable");
    let cleared = warren.delete(&format!("/api/v1/workspaces/{id}/queue")).await;
    assert_eq!(cleared.json()["messages"], 2);
    for one in &accepted {
        assert_eq!(super::task(&warren, one).await["state"], "cancelled");
    }
    let unknown =
        warren.get(&format!("/api/v1/workspaces/{id}/queue/01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e")).await;
    assert_eq!(unknown.code(), "delivery_not_found");
}

// X12, X15; the control is in the test: the same to a workspace with an agent is accepted
#[tokio::test]
async fn a_message_to_a_workspace_without_an_agent_is_refused_by_every_way_in() {
    let (warren, _) = with_agent().await;
    let hosted = warren.workspace(crate::memory()).await;
    let (from, own) = agent(&warren, json!({})).await;
    let chat = warren.post(&format!("/api/v1/workspaces/{hosted}/conversations"), &json!({})).await.json();
    let chat = chat["id"].as_str().unwrap();
    let rpc = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "hello" }] } } });
    let a2a = warren.call("POST", &format!("/a2a/{hosted}")).token(&warren.token);
    let a2a = a2a.header("a2a-version", "1.0").json(&rpc).send().await.json();
    assert_eq!(a2a["error"]["data"][0]["reason"], "NO_AGENT", "{a2a}");
    let posts = [
        (format!("/api/v1/workspaces/{hosted}/messages"), said("hello")),
        (format!("/api/v1/workspaces/{hosted}/conversations/{chat}/messages"), said("hello")),
    ];
    for (path, body) in posts {
        let refused = warren.post(&path, &body).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (409, "no_agent"),
            "{path}: {}",
            refused.text()
        );
        let remedy = refused.json()["remedy"].as_str().unwrap().to_owned();
        assert!(remedy.contains("--runtime resident") && remedy.contains("--runtime external"), "{remedy}");
    }
    let circle = json!({ "circle": "org" });
    for id in [from, hosted] {
        let widened =
            warren.call("PUT", &format!("/api/v1/workspaces/{id}/peer-policy")).token(&warren.token);
        assert_eq!(widened.json(&circle).send().await.status, 200);
    }
    let handed = json!({ "to": hosted.to_string(), "message": { "parts": [{ "text": "hello" }] } });
    let delegated = warren.call("POST", &format!("/api/v1/workspaces/{from}/delegations")).token(&own);
    let delegated = delegated.json(&handed).send().await;
    assert_eq!((delegated.status, delegated.code().as_str()), (409, "no_agent"), "{}", delegated.text());
    assert!(queue(&warren, hosted, "queued").await.is_empty());
    // Control
    assert!(matches!(send(&warren, from, &said("hello")).await.status, 200 | 202));
}
