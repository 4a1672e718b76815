//! Background processes over HTTP.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::{Answer, Warren};

use crate::{local, memory};

const PATIENCE: Duration = Duration::from_secs(20);

fn base(id: WorkspaceId) -> String {
    format!("/api/v1/workspaces/{id}/processes")
}

async fn start(warren: &Warren, id: WorkspaceId, body: Value) -> Value {
    let answer = warren.post(&base(id), &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

async fn output(warren: &Warren, id: WorkspaceId, process: u64, query: &str) -> Value {
    let answer = warren.get(&format!("{}/{process}/output?{query}", base(id))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// All output and how it ended, read piece by piece.
async fn read_to_end(warren: &Warren, id: WorkspaceId, process: u64) -> (String, Value) {
    let (mut text, mut offset) = (String::new(), 0);
    loop {
        let piece = output(warren, id, process, &format!("offset={offset}&wait_ms=10000&max_bytes=7")).await;
        text.push_str(piece["output"].as_str().unwrap());
        offset = piece["next_offset"].as_u64().unwrap();
        if piece["state"] == "exited" {
            return (text, piece);
        }
    }
}

async fn act(warren: &Warren, id: WorkspaceId, process: u64, deed: &str, body: Value) -> Answer {
    warren.post(&format!("{}/{process}/{deed}", base(id)), &body).await
}

/// The events of a kind that were written; waits for the first.
pub(crate) async fn events_of(warren: &Warren, kind: &str) -> Vec<Value> {
    let waiting = async {
        loop {
            let call = warren.call("GET", "/api/v1/events?after=0&limit=500").token(&warren.token);
            let page = call.header("accept", "application/json").send().await.json();
            let items = page["items"].as_array().unwrap();
            let found: Vec<Value> = items.iter().filter(|event| event["kind"] == kind).cloned().collect();
            if !found.is_empty() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("no {kind} came"))
}

// W30: an EventSource asks again by itself, with the last id that it saw, until it is answered 204
#[tokio::test]
async fn who_has_seen_the_end_of_a_process_is_not_told_again() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    start(&warren, id, json!({ "command": "echo done" })).await;
    read_to_end(&warren, id, 1).await;
    let follow = || {
        let call = warren.call("GET", &format!("{}/1/output", base(id))).token(&warren.token);
        call.header("accept", "text/event-stream")
    };
    let seen = follow().send().await;
    let text = seen.text();
    let ids: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!((seen.status, ids.as_slice()), (200, ["5", "6"].as_slice()), "{text}");
    // All output, and not that it ended: that is still told.
    let rest = follow().header("last-event-id", "5").send().await;
    assert!(rest.text().contains("exited"), "{}", rest.text());
    let over = follow().header("last-event-id", "6").send().await;
    assert_eq!((over.status, over.body.len()), (204, 0));
}

// W30
#[tokio::test]
async fn a_process_outlives_its_request_and_its_output_is_read_from_any_offset() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let body = json!({ "command": "read line; echo got $line; exit 4", "env": { "MINE": "1" } });
    let process = start(&warren, id, body).await;
    assert_eq!((&process["id"], &process["state"]), (&json!(1), &json!("running")));
    let listed = warren.get(&base(id)).await.json();
    assert_eq!(listed["items"][0]["program"], "sh", "{listed}");
    let quiet = output(&warren, id, 1, "").await;
    assert_eq!((&quiet["output"], &quiet["state"]), (&json!(""), &json!("running")));
    assert_eq!(act(&warren, id, 1, "stdin", json!({ "text": "this\n" })).await.status, 204);
    let (text, last) = read_to_end(&warren, id, 1).await;
    assert_eq!((text.as_str(), &last["exit_code"]), ("got this\n", &json!(4)));
    let again = output(&warren, id, 1, "offset=4&max_bytes=4").await;
    assert_eq!((&again["output"], &again["next_offset"]), (&json!("this"), &json!(8)));
    let shown = warren.get(&format!("{}/1", base(id))).await.json();
    assert_eq!((&shown["exit_code"], &shown["output_bytes"]), (&json!(4), &json!(9)), "{shown}");
}

// W30: the streaming form, and its resumption
#[tokio::test]
async fn streamed_output_resumes_where_the_last_event_ended() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    start(&warren, id, json!({ "command": "printf abcdef; read x; printf ghi; exit 3" })).await;
    let open = |last: Option<&str>| {
        let call = warren.call("GET", &format!("{}/1/output", base(id))).token(&warren.token);
        let call = call.header("accept", "text/event-stream");
        match last {
            Some(last) => call.header("last-event-id", last),
            None => call,
        }
    };
    let mut stream = open(None).open().await.bytes_stream();
    let mut text = String::new();
    while !text.contains("id: 6") {
        text.push_str(&String::from_utf8_lossy(&stream.next().await.expect("more").unwrap()));
    }
    drop(stream);
    assert_eq!(act(&warren, id, 1, "stdin", json!({ "base64": "Cg==" })).await.status, 204);
    let rest = open(Some("4")).send().await.text();
    assert!(rest.contains(r#""offset":4"#) && !rest.contains("YWJj"), "{rest}");
    assert!(rest.contains(r#""type":"exited""#) && rest.contains(r#""exit_code":3"#), "{rest}");
    let bad = open(Some("x")).send().await;
    assert_eq!((bad.status, bad.code()), (400, "invalid_request".into()));
}

// W30
#[tokio::test]
async fn a_terminal_has_a_size_that_can_be_changed() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let body = json!({
        "command": "stty size; read x; stty size", "pty": { "rows": 33, "columns": 77 },
    });
    assert_eq!(start(&warren, id, body).await["has_pty"], true);
    assert_eq!(act(&warren, id, 1, "resize", json!({ "rows": 44, "columns": 99 })).await.status, 204);
    assert_eq!(act(&warren, id, 1, "stdin", json!({ "text": "\n" })).await.status, 204);
    let (text, _) = read_to_end(&warren, id, 1).await;
    assert!(text.contains("44 99"), "{text}");
    start(&warren, id, json!({ "argv": ["cat"] })).await;
    let none = act(&warren, id, 2, "resize", json!({ "rows": 4, "columns": 9 })).await;
    assert_eq!((none.status, none.code()), (400, "invalid_request".into()));
    assert_eq!(act(&warren, id, 2, "stdin", json!({ "text": "hi", "close": true })).await.status, 204);
    assert_eq!(read_to_end(&warren, id, 2).await.0, "hi");
}

// W30, W32
#[tokio::test]
async fn signals_reach_the_whole_group() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    start(&warren, id, json!({ "command": "sleep 600 & wait" })).await;
    assert_eq!(act(&warren, id, 1, "signal", json!({})).await.status, 204);
    let (_, last) = read_to_end(&warren, id, 1).await;
    assert_eq!((&last["signal"], &last["timed_out"]), (&json!(15), &json!(false)));
    assert_eq!(act(&warren, id, 1, "signal", json!({ "signal": "kill" })).await.status, 204, "already gone");
    start(&warren, id, json!({ "argv": ["sleep", "600"], "timeout_ms": 50 })).await;
    assert_eq!(read_to_end(&warren, id, 2).await.1["timed_out"], true);
}

// S20, W30, sec/T09
#[tokio::test]
async fn requests_that_cannot_be_are_refused() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    for (body, code) in [
        (json!({}), "invalid_command"),
        (json!({ "argv": [] }), "invalid_command"),
        (json!({ "argv": ["a\u{0}b"] }), "invalid_command"),
        (json!({ "argv": ["true"], "spill_to": "x" }), "invalid_request"),
        (json!({ "argv": ["true"], "pty": { "rows": 0, "columns": 80 } }), "invalid_request"),
        (json!({ "argv": ["true"], "pty": { "rows": 9, "columns": 9, "depth": 1 } }), "invalid_request"),
        (json!({ "argv": ["no-such-program-here"] }), "program_not_found"),
        (json!({ "argv": ["true"], "cwd": "../.." }), "path_escapes"),
        (json!({ "argv": ["true"], "env": { "LD_PRELOAD": "x" } }), "command_refused"),
    ] {
        let answer = warren.post(&base(id), &body).await;
        assert_eq!(answer.code(), code, "{body}: {}", answer.text());
        assert!(answer.status < 500);
    }
    assert_eq!(warren.get(&base(id)).await.json()["items"], json!([]));
    for path in ["/1", "/0", "/x", "/-1", "/99999999999"] {
        let answer = warren.get(&format!("{}{path}", base(id))).await;
        assert_eq!((answer.status, answer.code()), (404, "process_not_found".into()), "{path}");
    }
    start(&warren, id, json!({ "argv": ["cat"] })).await;
    for query in ["max_bytes=0", "max_bytes=1048577", "wait_ms=60001", "offset=-1", "colour=1"] {
        let answer = warren.get(&format!("{}/1/output?{query}", base(id))).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request".into()), "{query}");
    }
    for body in
        [json!({ "text": "a", "base64": "YQ==" }), json!({ "base64": "!" }), json!({ "signal": "stop" })]
    {
        let answer = act(&warren, id, 1, "stdin", body).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request".into()));
    }
    let files_only = warren.workspace(memory()).await;
    let answer = warren.post(&base(files_only), &json!({ "argv": ["true"] })).await;
    assert_eq!((answer.status, answer.code()), (422, "capability_missing".into()));
}

// sec/U05
#[tokio::test]
async fn streams_of_commands_end_soon_after_their_token_is_revoked() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let scopes = json!(["workspaces:read", "workspaces:use"]);
    let body = json!({ "kind": "user", "name": "eye", "scopes": scopes });
    let made = warren.post("/api/v1/tokens", &body).await.json();
    let secret = made["secret"].as_str().unwrap();
    start(&warren, id, json!({ "command": "while :; do echo tick; sleep 0.05; done" })).await;
    let reading = warren.call("GET", &format!("{}/1/output", base(id))).token(secret);
    let reading = reading.header("accept", "text/event-stream").open().await;
    let exec = warren.call("POST", &format!("/api/v1/workspaces/{id}/exec")).token(secret);
    let exec = exec.header("accept", "text/event-stream");
    let script = "while :; do date +%s%N > beat; echo tick; sleep 0.05; done";
    let running = exec.json(&json!({ "command": script })).open().await;
    assert_eq!((reading.status().as_u16(), running.status().as_u16()), (200, 200));
    warren.delete(&format!("/api/v1/tokens/{}", made["token"]["id"].as_str().unwrap())).await;
    let ended = async { tokio::join!(reading.text(), running.text()) };
    let (read, ran) = tokio::time::timeout(PATIENCE, ended).await.expect("both end");
    let (read, ran) = (read.unwrap(), ran.unwrap());
    assert!(read.contains(r#""type":"closing","code":"token_expired""#), "{read}");
    assert!(ran.contains(r#""type":"failed""#) && ran.contains("token_expired"), "{ran}");
    let ended = events_of(&warren, "workspace.command.finished").await;
    assert_eq!(ended[0]["data"]["abandoned"], true, "{ended:?}");
    let shown = warren.get(&format!("{}/1", base(id))).await.json();
    assert_eq!(shown["state"], "running", "a background process is not its reader's");
}

// sec/U05, F8
#[tokio::test]
async fn a_stream_ends_when_its_workspace_is_removed() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    start(&warren, id, json!({ "argv": ["sleep", "600"] })).await;
    let reading = warren.call("GET", &format!("{}/1/output", base(id))).token(&warren.token);
    let reading = reading.header("accept", "text/event-stream").open().await;
    assert_eq!(warren.delete(&format!("/api/v1/workspaces/{id}")).await.status, 200);
    let text = tokio::time::timeout(PATIENCE, reading.text()).await.expect("it ends").unwrap();
    assert!(text.contains("exited") || text.contains("closing"), "{text}");
    assert_eq!(warren.get(&base(id)).await.code(), "workspace_not_found");
}

// F40: a command that lost its client is in the log too, in both forms
#[tokio::test]
async fn a_client_that_hangs_up_leaves_the_end_of_its_command_in_the_log() {
    let warren = Warren::start().await;
    for accept in ["application/json", "text/event-stream"] {
        let id = warren.workspace(local()).await;
        let call = warren.call("POST", &format!("/api/v1/workspaces/{id}/exec")).token(&warren.token);
        let call = call.header("accept", accept);
        let running = tokio::spawn(call.json(&json!({ "command": "touch under-way; sleep 600" })).send());
        let mark = warren.folder().join("workspaces").join(id.to_string()).join("under-way");
        while !mark.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        running.abort();
        let waiting = async {
            loop {
                let ended = events_of(&warren, "workspace.command.finished").await;
                let own = ended.into_iter().find(|event| event["workspace_id"] == id.to_string());
                if let Some(event) = own {
                    return event;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let event = tokio::time::timeout(PATIENCE, waiting).await.expect("it is written");
        assert_eq!(
            (&event["data"]["abandoned"], &event["data"]["program"]),
            (&json!(true), &json!("/bin/sh"))
        );
    }
}

// sec/T09
#[tokio::test]
async fn monstrous_commands_are_refused_without_harm() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let two_megabytes = json!({ "command": "x".repeat(2_000_000) }).to_string();
    let many = json!({ "argv": vec!["a"; 100_000] }).to_string();
    let nul = json!({ "command": "a\u{0}b" }).to_string();
    let surrogate = r#"{"command":"\ud800"}"#.to_owned();
    for path in [format!("/api/v1/workspaces/{id}/exec"), base(id)] {
        for (body, code) in [
            (&two_megabytes, "invalid_command"),
            (&many, "invalid_command"),
            (&nul, "invalid_command"),
            (&surrogate, "invalid_json"),
        ] {
            let call = warren.call("POST", &path).token(&warren.token);
            let answer = call.header("content-type", "application/json").body(body.clone()).send().await;
            assert_eq!((answer.status, answer.code()), (400, code.into()), "{}", answer.text());
        }
    }
    let after = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &json!({ "argv": ["true"] })).await;
    assert_eq!(after.json()["exit_code"], 0);
}
