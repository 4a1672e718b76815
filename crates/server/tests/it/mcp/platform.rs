//! The fleet as tools.

use serde_json::json;
use warren_testkit::Warren;

use super::{Client, beginnings, connect, connect_with, problem, result, user_token, workspace_token};
use crate::memory;

const ALL: [&str; 11] = [
    "list_workspaces",
    "get_workspace",
    "create_workspace",
    "remove_workspace",
    "pause_workspace",
    "resume_workspace",
    "restart_workspace",
    "exec",
    "list_workspace_tools",
    "call_workspace_tool",
    "watch_files",
];

async fn names(client: &Client) -> Vec<String> {
    let tools = client.list_all_tools().await.unwrap();
    tools.iter().map(|tool| tool.name.to_string()).collect()
}

// S30
#[tokio::test]
async fn a_workspace_can_be_made_used_and_removed() {
    let warren = Warren::start().await;
    for beginning in beginnings() {
        let client = connect_with(&warren, "/mcp", &warren.token, beginning).await;
        let made =
            result(&client, "create_workspace", json!({ "name": "desk", "provider": { "kind": "local" } }))
                .await;
        let id = made["id"].as_str().unwrap();
        warren.wait_for_status(id.parse().unwrap(), warren_model::Status::Online).await;
        let listed = result(&client, "list_workspaces", json!({ "name": "desk", "limit": 5 })).await;
        assert_eq!(listed["items"][0]["id"], id, "{listed}");
        let ran = result(&client, "exec", json!({ "workspace_id": id, "argv": ["echo", "hi"] })).await;
        assert_eq!(ran["stdout"], "hi\n", "{ran}");
        let tools = result(&client, "list_workspace_tools", json!({ "workspace_id": id })).await;
        assert!(tools["tools"].to_string().contains("workspace_write_file"), "{tools}");
        let written = json!({ "path": "a.txt", "content": "x" });
        let call = json!({ "workspace_id": id, "tool": "workspace_write_file", "arguments": written });
        result(&client, "call_workspace_tool", call).await;
        assert_eq!(warren.get(&format!("/api/v1/workspaces/{id}/files?path=a.txt")).await.text(), "x");
        let removed = result(&client, "remove_workspace", json!({ "workspace_id": id })).await;
        assert_eq!(removed["removal"]["finished"], 1, "{removed}");
        assert_eq!(
            problem(&client, "get_workspace", json!({ "workspace_id": id })).await["code"],
            "workspace_not_found"
        );
        client.cancel().await.unwrap();
    }
}

// S30: a client checks its calls against the schema before it sends them, so there must be some that pass both
#[tokio::test]
async fn what_the_schema_of_create_workspace_allows_is_accepted() {
    let warren = Warren::start().await;
    let template = warren.call("PUT", "/api/v1/templates/desk").token(&warren.token);
    let answer = template.json(&json!({ "provider": { "kind": "memory" } })).send().await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let client = connect(&warren, "/mcp").await;
    let tools = client.list_all_tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == "create_workspace").unwrap();
    let schema = serde_json::Value::Object((*tool.input_schema).clone());
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let calls = [
        json!({ "name": "one", "provider": { "kind": "memory" } }),
        json!({ "name": "two", "provider": { "kind": "local", "max_file_mb": 5, "pass_env": ["LANG"] } }),
        json!({ "name": "three", "provider": { "kind": "local", "max_file_mb": null, "run": { "mode": null } } }),
        json!({ "name": "four", "template": "desk", "provider": null }),
    ];
    for call in calls {
        assert!(schema.is_valid(&call), "{call}");
        let made = result(&client, "create_workspace", call.clone()).await;
        assert_eq!(made["name"], call["name"], "{made}");
    }
    for call in
        [json!({ "name": "a", "provider": { "kind": "local", "colour": 1 } }), json!({ "provider": null })]
    {
        assert!(!schema.is_valid(&call), "{call}");
    }
}

