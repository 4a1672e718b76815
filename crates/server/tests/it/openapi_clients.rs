//! Programs that generate clients from our document, as judges: each makes a client that does what everybody does, with a
//! running Warren.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use warren_testkit::Warren;

use crate::local;

#[expect(clippy::disallowed_methods, reason = "the peers are started by the script that people use")]
async fn generated(generator: &'static str) -> Value {
    let warren = Warren::builder().start().await;
    // The document as it is served, and not as it was committed.
    let document = warren.folder().join("served.json");
    std::fs::write(&document, warren.call("GET", "/api/v1/openapi.json").send().await.body).unwrap();
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/peers.sh"));
    command.args(["openapi", "client", generator]).arg(&document).args([&warren.url, &warren.token]);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let ended = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let ended = ended.expect("scripts/peers.sh can be started");
    assert!(ended.status.success(), "{generator}: {:?}", ended.status);
    serde_json::from_slice(&ended.stdout)
        .unwrap_or_else(|error| panic!("{generator}: {error}: {}", String::from_utf8_lossy(&ended.stdout)))
}

fn seen(bytes: u32) -> Value {
    json!({
        "provider": "local",
        "written": bytes,
        "stdout": format!("{bytes} a/b.bin\n"),
        "read": true,
        "listed": ["a/b.bin"],
        "missing": "file_not_found",
        "removed": true,
    })
}

// S20
#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_openapi_python_client_makes_runs_writes_and_reads() {
    assert_eq!(generated("openapi-python-client").await, seen(23));
}

// S20
#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_openapi_generator_makes_runs_writes_and_reads() {
    assert_eq!(generated("openapi-generator").await, seen(23));
}

// S20
#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_openapi_typescript_makes_runs_writes_and_reads() {
    assert_eq!(generated("openapi-typescript").await, seen(9));
}

// S20
#[tokio::test]
async fn null_says_the_same_as_nothing_wherever_the_document_allows_it() {
    let warren = Warren::start().await;
    let provider = json!({ "kind": "local", "max_file_mb": null, "run": { "allow": null, "mode": null } });
    let body = json!({ "name": "nulls", "provider": provider, "template": null, "parent_id": null });
    let made = warren.post("/api/v1/workspaces", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    assert_eq!(made["provider"]["max_file_mb"], 10);

    let path = format!("/api/v1/workspaces/{}/approvals", made["id"].as_str().unwrap());
    let body = json!({ "action": "deploy", "reason": "it is time", "context": null, "task_id": null });
    let asked = warren.post(&path, &body).await;
    assert_eq!((asked.status, &asked.json()["context"]), (201, &json!({})), "{}", asked.text());

    let refused = warren.post("/api/v1/workspaces", &json!({ "name": "none", "provider": null })).await;
    // Nothing that isolates is here, and nothing else is chosen by itself.
    assert_eq!((refused.status, refused.code().as_str()), (503, "provider_unavailable"));
    let refused = warren.post("/api/v1/workspaces", &json!({ "name": "none", "provider": 7 })).await;
    assert_eq!(refused.json()["detail"], "provider: expected an object with a `kind`");
    let refused = warren.post("/api/v1/orgs/import", &json!({ "tree": null })).await;
    assert_eq!(refused.json()["detail"], "template: expected either `template` or `tree`");
}

// S20
#[tokio::test]
async fn an_integer_may_be_written_with_a_fraction_of_zero() {
    let warren = Warren::start().await;
    let body = json!({ "name": "whole", "provider": local(), "hibernate_after_seconds": 60.0 });
    let made = warren.post("/api/v1/workspaces", &body).await;
    assert_eq!((made.status, &made.json()["hibernate_after_seconds"]), (201, &json!(60)), "{}", made.text());
    let body = json!({ "name": "broken", "provider": local(), "hibernate_after_seconds": 60.5 });
    let refused = warren.post("/api/v1/workspaces", &body).await;
    assert_eq!(refused.code(), "invalid_request");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("hibernate_after_seconds: invalid type: floating point"), "{detail}");
}

// S21
#[tokio::test]
async fn an_empty_cursor_is_the_first_page() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let document: Value = serde_json::from_str(&warren_server::openapi_json()).unwrap();
    let mut lists = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let parameters = item["get"]["parameters"].as_array().cloned().unwrap_or_default();
        let has_cursor = parameters.iter().any(|one| one["name"] == "cursor");
        let path = path.replace("/workspaces/{id}", &format!("/workspaces/{id}"));
        if has_cursor && !path.contains('{') {
            let filter = if path.ends_with("search") { "q=x&" } else { "" };
            let answer = warren.get(&format!("{path}?{filter}cursor=")).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            lists += 1;
        }
    }
    assert!(lists >= 18, "{lists}");
}
