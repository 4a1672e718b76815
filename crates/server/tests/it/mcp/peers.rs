//! What an agent does with its peers, the people around it and its memory.

use serde_json::{Value, json};
use warren_model::{Status, WorkspaceId};
use warren_testkit::Warren;

use super::{Client, beginnings, connect, connect_with, of_workspace, problem, result, workspace_token};
use crate::memory;

const OF_PEERS: [&str; 10] = [
    "list_peers",
    "delegate_task",
    "delegate_task_async",
    "check_task",
    "cancel_task",
    "send_message_to_user",
    "request_approval",
    "remember",
    "recall",
    "get_workspace_info",
];

async fn child(warren: &Warren, name: &str, parent: Option<WorkspaceId>) -> WorkspaceId {
    let parent = parent.map(|id| id.to_string());
    let role = format!("{name}s");
    let body = json!({
        "name": name, "provider": memory(), "parent_id": parent, "role": role, "runtime": "external",
    });
    let made = warren.create(&body).await.json();
    let id = made["id"].as_str().unwrap_or_else(|| panic!("{made}")).parse().unwrap();
    warren.wait_for_status(id, Status::AwaitingAgent).await;
    id
}

/// The client of a workspace's own agent.
async fn agent(warren: &Warren, id: WorkspaceId) -> Client {
    let [current, _] = beginnings();
    let token = workspace_token(warren, id).await;
    connect_with(warren, &of_workspace(id), &token, current).await
}

async fn names(client: &Client) -> Vec<String> {
    let tools = client.list_all_tools().await.unwrap();
    tools.iter().map(|tool| tool.name.to_string()).collect()
}

