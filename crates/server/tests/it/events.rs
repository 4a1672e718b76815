use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use warren_testkit::{Call, Warren};

use crate::memory;

/// Reads SSE frames from a response.
pub(crate) struct Frames {
    stream: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    text: String,
}

impl Frames {
    pub(crate) async fn open(call: Call) -> Self {
        let response = call.open().await;
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { stream: Box::pin(response.bytes_stream()), text: String::new() }
    }

    /// The next frame as (id, data); `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let frame: String = self.text.drain(..end + 2).collect();
                let field = |name: &str| {
                    frame.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned())
                };
                if let Some(data) = field("data:") {
                    return Some((field("id:"), serde_json::from_str(&data).unwrap()));
                }
                continue;
            }
            let piece = tokio::time::timeout(Duration::from_secs(20), self.stream.next()).await;
            match piece.expect("a frame comes in time") {
                Some(Ok(bytes)) => self.text.push_str(&String::from_utf8_lossy(&bytes)),
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// Sequences of events up to the next `caught_up`.
    pub(crate) async fn history(&mut self) -> Vec<u64> {
        let mut sequences = Vec::new();
        loop {
            let (_, frame) = self.next().await.expect("the stream goes on");
            match frame["type"].as_str().unwrap() {
                "event" => sequences.push(frame["event"]["seq"].as_u64().unwrap()),
                "caught_up" => return sequences,
                other => panic!("unexpected {other}"),
            }
        }
    }
}

pub(crate) fn follow(warren: &Warren, query: &str) -> Call {
    warren.call("GET", &format!("/api/v1/events{query}")).token(&warren.token)
}

async fn rename(warren: &Warren, id: warren_model::WorkspaceId, name: &str) {
    let answer = warren.patch(&format!("/api/v1/workspaces/{id}"), &json!({ "name": name })).await;
    assert_eq!(answer.status, 200);
}

// F40
#[tokio::test]
async fn history_then_live_events_come_in_order_without_gaps() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let mut frames = Frames::open(follow(&warren, "?after=0")).await;
    let history = frames.history().await;
    assert_eq!(history, (1..=history.len() as u64).collect::<Vec<_>>());
    for number in 0..50 {
        rename(&warren, id, &format!("n{number}")).await;
    }
    let mut expected = history.len() as u64;
    for _ in 0..50 {
        let (sse_id, frame) = frames.next().await.unwrap();
        expected += 1;
        assert_eq!(frame["event"]["seq"], expected);
        assert_eq!(sse_id, Some(expected.to_string()));
        assert_eq!(frame["event"]["kind"], "workspace.spec.changed");
    }
}

// F40, I13
#[tokio::test]
async fn a_reader_that_resumes_sees_each_event_exactly_once_also_over_a_restart() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let mut frames = Frames::open(follow(&warren, "?after=0")).await;
    let mut seen = frames.history().await;
    rename(&warren, id, "before").await;
    let (_, frame) = frames.next().await.unwrap();
    seen.push(frame["event"]["seq"].as_u64().unwrap());
    drop(frames);
    rename(&warren, id, "meanwhile").await;
    let warren = warren.restart().await;
    let last = seen.last().unwrap().to_string();
    let mut frames = Frames::open(follow(&warren, "").header("last-event-id", &last)).await;
    seen.extend(frames.history().await);
    assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
    assert!(seen.len() >= 8, "start, tokens, workspace, renames, stop, start: {seen:?}");
}

// F40
#[tokio::test]
async fn without_after_only_new_events_come() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let mut frames = Frames::open(follow(&warren, "")).await;
    assert_eq!(frames.history().await, Vec::<u64>::new());
    rename(&warren, id, "new").await;
    assert_eq!(frames.next().await.unwrap().1["event"]["data"]["fields"], json!(["name"]));
}

// F40, sec/W07: filtered by what the principal may see
#[tokio::test]
async fn a_workspaces_token_sees_its_own_events_only() {
    let warren = Warren::start().await;
    let own = warren.workspace(memory()).await;
    let other = warren.workspace(memory()).await;
    let body = json!({ "kind": "workspace", "name": "agent", "workspace_id": own.to_string() });
    let secret = warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned();
    let mut frames = Frames::open(warren.call("GET", "/api/v1/events?after=0").token(&secret)).await;
    let mut own_count = 0;
    loop {
        let (_, frame) = frames.next().await.unwrap();
        if frame["type"] == "caught_up" {
            break;
        }
        assert_eq!(frame["event"]["workspace_id"], own.to_string());
        own_count += 1;
    }
    assert!(own_count >= 2);
    rename(&warren, other, "hidden").await;
    rename(&warren, own, "shown").await;
    let (_, frame) = frames.next().await.unwrap();
    assert_eq!(frame["event"]["workspace_id"], own.to_string());
    let path = format!("/api/v1/events?workspace_id={other}");
    assert_eq!(warren.call("GET", &path).token(&secret).send().await.code(), "workspace_not_found");
}

