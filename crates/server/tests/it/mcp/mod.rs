//! MCP: the official client against the real server, and raw requests where a client would be too polite.

mod access;
mod calls;
mod conformance;
mod files;
mod fixture;
mod peers;
mod platform;
mod workspace;

use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::{Answer, Warren};

pub(crate) type Client = RunningService<RoleClient, ClientConfig>;

/// Both ways to begin: the current revision's and the one before it.
fn beginnings() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [ClientLifecycleMode::Discover { preferred_versions }, ClientLifecycleMode::Initialize]
}

async fn connect_with(warren: &Warren, path: &str, token: &str, beginning: ClientLifecycleMode) -> Client {
    let config =
        StreamableHttpClientTransportConfig::with_uri(format!("{}{path}", warren.url)).auth_header(token);
    let transport = StreamableHttpClientTransport::from_config(config);
    ClientConfig::default().serve_with_lifecycle(transport, beginning).await.expect("the server lets us in")
}

pub(crate) async fn connect(warren: &Warren, path: &str) -> Client {
    let [current, _] = beginnings();
    connect_with(warren, path, &warren.token, current).await
}

pub(crate) fn of_workspace(id: WorkspaceId) -> String {
    format!("/mcp/workspaces/{id}")
}

fn params(name: &'static str, arguments: &Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap())
}

async fn call(client: &Client, name: &'static str, arguments: Value) -> CallToolResult {
    client.call_tool(params(name, &arguments)).await.expect("an answer, not a protocol error")
}

/// What a call answered, which must be no error.
pub(crate) async fn result(client: &Client, name: &'static str, arguments: Value) -> Value {
    let answer = call(client, name, arguments).await;
    assert_ne!(answer.is_error, Some(true), "{answer:?}");
    answer.structured_content.expect("structured content")
}

/// The problem that a call answered with.
async fn problem(client: &Client, name: &'static str, arguments: Value) -> Value {
    let answer = call(client, name, arguments).await;
    assert_eq!(answer.is_error, Some(true), "{answer:?}");
    answer.structured_content.expect("structured content")["error"].clone()
}

/// A request by hand, in the revision that needs the fewest headers.
fn message(method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    message["params"] = params;
    message
}

async fn post(warren: &Warren, path: &str, token: &str, message: &Value) -> Answer {
    let call = warren.call("POST", path).token(token).header("accept", "application/json, text/event-stream");
    call.json(message).send().await
}

async fn mint(warren: &Warren, body: Value) -> (String, String) {
    let made = warren.post("/api/v1/tokens", &body).await.json();
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    (text(&made["secret"]), text(&made["token"]["id"]))
}

async fn workspace_token(warren: &Warren, id: WorkspaceId) -> String {
    mint(warren, json!({ "kind": "workspace", "name": "agent", "workspace_id": id.to_string() })).await.0
}

async fn user_token(warren: &Warren, scopes: &[&str]) -> String {
    mint(warren, json!({ "kind": "user", "name": "somebody", "scopes": scopes })).await.0
}
