//! A workspace's tools over MCP are its tools over HTTP.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use warren_testkit::Warren;

use super::{beginnings, call, connect, connect_with, of_workspace, params, problem, result};
use crate::processes::events_of;
use crate::{local, memory};

// W64, S30
#[tokio::test]
async fn the_tools_are_those_of_http_in_name_words_and_schema() {
    let warren = Warren::start().await;
    for provider in [memory(), local()] {
        let id = warren.workspace(provider).await;
        let catalog = warren.get(&format!("/api/v1/workspaces/{id}/tools")).await.json();
        for beginning in beginnings() {
            let client = connect_with(&warren, &of_workspace(id), &warren.token, beginning).await;
            let told = client.list_all_tools().await.unwrap();
            let told: Vec<Value> = told
                .iter()
                .map(|tool| {
                    json!({ "name": tool.name, "description": tool.description, "input_schema": *tool.input_schema })
                })
                .collect();
            assert_eq!(json!(told), catalog["tools"]);
            assert!(told.len() >= 9, "{told:?}");
            let instructions = client.peer_info().unwrap().instructions.clone();
            assert_eq!(json!(instructions), catalog["system_prompt"]);
            client.cancel().await.unwrap();
        }
    }
}

// W64, S30
#[tokio::test]
async fn a_tool_does_over_mcp_what_it_does_over_http() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    for beginning in beginnings() {
        let client = connect_with(&warren, &of_workspace(id), &warren.token, beginning).await;
        let written = json!({ "path": "a.txt", "content": "hello\n" });
        let told = call(&client, "workspace_write_file", written.clone()).await;
        assert_eq!(told.is_error, Some(false));
        assert_eq!(warren.get(&format!("/api/v1/workspaces/{id}/files?path=a.txt")).await.text(), "hello\n");
        let over_mcp = result(&client, "workspace_read_file", json!({ "path": "a.txt" })).await;
        let path = format!("/api/v1/workspaces/{id}/tools/workspace_read_file");
        let over_http = warren.post(&path, &json!({ "path": "a.txt" })).await.json();
        assert_eq!(over_mcp, over_http["result"]);
        client.cancel().await.unwrap();
    }
}

// W64, W61, W62: policy, refusal and its trace are the same
#[tokio::test]
async fn a_refusal_is_an_answer_that_says_what_is_allowed_and_is_recorded() {
    let warren = Warren::start().await;
    let id = warren.workspace(json!({ "kind": "local", "run": { "mode": "argv", "allow": ["echo"] } })).await;
    let client = connect(&warren, &of_workspace(id)).await;
    let fine = result(&client, "workspace_run", json!({ "argv": ["echo", "hi"] })).await;
    assert_eq!(fine["stdout"], "hi\n", "{fine}");
    let refused = call(&client, "workspace_run", json!({ "argv": ["curl", "x"] })).await;
    assert_eq!(refused.is_error, Some(true));
    let refused = refused.structured_content.unwrap();
    assert!(refused["refused"]["allowed"].as_str().unwrap().contains("echo"), "{refused}");
    let commands = events_of(&warren, "workspace.command.finished").await;
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0]["data"]["program"], "echo");
    client.cancel().await.unwrap();
    let warren = warren.restart().await;
    assert_eq!(events_of(&warren, "workspace.tool.refused").await.len(), 1);
}

// W64, F32: a secret reaches the command and leaves by no answer
#[tokio::test]
async fn secrets_reach_commands_and_are_masked_in_answers() {
    let warren = Warren::start().await;
    let id = warren
        .workspace(json!({ "kind": "local", "run": { "mode": "argv", "allow_unrestrained": ["sh"] } }))
        .await;
    let secret = warren.call("PUT", "/api/v1/secrets/API_KEY").token(&warren.token);
    assert_eq!(secret.json(&json!({ "value": "hunter2-hunter2" })).send().await.status, 201);
    let client = connect(&warren, &of_workspace(id)).await;
    let told =
        result(&client, "workspace_run", json!({ "argv": ["sh", "-c", "echo ${#API_KEY} $API_KEY"] })).await;
    assert!(told["stdout"].as_str().unwrap().starts_with("15 "), "it is there: {told}");
    assert!(!told.to_string().contains("hunter2"), "{told}");
}

// S30, W60
#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_and_bad_arguments_are_an_answer() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let client = connect(&warren, &of_workspace(id)).await;
    for name in ["workspace_fly", "workspace_run", "exec", ""] {
        let error = client.call_tool(params(name, &json!({}))).await.unwrap_err();
        let rmcp::ServiceError::McpError(error) = error else { panic!("{error:?}") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{name}: {error:?}");
    }
    let told = problem(&client, "workspace_read_file", json!({ "path": 7 })).await;
    assert_eq!(told["code"], "invalid_request");
    assert!(told["detail"].as_str().unwrap().contains("path"), "{told}");
    let told = problem(&client, "workspace_read_file", json!({ "path": "nothing.txt" })).await;
    assert_eq!(told["code"], "file_not_found");
    let told = problem(&client, "workspace_read_file", json!({ "path": "../../etc/passwd" })).await;
    assert_eq!(told["code"], "path_escapes");
}

// W64, F13: what cannot be used over HTTP cannot be used over MCP
#[tokio::test]
async fn a_paused_workspace_lists_its_tools_and_runs_none() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let client = connect(&warren, &of_workspace(id)).await;
    assert_eq!(warren.post(&format!("/api/v1/workspaces/{id}/pause"), &json!({})).await.status, 200);
    assert!(!client.list_all_tools().await.unwrap().is_empty());
    let over_mcp = problem(&client, "workspace_ls", json!({})).await;
    let over_http = warren.post(&format!("/api/v1/workspaces/{id}/tools/workspace_ls"), &json!({})).await;
    assert_eq!(over_mcp["code"], over_http.code());
}

// S30: nothing is kept between two requests, so that a restart interrupts nobody
#[tokio::test]
async fn a_client_goes_on_after_the_server_was_restarted() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let (_, path) = (connect(&warren, &of_workspace(id)).await, of_workspace(id));
    let first = super::post(&warren, &path, &warren.token, &super::message("tools/list", json!({}))).await;
    let warren = warren.restart().await;
    let label = ("mcp-session-id", "given-by-the-server-that-was");
    let call = warren.call("POST", &path).token(&warren.token).header(label.0, label.1);
    let call = call.header("accept", "application/json, text/event-stream");
    let again = call.json(&super::message("tools/list", json!({}))).send().await;
    assert_eq!((again.status, again.json()), (200, first.json()));
}
