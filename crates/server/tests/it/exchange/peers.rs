use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::Warren;

use super::{agent, said, with_agent};
use crate::fleet::create;
use crate::memory;

async fn names(warren: &Warren, id: WorkspaceId, query: &str) -> Vec<String> {
    let answer = warren.get(&format!("/api/v1/workspaces/{id}/peers{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut names: Vec<_> = answer.json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|peer| peer["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

async fn place(warren: &Warren, name: &str, parent: Option<WorkspaceId>, role: Option<&str>) -> WorkspaceId {
    let body = json!({ "name": name, "provider": memory(), "parent_id": parent.map(|id| id.to_string()), "role": role,
        "runtime": "external" });
    create(warren, &body).await
}

// X3
#[tokio::test]
async fn peers_are_exactly_those_that_a_message_reaches() {
    let (warren, _) = with_agent().await;
    let root = place(&warren, "root", None, None).await;
    let team = place(&warren, "team", Some(root), Some("Lead")).await;
    let (one, secret) = agent(&warren, json!({ "name": "one", "parent_id": team.to_string() })).await;
    let two = place(&warren, "Two", Some(team), Some("code reviewer")).await;
    let below = place(&warren, "below", Some(one), None).await;
    let uncle = place(&warren, "uncle", Some(root), None).await;
    let stranger = place(&warren, "stranger", None, None).await;
    assert_eq!(names(&warren, one, "").await, ["Two", "below", "root", "team"]);
    assert_eq!(names(&warren, root, "").await, ["Two", "below", "one", "team", "uncle"]);
    assert_eq!(names(&warren, stranger, "").await, Vec::<String>::new());
    for (query, found) in [("?q=%20", 4), ("?q=TWO", 1), ("?q=review", 1), ("?q=lead", 1), ("?q=nobody", 0)] {
        assert_eq!(names(&warren, one, query).await.len(), found, "{query}");
    }
    for (to, status) in
        [(one, 202), (team, 202), (root, 202), (two, 202), (below, 202), (uncle, 404), (stranger, 404)]
    {
        let path = format!("/api/v1/workspaces/{to}/messages");
        let answer = warren.call("POST", &path).token(&secret).json(&said("hello")).send().await;
        let expected = if to == one { 200 } else { status };
        assert_eq!(answer.status, expected, "{}", answer.text());
    }
}

// X3
#[tokio::test]
async fn a_policy_widens_or_narrows_whom_a_workspace_reaches() {
    let (warren, _) = with_agent().await;
    let (one, secret) = agent(&warren, json!({ "name": "one" })).await;
    let other = place(&warren, "other", None, None).await;
    let reach = async || {
        let path = format!("/api/v1/workspaces/{other}/messages");
        warren.call("POST", &path).token(&secret).json(&said("hello")).send().await.status
    };
    let set = async |id: WorkspaceId, policy: Value| {
        let call = warren.call("PUT", &format!("/api/v1/workspaces/{id}/peer-policy")).token(&warren.token);
        let answer = call.json(&policy).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    assert_eq!(reach().await, 404);
    set(one, json!({ "circle": "org" })).await;
    assert_eq!(reach().await, 404, "one side alone opens nothing");
    set(other, json!({ "circle": "nobody", "allow": [one.to_string()] })).await;
    assert_eq!(reach().await, 202);
    assert_eq!(names(&warren, one, "").await, ["other"]);
    let kept = set(other, json!({ "circle": "org", "deny": [one.to_string()] })).await;
    assert_eq!(kept["deny"][0], one.to_string());
    assert_eq!(reach().await, 404);
    let refused = warren
        .call("PUT", &format!("/api/v1/workspaces/{one}/peer-policy"))
        .token(&secret)
        .json(&json!({ "circle": "org" }))
        .send()
        .await;
    assert_eq!(refused.status, 403, "an agent does not widen its own reach");
}

// X3: a peer sees what it asked for itself, and nothing else of the workspace
#[tokio::test]
async fn a_peer_sees_its_own_tasks_only() {
    let (warren, _) = with_agent().await;
    let lead = place(&warren, "lead", None, None).await;
    let (one, secret) = agent(&warren, json!({ "name": "one", "parent_id": lead.to_string() })).await;
    let mine = warren
        .call("POST", &format!("/api/v1/workspaces/{lead}/messages"))
        .token(&secret)
        .json(&said("mine"))
        .send()
        .await
        .json();
    let theirs = super::say(&warren, lead, "theirs").await;
    let get = async |task: &Value| {
        let path = format!("/api/v1/workspaces/{lead}/tasks/{}", task["task"]["id"].as_str().unwrap());
        warren.call("GET", &path).token(&secret).send().await
    };
    assert_eq!(get(&mine).await.status, 200);
    assert_eq!(get(&theirs).await.code(), "task_not_found");
    let listed =
        warren.call("GET", &format!("/api/v1/workspaces/{lead}/tasks")).token(&secret).send().await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["items"][0]["author"]["id"], one.to_string());
}
