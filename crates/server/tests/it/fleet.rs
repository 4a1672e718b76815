//! What tests of the fleet say often: make a workspace, register its runtime, report, sweep, look.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_doors::ManualClock;
use warren_model::{Status, Timestamp, WorkspaceId};
use warren_testkit::{Answer, Warren};

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)))
}

/// Makes a workspace and does not wait for anything.
pub(crate) async fn create(warren: &Warren, body: &Value) -> WorkspaceId {
    let answer = warren.create(body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().parse().unwrap()
}

/// A workspace whose runtime lives elsewhere, and waits for it.
pub(crate) async fn external(warren: &Warren) -> WorkspaceId {
    let body = json!({ "name": "agent", "provider": { "kind": "local" }, "runtime": "external" });
    let id = create(warren, &body).await;
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    id
}

pub(crate) async fn join_token(warren: &Warren, id: WorkspaceId) -> String {
    let body = json!({ "kind": "join", "name": "boot", "workspace_id": id.to_string() });
    let made = warren.post("/api/v1/tokens", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["secret"].as_str().unwrap().to_owned()
}

pub(crate) async fn try_register(warren: &Warren, join: &str, body: &Value) -> Answer {
    warren.call("POST", "/api/v1/registry/register").token(join).json(body).send().await
}

/// Registers with a new join token; answers with the credential of this boot.
pub(crate) async fn register(warren: &Warren, id: WorkspaceId) -> String {
    let join = join_token(warren, id).await;
    let answer = try_register(warren, &join, &json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["token"].as_str().unwrap().to_owned()
}

/// An external workspace with a registered runtime: (id, its credential).
pub(crate) async fn reporting(warren: &Warren) -> (WorkspaceId, String) {
    let id = external(warren).await;
    let secret = register(warren, id).await;
    (id, secret)
}

pub(crate) async fn try_beat(warren: &Warren, secret: &str, body: &Value) -> Answer {
    warren.call("POST", "/api/v1/registry/heartbeat").token(secret).json(body).send().await
}

pub(crate) async fn beat(warren: &Warren, secret: &str, body: &Value) -> Value {
    let answer = try_beat(warren, secret, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

pub(crate) async fn show(warren: &Warren, id: WorkspaceId) -> Value {
    warren.get(&format!("/api/v1/workspaces/{id}?include_removed=true")).await.json()
}

pub(crate) async fn status(warren: &Warren, id: WorkspaceId) -> String {
    show(warren, id).await["status"].as_str().unwrap().to_owned()
}

/// Asks something of a workspace, such as `pause`.
pub(crate) async fn ask(warren: &Warren, id: WorkspaceId, what: &str) -> Answer {
    warren.call("POST", &format!("/api/v1/workspaces/{id}/{what}")).token(&warren.token).send().await
}

/// Runs a sweep now; answers with its report.
pub(crate) async fn sweep(warren: &Warren, name: &str) -> Value {
    let path = format!("/api/v1/admin/sweeps/{name}/run");
    let answer = warren.call("POST", &path).token(&warren.token).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// All stored events, or those of one workspace, oldest first.
pub(crate) async fn events(warren: &Warren, id: Option<WorkspaceId>) -> Vec<Value> {
    let (mut after, mut all) = (0, Vec::new());
    let of = id.map_or_else(String::new, |id| format!("&workspace_id={id}"));
    loop {
        let path = format!("/api/v1/events?after={after}&limit=500{of}");
        let page = warren.call("GET", &path).token(&warren.token).header("accept", "application/json");
        let page = page.send().await.json();
        all.extend(page["items"].as_array().unwrap().iter().cloned());
        if page["is_last"] == json!(true) {
            return all;
        }
        after = page["next_after"].as_u64().unwrap();
    }
}

/// How often a workspace came to a status.
pub(crate) async fn arrivals(warren: &Warren, id: WorkspaceId, at: &str) -> usize {
    let came = |event: &&Value| event["data"]["to"] == json!(at);
    events(warren, Some(id)).await.iter().filter(came).count()
}

/// Looks again until it is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), waiting)
        .await
        .unwrap_or_else(|_| panic!("did not happen: {what}"));
}
