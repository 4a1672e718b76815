use serde_json::{Value, json};
use warren_model::Status;
use warren_testkit::Warren;

use crate::{local, memory};

async fn export(warren: &Warren, id: &str) -> Value {
    let answer = warren.get(&format!("/api/v1/workspaces/{id}/bundle")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

// F51: without secrets
#[tokio::test]
async fn no_secret_is_in_a_bundle() {
    use base64::Engine as _;
    let canary = "CANARY-7f3a91c2";
    let environment: warren_doors::Environment = [("CANARY", canary)].into_iter().collect();
    let warren = Warren::builder().environment(environment).start().await;
    let provider = json!({ "kind": "local", "pass_env": ["CANARY"], "run": { "allow": ["ls"] } });
    let body = json!({ "name": "x", "provider": provider, "runtime": "external" });
    let id = warren.create(&body).await.json()["id"].as_str().unwrap().to_owned();
    warren.wait_for_status(id.parse().unwrap(), Status::AwaitingAgent).await;
    let path = format!("/api/v1/workspaces/{id}");
    let mut secrets = vec![canary.to_owned(), warren.token.clone()];
    for kind in ["workspace", "join"] {
        let body = json!({ "kind": kind, "name": kind, "workspace_id": id });
        let made = warren.post("/api/v1/tokens", &body).await.json();
        secrets.push(made["secret"].as_str().unwrap().to_owned());
    }
    let card = json!({ "agent_card": { "note": canary } });
    let join = secrets.last().unwrap().clone();
    let runner = warren.call("POST", "/api/v1/registry/register").token(&join).json(&card).send().await;
    assert_eq!(runner.status, 200, "{}", runner.text());
    secrets.push(runner.json()["token"].as_str().unwrap().to_owned());
    let report = json!({ "sample_error": canary, "current_task": canary, "active_tasks": 1 });
    let heard = warren.call("POST", "/api/v1/registry/heartbeat").token(secrets.last().unwrap());
    let heard = heard.json(&report).send().await;
    assert_eq!(heard.status, 200, "{}", heard.text());
    assert_eq!(warren.put(&format!("{path}/files?path={canary}.txt"), canary).await.status, 201);
    let bundle = export(&warren, &id).await.to_string();
    assert!(bundle.contains("pass_env"), "the names of variables are part of it: {bundle}");
    for secret in secrets {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let base64 = base64::engine::general_purpose::STANDARD_NO_PAD.encode(&secret);
        for form in [&secret, &hex, &base64] {
            assert!(!bundle.contains(form.as_str()), "{form} is in {bundle}");
        }
    }
}

// F51: bad input
#[tokio::test]
async fn bad_bundles_are_refused_with_a_code_and_make_nothing() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await.to_string();
    let good = export(&warren, &id).await;
    let cases: &[(&str, Value, u16, &str, &str)] = &[
        ("version", json!(3), 422, "bundle_newer", "version 3"),
        ("version", json!(0), 422, "invalid_bundle", "version: "),
        ("format", json!("tar"), 422, "invalid_bundle", "format: "),
        ("root/name", json!(""), 422, "invalid_bundle", "root.name: "),
        ("root/spec/provider", json!({ "kind": "floppy" }), 422, "invalid_bundle", "floppy"),
        ("root/spec/desired", json!("removed"), 422, "invalid_bundle", "desired"),
        ("root", json!({}), 422, "invalid_bundle", "root"),
    ];
    for (pointer, value, status, code, detail) in cases {
        let mut bundle = good.clone();
        *bundle.pointer_mut(&format!("/{pointer}")).unwrap() = value.clone();
        let answer = warren.post("/api/v1/bundles", &json!({ "bundle": bundle })).await;
        assert_eq!((answer.status, answer.code().as_str()), (*status, *code), "{}", answer.text());
        let problem = answer.json();
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
        assert!(!problem["remedy"].as_str().unwrap().is_empty());
    }
    for body in
        [json!({}), json!({ "bundle": "x" }), json!({ "bundle": null }), json!({ "bundle": good, "id": 1 })]
    {
        let answer = warren.post("/api/v1/bundles", &body).await;
        assert!((400..500).contains(&answer.status), "{body}: {}", answer.text());
    }
    let long = json!({ "bundle": { "format": "x".repeat(35 << 20) } });
    let long = warren.post("/api/v1/bundles", &long).await;
    assert_eq!((long.status, long.code()), (413, "payload_too_large".into()));
    assert!(long.text().contains("limits.max_bundle_bytes"), "{}", long.text());
    let page = warren.get("/api/v1/workspaces").await.json();
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "nothing was made");
    // A limit that another Warren does not have, or a tier that the importer may not give, is that workspace's problem.
    let user = json!({ "kind": "user", "name": "u", "scopes": ["workspaces:read", "workspaces:write"] });
    let user = warren.post("/api/v1/tokens", &user).await.json()["secret"].as_str().unwrap().to_owned();
    let refused =
        warren.call("POST", "/api/v1/bundles").token(&user).json(&json!({ "bundle": good })).send().await;
    assert_eq!(refused.status, 207, "{}", refused.text());
    assert_eq!(refused.json()["nodes"][0]["problem"]["code"], "forbidden");
}

