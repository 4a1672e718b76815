//! Who gets in, from where, and with how much.

use serde_json::{Value, json};
use warren_model::Limits;
use warren_testkit::Warren;

use super::{message, mint, of_workspace, post, user_token, workspace_token};
use crate::{local, memory};

fn write() -> Value {
    let arguments = json!({ "path": "a.txt", "content": "x" });
    message("tools/call", json!({ "name": "workspace_write_file", "arguments": arguments }))
}

fn list() -> Value {
    message("tools/list", json!({}))
}

// S30, F30, sec/U01
#[tokio::test]
async fn without_a_good_token_nobody_gets_in() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let (revoked, token_id) = mint(&warren, json!({ "kind": "admin", "name": "r" })).await;
    for path in ["/mcp".to_owned(), of_workspace(id)] {
        assert_eq!(
            post(&warren, &path, &revoked, &list()).await.status,
            200,
            "it is good until it is revoked"
        );
    }
    warren.delete(&format!("/api/v1/tokens/{token_id}")).await;
    for path in ["/mcp".to_owned(), of_workspace(id)] {
        for credential in [None, Some("garbage"), Some(revoked.as_str())] {
            let call = warren.call("POST", &path).header("accept", "application/json, text/event-stream");
            let call = match credential {
                Some(secret) => call.token(secret),
                None => call,
            };
            let answer = call.json(&write()).send().await;
            assert_eq!(answer.status, 401, "{path} with {credential:?}: {}", answer.text());
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    let listing = warren.get(&format!("/api/v1/workspaces/{id}/files")).await.json();
    assert_eq!(listing["entries"], json!([]), "and nothing happened");
}

// S30, F30: route × credential, as over HTTP
#[tokio::test]
async fn a_token_reaches_by_mcp_what_it_reaches_by_http() {
    let warren = Warren::start().await;
    let (own, other) = (warren.workspace(memory()).await, warren.workspace(memory()).await);
    let agent = workspace_token(&warren, own).await;
    let reader = user_token(&warren, &["workspaces:read"]).await;
    let worker = user_token(&warren, &["workspaces:read", "workspaces:use"]).await;
    let events = user_token(&warren, &["events:read"]).await;
    for (name, token, id) in [
        ("agent, own", &agent, own),
        ("agent, other", &agent, other),
        ("reader", &reader, own),
        ("worker", &worker, own),
        ("events", &events, own),
    ] {
        let base = format!("/api/v1/workspaces/{id}/tools");
        let catalog = warren.call("GET", &base).token(token).send().await;
        let listed = post(&warren, &of_workspace(id), token, &list()).await;
        assert_eq!(listed.status, catalog.status, "{name}: {}", listed.text());
        if catalog.status != 200 {
            assert_eq!(listed.code(), catalog.code(), "{name}");
            continue;
        }
        let body = json!({ "path": "a.txt", "content": "x" });
        let over_http = warren
            .call("POST", &format!("{base}/workspace_write_file"))
            .token(token)
            .json(&body)
            .send()
            .await;
        let over_mcp = post(&warren, &of_workspace(id), token, &write()).await.json();
        let told = &over_mcp["result"]["structuredContent"];
        if over_http.status == 200 {
            assert_eq!(told["bytes"], over_http.json()["result"]["bytes"], "{name}");
        } else {
            assert_eq!(told["error"]["code"], over_http.code(), "{name}");
        }
    }
    let denied = post(&warren, &of_workspace(own), &reader, &write()).await.json();
    assert_eq!(denied["result"]["structuredContent"]["error"]["code"], "forbidden", "{denied}");
}

// S30, sec/W01: DNS rebinding, and pages of other sites
#[tokio::test]
async fn strange_hosts_and_origins_are_refused() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    for path in ["/mcp".to_owned(), of_workspace(id)] {
        for (name, value, code) in [
            ("host", "evil.example", "host_not_allowed"),
            ("host", "127.0.0.1.evil.example", "host_not_allowed"),
            ("origin", "https://evil.example", "origin_not_allowed"),
            ("origin", "null", "origin_not_allowed"),
            ("sec-fetch-site", "cross-site", "origin_not_allowed"),
        ] {
            let call = warren.call("POST", &path).token(&warren.token).header(name, value);
            let call = call.header("accept", "application/json, text/event-stream");
            let answer = call.json(&list()).send().await;
            assert_eq!((answer.status, answer.code().as_str()), (403, code), "{path} {name}: {value}");
        }
        let origin = warren.url.clone();
        let call = warren.call("POST", &path).token(&warren.token).header("origin", &origin);
        let call = call.header("accept", "application/json, text/event-stream");
        assert_eq!(call.json(&list()).send().await.status, 200, "its own origin is fine");
    }
}

