use serde_json::{Value, json};
use warren_testkit::Warren;

use crate::{local, memory};

async fn call(
    warren: &Warren,
    id: warren_model::WorkspaceId,
    tool: &str,
    arguments: Value,
) -> warren_testkit::Answer {
    warren.post(&format!("/api/v1/workspaces/{id}/tools/{tool}"), &arguments).await
}

// W60, W64
#[tokio::test]
async fn the_catalog_follows_the_capabilities() {
    let warren = Warren::start().await;
    let names = |catalog: &Value| -> Vec<String> {
        catalog["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let files_only = warren.workspace(memory()).await;
    let catalog = warren.get(&format!("/api/v1/workspaces/{files_only}/tools")).await.json();
    assert!(names(&catalog).contains(&"workspace_read_file".to_owned()));
    assert!(!names(&catalog).contains(&"workspace_run".to_owned()));
    let both = warren.workspace(local()).await;
    let catalog = warren.get(&format!("/api/v1/workspaces/{both}/tools")).await.json();
    assert!(names(&catalog).contains(&"workspace_run".to_owned()));
    assert_eq!(catalog["tools"][0]["input_schema"]["type"], "object");
    assert!(!catalog["system_prompt"].as_str().unwrap().is_empty());
}

// W64
#[tokio::test]
async fn files_written_by_a_tool_are_the_workspaces_files() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let written =
        call(&warren, id, "workspace_write_file", json!({ "path": "a.txt", "content": "hello\n" })).await;
    assert_eq!(written.status, 200, "{}", written.text());
    assert_eq!(warren.get(&format!("/api/v1/workspaces/{id}/files?path=a.txt")).await.text(), "hello\n");
    let read = call(&warren, id, "workspace_read_file", json!({ "path": "a.txt" })).await.json();
    assert!(read["result"].to_string().contains("hello"), "{read}");
}

// W61, W62
#[tokio::test]
async fn a_refusal_is_an_answer_that_says_what_is_allowed() {
    let warren = Warren::start().await;
    let id = warren.workspace(json!({ "kind": "local", "run": { "mode": "argv", "allow": ["echo"] } })).await;
    let fine = call(&warren, id, "workspace_run", json!({ "argv": ["echo", "hi"] })).await;
    assert!(fine.json()["result"].to_string().contains("hi"), "{}", fine.text());
    let refused = call(&warren, id, "workspace_run", json!({ "argv": ["curl", "x"] })).await;
    assert_eq!(refused.status, 200, "a refusal is an answer: {}", refused.text());
    assert!(refused.json()["refused"]["allowed"].as_str().unwrap().contains("echo"), "{}", refused.text());
    assert!(refused.json().get("result").is_none());
}

// W61
#[tokio::test]
async fn without_an_allowlist_local_runs_nothing_for_a_model() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let refused = call(&warren, id, "workspace_run", json!({ "argv": ["echo", "hi"] })).await.json();
    assert!(refused["refused"].is_object(), "{refused}");
}

// W62: refusals reach the event log, rolled up
#[tokio::test]
async fn refusals_are_recorded_without_flooding_the_log() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    for _ in 0..20 {
        call(&warren, id, "workspace_run", json!({ "argv": ["curl"] })).await;
    }
    let warren = warren.restart().await;
    let page = warren.call("GET", "/api/v1/events?after=0").token(&warren.token);
    let page = page.header("accept", "application/json").send().await.json();
    let refused = |event: &&Value| event["kind"] == "workspace.tool.refused";
    let counts: Vec<u64> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(refused)
        .map(|event| event["data"]["count"].as_u64().unwrap())
        .collect();
    assert!((1..=3).contains(&counts.len()), "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), 20, "no refusal is lost: {counts:?}");
}

// W60, S20
#[tokio::test]
async fn bad_arguments_and_unknown_tools_are_told() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    assert_eq!(call(&warren, id, "workspace_fly", json!({})).await.code(), "tool_not_found");
    assert_eq!(
        call(&warren, id, "workspace_run", json!({ "argv": ["true"] })).await.code(),
        "tool_not_found"
    );
    let answer = call(&warren, id, "workspace_read_file", json!({ "path": 7 })).await;
    assert_eq!((answer.status, answer.code()), (400, "invalid_request".into()));
    assert!(answer.json()["detail"].as_str().unwrap().contains("path"), "{}", answer.text());
    let answer = call(&warren, id, "workspace_read_file", json!({ "path": "nothing.txt" })).await;
    assert_eq!(answer.code(), "file_not_found");
}

// W64, F40: an agent's work shows in the log as a person's does
#[tokio::test]
async fn what_a_tool_did_is_recorded_without_contents_or_arguments() {
    let warren = Warren::start().await;
    let id = warren
        .workspace(json!({ "kind": "local", "run": { "mode": "argv", "allow": ["echo", "sh"] } }))
        .await;
    call(&warren, id, "workspace_write_file", json!({ "path": "a.txt", "content": "canary-contents" })).await;
    call(&warren, id, "workspace_mv", json!({ "from": "a.txt", "to": "b.txt" })).await;
    call(&warren, id, "workspace_rm", json!({ "path": "nothing.txt" })).await;
    call(&warren, id, "workspace_run", json!({ "argv": ["curl", "canary-argument"] })).await;
    call(&warren, id, "workspace_run", json!({ "argv": ["echo", "canary-argument"] })).await;
    let started =
        call(&warren, id, "workspace_run_background", json!({ "argv": ["sh", "-c", "exit 3"] })).await;
    assert_eq!(started.json()["result"]["process_id"], 1, "{}", started.text());
    let waiting = async {
        loop {
            let ended = crate::processes::events_of(&warren, "workspace.command.finished").await;
            if ended.len() == 2 {
                return ended;
            }
        }
    };
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), waiting).await.expect("both end");
    let of = |program: &str| {
        ended.iter().find(|event| event["data"]["program"] == program).unwrap()["data"].clone()
    };
    assert_eq!((&of("echo")["exit_code"], &of("echo")["process"]), (&json!(0), &json!(null)));
    assert_eq!((&of("sh")["exit_code"], &of("sh")["process"]), (&json!(3), &json!(1)));
    let changed = crate::processes::events_of(&warren, "workspace.file.changed").await;
    let told: Vec<_> =
        changed.iter().map(|event| (&event["data"]["operation"], &event["data"]["path"])).collect();
    assert_eq!(told, [(&json!("write"), &json!("a.txt")), (&json!("move"), &json!("b.txt"))]);
    assert!(!format!("{ended:?}{changed:?}").contains("canary"));
}