// F51: files, memory, schedules and rules about peers, over HTTP
#[tokio::test]
async fn a_bundle_carries_files_memory_and_schedules_to_another_warren() {
    let (from, to) = (Warren::start().await, Warren::start().await);
    let scheduled = json!({ "name": "lead", "provider": memory(), "runtime": "external" });
    let lead = from.create(&scheduled).await.json()["id"].as_str().unwrap().to_owned();
    let below = json!({ "name": "below", "provider": memory(), "parent_id": lead });
    let below = from.create(&below).await.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/workspaces/{lead}");
    // More than any other request may have.
    let text = "line\n".repeat(600_000);
    assert_eq!(from.put(&format!("{path}/files?path=long.txt"), text.clone()).await.status, 201);
    let put = async |path: String, body: Value| {
        let answer = from.call("PUT", &path).token(&from.token).json(&body).send().await;
        assert!(answer.status < 300, "{}", answer.text());
    };
    put(format!("{path}/memory/local/build"), json!({ "value": "make all" })).await;
    put(format!("{path}/peer-policy"), json!({ "circle": "nobody", "allow": [below], "deny": [] })).await;
    let weekly = json!({ "name": "weekly", "cron": "0 6 * * 1", "prompt": "Go.", "jitter_seconds": 5 });
    let made = from.post(&format!("{path}/schedules"), &weekly).await;
    assert_eq!(made.status, 201, "{}", made.text());

    let exported = from.get(&format!("{path}/bundle?files=true")).await;
    assert_eq!(exported.status, 200, "{}", exported.text());
    let bundle = exported.json();
    assert_eq!(bundle["version"], 2);
    let answer = to.post("/api/v1/bundles", &json!({ "bundle": bundle })).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let report = answer.json();
    let node = &report["nodes"][0];
    assert_eq!(node["files"], json!({ "written": 1, "bytes": text.len(), "failed": 0 }));
    let copy = format!("/api/v1/workspaces/{}", node["workspace_id"].as_str().unwrap());
    assert_eq!(to.get(&format!("{copy}/files?path=long.txt")).await.text(), text);
    assert_eq!(to.get(&format!("{copy}/memory/local/build")).await.json()["value"], "make all");
    let schedules = to.get(&format!("{copy}/schedules")).await.json();
    assert_eq!(schedules["items"][0]["name"], "weekly");
    assert_eq!(schedules["items"][0]["created_by"]["kind"], "user");
    let policy = to.get(&format!("{copy}/peer-policy")).await.json();
    assert_eq!(policy["allow"], json!([report["nodes"][1]["workspace_id"]]));
    let again = to.get(&format!("{copy}/bundle?files=true")).await.json();
    assert_eq!(again["root"], bundle["root"], "the round trip is exact");

    // A file that cannot be written is told, and the workspace is there.
    let mut clash = bundle.clone();
    clash["root"]["name"] = json!("clash");
    clash["root"]["children"] = json!([]);
    clash["root"]["files"] = json!({ "files": [
        { "path": "a", "text": "a" }, { "path": "a/b", "text": "b", "executable": true },
    ] });
    let answer = to.post("/api/v1/bundles", &json!({ "bundle": clash })).await;
    assert_eq!(answer.status, 207, "{}", answer.text());
    let node = &answer.json()["nodes"][0];
    assert!(node["workspace_id"].is_string(), "{node}");
    assert_eq!((&node["files"]["written"], &node["files"]["failed"]), (&json!(1), &json!(1)));
    let told = node["warnings"].as_array().unwrap();
    assert!(told.iter().any(|one| one.as_str().unwrap().contains("peers.allow: `below`")), "{node}");
}
