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

// W61, sec/T02: a list without a box that names a program which starts others would only pretend.
#[tokio::test]
async fn a_program_that_starts_others_needs_a_box_or_a_word_of_its_own_and_that_is_told() {
    let warren = Warren::start().await;
    let create = async |run: Value| {
        let provider = json!({ "kind": "local", "run": run });
        warren.create(&json!({ "name": "listed", "provider": provider })).await
    };
    let refused = create(json!({ "allow": ["ls", "git"] })).await;
    assert_eq!((refused.status, refused.code()), (422, "invalid_config".into()), "{}", refused.text());
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("run.allow[1]") && detail.contains("run.allow_unrestrained"), "{detail}");
    // Named on purpose, it is run, and whoever names it is told.
    let named = create(json!({ "allow": ["ls"], "allow_unrestrained": ["sh"] })).await;
    assert_eq!(named.status, 201, "{}", named.text());
    let warning = named.json()["warnings"][1].as_str().unwrap().to_owned();
    assert!(warning.contains("`sh`") && warning.contains("no box"), "{warning}");
    let id: warren_model::WorkspaceId = named.json()["id"].as_str().unwrap().parse().unwrap();
    warren.wait_for_status(id, warren_model::Status::Online).await;
    let ran = call(&warren, id, "workspace_run", json!({ "argv": ["sh", "-c", "echo hi"] })).await;
    assert!(ran.json()["result"].to_string().contains("hi"), "{}", ran.text());
    let git = call(&warren, id, "workspace_run", json!({ "argv": ["git", "x"] })).await;
    assert!(git.json().get("result").is_none() && git.json()["refused"].is_object(), "{}", git.text());
    // A list that holds is taken without a word; that there is no box is said all the same.
    let plain = create(json!({ "allow": ["ls", "cat"] })).await;
    let warnings = plain.json()["warnings"].as_array().unwrap().clone();
    assert_eq!((plain.status, warnings.len()), (201, 1), "{}", plain.text());
    assert!(warnings[0].as_str().unwrap().contains("`local` is no box"), "{warnings:?}");
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
