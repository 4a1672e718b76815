//! Long calls: progress, and an end when the client wants one.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::Warren;

use super::{beginnings, connect_with, message, mint, of_workspace, post};
use crate::processes::events_of;

const PATIENCE: Duration = Duration::from_secs(20);

async fn workspace(warren: &Warren) -> WorkspaceId {
    warren
        .workspace(json!({ "kind": "local", "run": { "mode": "argv", "allow_unrestrained": ["sh"] } }))
        .await
}

/// A command that says which process it is, and then stays.
fn long() -> Value {
    json!({ "argv": ["sh", "-c", "echo $$ > pid.new; mv pid.new pid; exec sleep 600"] })
}

fn long_call(id: &Value) -> Value {
    let params = json!({ "name": "workspace_run", "arguments": long() });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

async fn pid(warren: &Warren, id: WorkspaceId) -> String {
    let waiting = async {
        loop {
            let answer = warren.get(&format!("/api/v1/workspaces/{id}/files?path=pid")).await;
            if answer.status == 200 {
                return answer.text().trim().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the command starts")
}

fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

async fn gone(pid: &str) {
    let waiting = async {
        while is_running(pid) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the command is killed");
}

/// What is left of a call that was given up: nothing that runs, and an event that says so.
async fn abandoned(warren: &Warren, pid: &str) {
    gone(pid).await;
    let events = events_of(warren, "workspace.command.finished").await;
    assert_eq!(events[0]["data"]["abandoned"], true, "{events:?}");
}

// S30
#[tokio::test]
async fn a_client_that_asks_for_it_hears_of_progress() {
    let warren = Warren::start().await;
    let id = workspace(&warren).await;
    let mut call = long_call(&json!(1));
    call["params"]["_meta"] = json!({ "progressToken": "p" });
    let request = warren.call("POST", &of_workspace(id)).token(&warren.token);
    let request = request.header("accept", "application/json, text/event-stream").json(&call);
    let reading = async {
        let response = request.open().await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut stream = response.bytes_stream();
        let mut seen = String::new();
        while seen.matches("notifications/progress").count() < 2 {
            seen.push_str(&String::from_utf8_lossy(&stream.next().await.unwrap().unwrap()));
        }
        seen
    };
    let seen = tokio::time::timeout(PATIENCE, reading).await.expect("progress is told");
    assert!(seen.contains(r#""progressToken":"p""#), "{seen}");
    let pid = pid(&warren, id).await;
    abandoned(&warren, &pid).await;
}

// S30: hanging up ends the command, with and without a stream
#[tokio::test]
async fn hanging_up_kills_the_command() {
    let warren = Warren::start().await;
    let id = workspace(&warren).await;
    let path = of_workspace(id);
    let call = long_call(&json!(1));
    let pid = tokio::select! {
        answer = post(&warren, &path, &warren.token, &call) => panic!("{}", answer.text()),
        pid = pid(&warren, id) => pid,
    };
    abandoned(&warren, &pid).await;
}

// S30: the official client's own way to give up, in both revisions
#[tokio::test]
async fn cancelling_a_request_kills_the_command() {
    for beginning in beginnings() {
        let warren = Warren::start().await;
        let id = workspace(&warren).await;
        let client = connect_with(&warren, &of_workspace(id), &warren.token, beginning).await;
        let call = super::params("workspace_run", &long());
        let request = rmcp::model::ClientRequest::CallToolRequest(rmcp::model::CallToolRequest::new(call));
        let options = rmcp::service::PeerRequestOptions::no_options();
        let handle = client.send_cancellable_request(request, options).await.unwrap();
        let pid = pid(&warren, id).await;
        assert!(is_running(&pid));
        handle.cancel(Some("enough".to_owned())).await.unwrap();
        abandoned(&warren, &pid).await;
    }
}

// S30, sec/U01: nobody ends a call of somebody else
#[tokio::test]
async fn another_token_or_another_client_cannot_cancel_a_call() {
    let warren = Warren::start().await;
    let id = workspace(&warren).await;
    let path = of_workspace(id);
    let (other, _) = mint(&warren, json!({ "kind": "admin", "name": "other" })).await;
    let send = async |token: &str, label: &str, body: &Value| {
        let call = warren.call("POST", &path).token(token).header("mcp-session-id", label);
        call.header("accept", "application/json, text/event-stream").json(body).send().await
    };
    let cancel = |id: Value| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    let call = long_call(&json!(7));
    let called = send(&warren.token, "label", &call);
    let meanwhile = async {
        let pid = pid(&warren, id).await;
        let strangers = [
            (other.as_str(), "label", json!(7)),
            (warren.token.as_str(), "another", json!(7)),
            (warren.token.as_str(), "label", json!("7")),
            (warren.token.as_str(), "label", json!(8)),
        ];
        for (token, label, id) in strangers {
            assert_eq!(send(token, label, &cancel(id)).await.status, 202);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(is_running(&pid), "the call goes on");
        assert_eq!(send(&warren.token, "label", &cancel(json!(7))).await.status, 202);
        pid
    };
    let (answer, pid) =
        tokio::time::timeout(PATIENCE, async { tokio::join!(called, meanwhile) }).await.unwrap();
    assert_eq!(answer.json()["error"]["code"], -32_800, "{}", answer.text());
    abandoned(&warren, &pid).await;
}

// S30: a label is no key: whoever knows it is still nobody
#[tokio::test]
async fn a_label_lets_nobody_in_and_speaks_for_nobody() {
    let warren = Warren::start().await;
    let id = workspace(&warren).await;
    let path = of_workspace(id);
    let client_info = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info });
    let began = post(&warren, &path, &warren.token, &message("initialize", params)).await;
    let label = began.header("mcp-session-id").expect("older clients get one").to_owned();
    let ask = |token: Option<&str>| {
        let call = warren.call("POST", &path).header("mcp-session-id", &label);
        let call = call.header("accept", "application/json, text/event-stream");
        token.map_or_else(
            || warren.call("POST", &path).header("mcp-session-id", &label),
            |token| call.token(token),
        )
    };
    let list = message("tools/list", json!({}));
    assert_eq!(ask(None).json(&list).send().await.status, 401);
    assert_eq!(ask(Some("garbage")).json(&list).send().await.status, 401);
    let stranger = warren.workspace(crate::memory()).await;
    let stranger = super::workspace_token(&warren, stranger).await;
    let answer = ask(Some(&stranger)).json(&list).send().await;
    assert_eq!((answer.status, answer.code()), (404, "workspace_not_found".into()));
    let (revoked, token_id) = mint(&warren, json!({ "kind": "admin", "name": "r" })).await;
    assert_eq!(ask(Some(&revoked)).json(&list).send().await.status, 200);
    warren.delete(&format!("/api/v1/tokens/{token_id}")).await;
    assert_eq!(ask(Some(&revoked)).json(&list).send().await.status, 401);
}
