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
    assert_eq!(reach().await, 202, "side by side in an org");
    set(one, json!({ "circle": "org" })).await;
    set(other, json!({ "circle": "nobody" })).await;
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