// sec/U05
#[tokio::test]
async fn a_stream_ends_soon_after_its_token_is_revoked() {
    let warren = Warren::start().await;
    let body = json!({ "kind": "user", "name": "eye", "scopes": ["events:read"] });
    let made = warren.post("/api/v1/tokens", &body).await.json();
    let call = warren.call("GET", "/api/v1/events").token(made["secret"].as_str().unwrap());
    let mut frames = Frames::open(call).await;
    frames.history().await;
    warren.delete(&format!("/api/v1/tokens/{}", made["token"]["id"].as_str().unwrap())).await;
    loop {
        let (_, frame) = frames.next().await.expect("a goodbye before the end");
        if frame["type"] == "closing" {
            assert_eq!(frame["code"], "token_expired");
            break;
        }
    }
    assert!(frames.next().await.is_none());
}

// O4, F40
#[tokio::test]
async fn a_stopping_server_says_goodbye_and_from_where_to_go_on() {
    let warren = Warren::start().await;
    let mut frames = Frames::open(follow(&warren, "?after=0")).await;
    let last = *frames.history().await.last().unwrap();
    warren.begin_stop();
    loop {
        let (_, frame) = frames.next().await.expect("a goodbye before the end");
        if frame["type"] == "closing" {
            assert_eq!(frame["code"], "shutting_down");
            assert!(frame["after"].as_u64().unwrap() >= last);
            break;
        }
    }
}

// F40
#[tokio::test]
async fn the_log_can_be_read_in_pages() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    for number in 0..9 {
        rename(&warren, id, &format!("n{number}")).await;
    }
    let mut after = 0;
    let mut seen = Vec::new();
    loop {
        let call = follow(&warren, &format!("?after={after}&limit=4")).header("accept", "application/json");
        let page = call.send().await.json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["seq"].as_u64().unwrap()));
        after = page["next_after"].as_u64().unwrap();
        if page["is_last"] == true {
            break;
        }
    }
    assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
    assert_eq!(follow(&warren, "").header("last-event-id", "x").send().await.code(), "invalid_request");
}

// F40: the same events over a WebSocket
#[tokio::test]
async fn a_websocket_carries_the_same_events_and_refuses_strangers() {
    use futures_util::SinkExt as _;
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let url = format!("ws://{}/api/v1/events/ws?after=0", warren.address);
    let request = |token: Option<&str>, origin: Option<&str>| {
        let mut request = url.as_str().into_client_request().unwrap();
        if let Some(token) = token {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        request
    };
    for (token, origin) in
        [(None, None), (Some("nonsense"), None), (Some(warren.token.as_str()), Some("http://evil.example"))]
    {
        let refused = tokio_tungstenite::connect_async(request(token, origin)).await;
        assert!(refused.is_err(), "{token:?} {origin:?}");
    }
    let (mut socket, _) = tokio_tungstenite::connect_async(request(Some(&warren.token), None)).await.unwrap();
    let mut sequences = Vec::new();
    rename(&warren, id, "live").await;
    while sequences.last() != Some(&u64::MAX) {
        let message =
            tokio::time::timeout(Duration::from_secs(20), socket.next()).await.unwrap().unwrap().unwrap();
        let Message::Text(text) = message else { continue };
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["type"] == "event" {
            sequences.push(frame["event"]["seq"].as_u64().unwrap());
            if frame["event"]["kind"] == "workspace.spec.changed" {
                break;
            }
        }
    }
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    // sec/W08: more than a control frame's worth ends the connection.
    let _ = socket.send(Message::Text("x".repeat(100_000).into())).await;
    let ended = async { while let Some(Ok(_)) = socket.next().await {} };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the connection is closed");
}

// S22: limits everywhere
#[tokio::test]
async fn streams_are_limited_in_number() {
    let limits = warren_model::Limits { max_event_streams: 2, ..Default::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let _first = Frames::open(follow(&warren, "")).await;
    let _second = Frames::open(follow(&warren, "")).await;
    let third = follow(&warren, "").send().await;
    assert_eq!((third.status, third.code()), (429, "too_many_requests".into()));
    assert!(third.header("retry-after").is_some());
}

// S44, F40: the data folder was restored or made anew
#[tokio::test]
async fn a_cursor_of_another_log_is_corrected_and_the_stream_goes_on() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let call = follow(&warren, "?after=0&limit=500").header("accept", "application/json");
    let newest = call.send().await.json()["next_after"].as_u64().unwrap();
    let mut frames = Frames::open(follow(&warren, "?after=9999999")).await;
    let (_, frame) = frames.next().await.unwrap();
    assert_eq!((&frame["type"], &frame["seq"]), (&json!("caught_up"), &json!(newest)));
    rename(&warren, id, "seen").await;
    assert_eq!(frames.next().await.unwrap().1["event"]["seq"], newest + 1);
    let call = follow(&warren, "?after=9999999").header("accept", "application/json");
    assert_eq!(call.send().await.json()["next_after"], newest + 1);
}