// S30, sec/W02: a browser's cookie alone calls no tool
#[tokio::test]
async fn a_cookie_without_the_header_of_the_page_is_refused() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let link = warren.post("/api/v1/sign-in/links", &json!({})).await.json();
    let secret = link["path"].as_str().unwrap_or_default().rsplit('=').next().unwrap_or_default();
    let call = warren.call("POST", "/api/v1/sign-in").json(&json!({ "secret": secret }));
    let signed_in = call.send().await;
    let cookie = signed_in.header("set-cookie").unwrap_or_else(|| panic!("{link} {}", signed_in.text()));
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let call = warren.call("POST", &of_workspace(id)).header("cookie", &cookie);
    let call = call.header("accept", "application/json, text/event-stream");
    let answer = call.json(&write()).send().await;
    assert_eq!((answer.status, answer.code()), (403, "csrf_failed".into()));
}

// S30, F36, sec/W05
#[tokio::test]
async fn the_limits_of_the_api_hold_here_too() {
    let limits = Limits { max_body_bytes: 10_000, max_requests_per_minute: 20, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let id = warren.workspace(memory()).await;
    let path = of_workspace(id);
    let long = message("tools/list", json!({ "padding": "x".repeat(20_000) }));
    let answer = post(&warren, &path, &warren.token, &long).await;
    assert_eq!((answer.status, answer.code()), (413, "payload_too_large".into()));
    let agent = workspace_token(&warren, id).await;
    let mut statuses = Vec::new();
    for _ in 0..30 {
        statuses.push(post(&warren, &path, &agent, &list()).await.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 20, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
}

// S30: what is no MCP request is told so, and costs nothing
#[tokio::test]
async fn requests_that_are_none_are_refused() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let path = of_workspace(id);
    for method in ["GET", "DELETE", "PUT"] {
        let answer = warren.call(method, &path).token(&warren.token).send().await;
        assert_eq!((answer.status, answer.code()), (405, "method_not_allowed".into()), "{method}");
    }
    let send = async |body: &str, accept: &str, media_type: &str| {
        let call = warren.call("POST", &path).token(&warren.token).header("accept", accept);
        call.header("content-type", media_type).body(body.to_owned()).send().await.status
    };
    let (both, json_type) = ("application/json, text/event-stream", "application/json");
    let fine = list().to_string();
    assert_eq!(send(&fine, both, json_type).await, 200);
    assert_eq!(send(&fine, "application/json", json_type).await, 406);
    assert_eq!(send(&fine, both, "text/plain").await, 415);
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for body in ["", "{", "[]", "7", "{\"jsonrpc\":\"2.0\"}", &deep, &format!("[{fine},{fine}]")] {
        let status = send(body, both, json_type).await;
        assert!((400..500).contains(&status), "{status} for {body:.60}");
    }
    let unknown = post(&warren, &path, &warren.token, &message("tools/fly", json!({}))).await.json();
    assert_eq!(unknown["error"]["code"], -32_601, "{unknown}");
    let old = warren.call("POST", &path).token(&warren.token).header("mcp-protocol-version", "1999-01-01");
    assert_eq!(old.header("accept", both).json(&list()).send().await.status, 400);
    let missing = "/mcp/workspaces/not-an-id";
    assert_eq!(post(&warren, missing, &warren.token, &list()).await.code(), "workspace_not_found");
    assert_eq!(warren.get("/mcp/somewhere").await.code(), "route_not_found");
}