// S30, W20
#[tokio::test]
async fn changes_of_files_are_waited_for() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let client = connect(&warren, "/mcp").await;
    let writing = async {
        for count in 0..200 {
            warren.put(&format!("/api/v1/workspaces/{id}/files?path=f{count}"), "x").await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let call = json!({ "workspace_id": id.to_string(), "wait_ms": 10_000 });
    let seen = tokio::select! {
        seen = result(&client, "watch_files", call) => seen,
        () = writing => panic!("nothing was seen"),
    };
    assert_eq!(seen["changes"][0]["kind"], "created", "{seen}");
}

// S30
#[tokio::test]
async fn only_what_is_declared_is_answered() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let own = super::of_workspace(id);
    let completion =
        json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "" } });
    for (path, method, params) in [
        ("/mcp", "prompts/list", json!({})),
        ("/mcp", "completion/complete", completion.clone()),
        ("/mcp", "resources/list", json!({})),
        ("/mcp", "resources/templates/list", json!({})),
        (own.as_str(), "prompts/list", json!({})),
        (own.as_str(), "completion/complete", completion),
    ] {
        let refused = super::post(&warren, path, &warren.token, &super::message(method, params)).await;
        let text = refused.text();
        assert!(text.contains("-32601"), "{path} {method}: {text}");
    }
    let listed = super::message("resources/list", json!({}));
    let listed = super::post(&warren, &own, &warren.token, &listed).await;
    assert!(listed.text().contains("\"resources\""), "{}", listed.text());
}

// S30, F30
#[tokio::test]
async fn a_token_is_offered_what_it_may_do_and_no_more() {
    let warren = Warren::start().await;
    let own = warren.workspace(memory()).await;
    let operator = connect(&warren, "/mcp").await;
    assert_eq!(names(&operator).await, ALL);
    let [current, _] = beginnings();
    let reader = user_token(&warren, &["workspaces:read"]).await;
    let reader = connect_with(&warren, "/mcp", &reader, current.clone()).await;
    assert_eq!(
        names(&reader).await,
        ["list_workspaces", "get_workspace", "list_workspace_tools", "watch_files"]
    );
    let agent = workspace_token(&warren, own).await;
    let agent = connect_with(&warren, "/mcp", &agent, current.clone()).await;
    assert_eq!(
        names(&agent).await,
        ["get_workspace", "list_workspace_tools", "call_workspace_tool", "watch_files"]
    );
    let nobody = user_token(&warren, &["events:read"]).await;
    let nobody = connect_with(&warren, "/mcp", &nobody, current).await;
    assert_eq!(names(&nobody).await, Vec::<String>::new());
}

// S30, F30: what is not offered cannot be called, and what is offered still asks the rule of the route
#[tokio::test]
async fn what_a_token_may_not_do_it_cannot_do_by_mcp_either() {
    let warren = Warren::start().await;
    let (own, other) = (warren.workspace(memory()).await, warren.workspace(memory()).await);
    let [current, _] = beginnings();
    let reader = user_token(&warren, &["workspaces:read"]).await;
    let reader = connect_with(&warren, "/mcp", &reader, current.clone()).await;
    let body = json!({ "name": "x", "provider": memory() });
    let refused = reader.call_tool(super::params("create_workspace", &body)).await;
    assert!(refused.is_err(), "{refused:?}");
    let agent = workspace_token(&warren, own).await;
    let agent = connect_with(&warren, "/mcp", &agent, current).await;
    let of_other = |tool: &str| json!({ "workspace_id": other.to_string(), "tool": tool, "arguments": {} });
    let told = problem(&agent, "call_workspace_tool", of_other("workspace_ls")).await;
    assert_eq!(told["code"], "workspace_not_found", "to it the other does not exist");
    let of_own = json!({ "workspace_id": own.to_string(), "tool": "workspace_ls", "arguments": {} });
    result(&agent, "call_workspace_tool", of_own).await;
    let listed = warren.get("/api/v1/workspaces").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "nothing was made");
}

// S30
#[tokio::test]
async fn arguments_that_do_not_fit_are_told_by_name() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await.to_string();
    let client = connect(&warren, "/mcp").await;
    let cases = [
        ("get_workspace", json!({}), "workspace_id"),
        ("get_workspace", json!({ "workspace_id": 7 }), "workspace_id"),
        ("list_workspaces", json!({ "colour": "red" }), "colour"),
        ("list_workspaces", json!({ "limit": 100_000 }), "limit"),
        ("create_workspace", json!({ "name": "x", "colour": "red" }), "colour"),
        ("exec", json!({ "workspace_id": id, "argv": "ls" }), "argv"),
    ];
    for (tool, arguments, named) in cases {
        let told = problem(&client, tool, arguments.clone()).await;
        assert!(told["status"].as_u64().unwrap() < 500, "{told}");
        assert!(told["detail"].as_str().unwrap_or_default().contains(named), "{tool} {arguments}: {told}");
    }
    let told = problem(&client, "get_workspace", json!({ "workspace_id": "../tokens" })).await;
    assert_eq!(told["code"], "workspace_not_found");
}