/// Does the next piece of work that comes to a workspace.
async fn work(warren: &Warren, id: WorkspaceId, token: &str, answer: &str) -> Value {
    let base = format!("/api/v1/workspaces/{id}/queue");
    let post = async |path: String, body: Value| {
        let answer = warren.call("POST", &path).token(token).json(&body).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let claimed = post(format!("{base}/claim"), json!({ "wait_ms": 20_000 })).await["claimed"].clone();
    let queue_id = claimed["queue_id"].as_str().unwrap_or_else(|| panic!("{claimed}"));
    let message = json!({ "role": "agent", "parts": [{ "text": answer }] });
    let ended = json!({ "attempt": claimed["attempt"], "outcome": "answered", "message": message });
    post(format!("{base}/{queue_id}/answer"), ended).await;
    claimed
}

// X23
#[tokio::test]
async fn tools_for_peers_are_offered_to_the_workspace_itself_alone() {
    let warren = Warren::start().await;
    let id = child(&warren, "lead", None).await;
    let own = names(&agent(&warren, id).await).await;
    let of_operator = names(&connect(&warren, &of_workspace(id)).await).await;
    assert!(OF_PEERS.iter().all(|name| !of_operator.iter().any(|one| one == name)), "{of_operator:?}");
    assert_eq!(own, [of_operator, OF_PEERS.map(str::to_owned).to_vec()].concat());
    let operator = connect(&warren, &of_workspace(id)).await;
    let refused = operator.call_tool(super::params("list_peers", &json!({}))).await;
    assert!(refused.is_err(), "{refused:?}");
}

// X23, X20
#[tokio::test]
async fn an_agent_hands_work_to_a_peer_and_gets_its_result() {
    let warren = Warren::start().await;
    let lead = child(&warren, "lead", None).await;
    let helper = child(&warren, "tester", Some(lead)).await;
    let stranger = child(&warren, "stranger", None).await;
    let policy = format!("/api/v1/workspaces/{stranger}/peer-policy");
    let alone = json!({ "circle": "nobody" });
    assert_eq!(warren.call("PUT", &policy).token(&warren.token).json(&alone).send().await.status, 200);
    let client = agent(&warren, lead).await;
    let info = result(&client, "get_workspace_info", json!({})).await;
    assert_eq!((&info["id"], &info["name"]), (&json!(lead.to_string()), &json!("lead")));
    let peers = result(&client, "list_peers", json!({ "query": "test" })).await;
    assert_eq!(peers["items"].as_array().unwrap().len(), 1, "{peers}");
    assert_eq!(peers["items"][0]["id"], helper.to_string());
    let token = workspace_token(&warren, helper).await;
    let put = warren.put(&format!("/api/v1/workspaces/{lead}/files?path=plan.md"), "# plan").await;
    assert_eq!(put.status, 201);
    let asked = json!({
        "to": helper.to_string(), "task": "run the tests", "files": ["plan.md"], "wait_seconds": 60,
    });
    let (done, claimed) =
        tokio::join!(result(&client, "delegate_task", asked), work(&warren, helper, &token, "all green"),);
    assert_eq!(claimed["message"]["parts"][0]["text"], "run the tests", "{claimed}");
    assert_eq!(claimed["author"], json!({ "kind": "workspace", "id": lead.to_string() }), "{claimed}");
    let copy = claimed["message"]["parts"][1]["url"].as_str().unwrap().strip_prefix("workspace:").unwrap();
    assert_eq!(warren.get(&format!("/api/v1/workspaces/{helper}/files?path={copy}")).await.text(), "# plan");
    assert_eq!(done["state"], "completed", "{done}");
    assert!(done["result"].to_string().contains("all green"), "{done}");
    let asked = json!({ "to": stranger.to_string(), "task": "spy" });
    assert_eq!(problem(&client, "delegate_task_async", asked).await["code"], "workspace_not_found");
    let asked = json!({ "to": "nobody-here", "task": "spy" });
    assert_eq!(problem(&client, "delegate_task_async", asked).await["code"], "workspace_not_found");
    let asked = json!({ "to": "tester", "task": "by name" });
    let made = result(&client, "delegate_task_async", asked).await;
    assert_eq!(made["to"], helper.to_string(), "{made}");
}

// X23, X20, X22
#[tokio::test]
async fn work_that_goes_on_is_asked_for_later_or_taken_back() {
    let warren = Warren::start().await;
    let lead = child(&warren, "lead", None).await;
    let helper = child(&warren, "tester", Some(lead)).await;
    let client = agent(&warren, lead).await;
    let to = helper.to_string();
    let first = result(&client, "delegate_task_async", json!({ "to": to, "task": "one" })).await;
    let second = result(&client, "delegate_task_async", json!({ "to": to, "task": "two" })).await;
    let back = result(&client, "cancel_task", json!({ "id": second["id"] })).await;
    assert_eq!(back["state"], "cancelled", "{back}");
    let open = result(&client, "check_task", json!({ "id": first["id"] })).await;
    assert!(open["ended_at"].is_null(), "{open}");
    let short = json!({ "to": to, "task": "three", "wait_seconds": 0 });
    let short = result(&client, "delegate_task", short).await;
    assert!(short["ended_at"].is_null() && short["id"].is_string(), "it does not wait for ever: {short}");
    let token = workspace_token(&warren, helper).await;
    work(&warren, helper, &token, "done").await;
    let ended = result(&client, "check_task", json!({ "id": first["id"] })).await;
    assert_eq!(ended["state"], "completed", "{ended}");
}

// X23
#[tokio::test]
async fn bad_arguments_of_peer_tools_are_told_by_name() {
    let warren = Warren::start().await;
    let id = child(&warren, "lead", None).await;
    let client = agent(&warren, id).await;
    let cases = [
        ("delegate_task", json!({ "task": "x" }), "to"),
        ("delegate_task", json!({ "to": id.to_string(), "task": " " }), "task"),
        (
            "delegate_task",
            json!({ "to": id.to_string(), "task": "x", "wait_seconds": 99_999 }),
            "wait_seconds",
        ),
        ("delegate_task_async", json!({ "to": id.to_string(), "task": "x", "colour": 1 }), "colour"),
        ("get_workspace_info", json!({ "id": "x" }), "id"),
        ("send_message_to_user", json!({ "attachments": [] }), "text"),
        ("request_approval", json!({ "action": "deploy" }), "reason"),
        ("request_approval", json!({ "reason": "it is time" }), "action"),
        ("request_approval", json!({ "id": id.to_string(), "action": "deploy" }), "id"),
        ("remember", json!({ "key": "k" }), "value"),
        ("remember", json!({ "key": "k", "value": "v", "scope": "world" }), "scope"),
        ("recall", json!({}), "key and query"),
        ("recall", json!({ "key": "k", "query": "q" }), "key and query"),
    ];
    for (tool, arguments, named) in cases {
        let told = problem(&client, tool, arguments.clone()).await;
        assert_eq!(told["code"], "invalid_request", "{told}");
        assert!(told["detail"].as_str().unwrap().contains(named), "{tool} {arguments}: {told}");
    }
    let unknown = problem(&client, "check_task", json!({ "id": "../../tokens" })).await;
    assert_eq!(unknown["status"], 404, "{unknown}");
}

// X23, X31
#[tokio::test]
async fn an_agent_tells_people_something_and_is_named_as_its_author() {
    let warren = Warren::start().await;
    let id = child(&warren, "lead", None).await;
    let client = agent(&warren, id).await;
    let base = format!("/api/v1/workspaces/{id}");
    let put = warren.call("PUT", &format!("{base}/files?path=out/report.txt")).token(&warren.token);
    assert_eq!(put.body("all is well").send().await.status, 201);
    let notice = json!({ "text": "here it is", "attachments": [{ "path": "out/report.txt" }] });
    let told = result(&client, "send_message_to_user", notice).await;
    assert_eq!(told["author"], json!({ "kind": "workspace", "id": id.to_string() }), "{told}");
    let conversation = told["conversation_id"].as_str().unwrap();
    let shown = warren.get(&format!("{base}/conversations/{conversation}/messages")).await.json();
    assert_eq!(shown["items"], json!([told]), "{shown}");
    assert_eq!(shown["items"][0]["parts"][1]["url"], "workspace:out/report.txt");
    let absent = json!({ "text": "and this", "attachments": [{ "path": "nowhere" }] });
    let refused = problem(&client, "send_message_to_user", absent).await;
    assert_eq!(refused["code"], "file_not_found", "{refused}");
    let shown = warren.get(&format!("{base}/conversations/{conversation}/messages")).await.json();
    assert_eq!(shown["items"].as_array().unwrap().len(), 1, "{shown}");
}

// X23, X51
#[tokio::test]
async fn an_agent_asks_for_approval_and_hears_the_decision_in_the_same_call() {
    let warren = Warren::start().await;
    let id = child(&warren, "lead", None).await;
    let client = agent(&warren, id).await;
    let asked = json!({ "action": "deploy", "reason": "it is green", "context": { "to": "production" } });
    let decide = async {
        let pending = loop {
            let page = warren.get("/api/v1/approvals?state=pending").await.json();
            if let Some(first) = page["items"].get(0) {
                break first.clone();
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(pending["context"]["to"], "production", "{pending}");
        let path = format!("/api/v1/approvals/{}/approve", pending["id"].as_str().unwrap());
        assert_eq!(warren.post(&path, &json!({ "note": "go" })).await.status, 200);
    };
    let (decided, ()) = tokio::join!(result(&client, "request_approval", asked), decide);
    assert_eq!((&decided["state"], &decided["note"]), (&json!("approved"), &json!("go")), "{decided}");

    let short = json!({ "action": "delete", "reason": "it is old", "wait_seconds": 0 });
    let open = result(&client, "request_approval", short).await;
    assert_eq!(open["state"], "pending", "{open}");
    let path = format!("/api/v1/approvals/{}/deny", open["id"].as_str().unwrap());
    assert_eq!(warren.post(&path, &json!({})).await.status, 200);
    let again = result(&client, "request_approval", json!({ "id": open["id"] })).await;
    assert_eq!((&again["state"], &again["id"]), (&json!("denied"), &open["id"]), "{again}");
}

// X23, X50
#[tokio::test]
async fn an_agent_remembers_for_itself_or_its_team_and_recalls_by_key_or_words() {
    let warren = Warren::start().await;
    let lead = child(&warren, "lead", None).await;
    let helper = child(&warren, "tester", Some(lead)).await;
    let (client, other) = (agent(&warren, lead).await, agent(&warren, helper).await);
    let own = result(&client, "remember", json!({ "key": "how to/build", "value": "make all" })).await;
    assert_eq!((&own["scope"], &own["version"]), (&json!("local"), &json!(1)), "{own}");
    let shared = json!({ "key": "colour", "value": "the team likes blue", "scope": "team" });
    result(&client, "remember", shared).await;
    let found = result(&client, "recall", json!({ "key": "how to/build" })).await;
    assert_eq!(found["items"], json!([own]), "{found}");
    assert_eq!(result(&other, "recall", json!({ "key": "how to/build" })).await["items"], json!([]));
    let by_key = result(&other, "recall", json!({ "key": "colour" })).await;
    let by_words = result(&other, "recall", json!({ "query": "blue team", "limit": 5 })).await;
    assert_eq!(by_key["items"][0]["value"], "the team likes blue", "{by_key}");
    assert_eq!(by_key, by_words);
    assert_eq!(
        result(&other, "recall", json!({ "key": "colour", "scope": "local" })).await["items"],
        json!([])
    );
    let stale = json!({ "key": "how to/build", "value": "x", "expected_version": 0 });
    let refused = problem(&client, "remember", stale).await;
    assert_eq!(refused["status"], 412, "{refused}");
}
