use serde_json::{Value, json};
use warren_model::Status;
use warren_testkit::Warren;

use crate::{local, memory};

/// A bundle with what may differ taken out: ids and times.
fn content(bundle: &Value) -> Value {
    let mut content = bundle.clone();
    content["origin"] = Value::Null;
    content
}

async fn export(warren: &Warren, id: &str) -> Value {
    let answer = warren.get(&format!("/api/v1/workspaces/{id}/bundle")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// A tree in which every field of a spec says something, one of it at rest.
async fn planted(warren: &Warren) -> String {
    let put = warren.call("PUT", "/api/v1/templates/member").token(&warren.token);
    let member = json!({ "provider": memory(), "prompts": { "system": "Hello." }, "required_env": ["KEY"] });
    assert_eq!(put.json(&member).send().await.status, 201);
    let tree = json!({
        "name": "lead", "provider": { "kind": "local", "run": { "allow": ["ls"] } }, "role": "boss",
        "runtime": "external", "capabilities": ["fs"], "tier": "privileged", "model": "m", "skills": ["s"],
        "schedules": [{ "name": "pulse", "every_seconds": 50, "prompt": "Go on." }],
        "provision_timeout_seconds": 77, "hibernate_after_seconds": 88, "max_concurrent_tasks": 9,
        "children": [
            { "template": "member", "name": "z" },
            { "template": "member", "name": "a", "children": [{ "name": "deep", "provider": memory() }] },
            { "template": "member", "name": "m" },
        ],
    });
    let made = warren.post("/api/v1/orgs/import", &json!({ "tree": tree, "provided_env": ["KEY"] })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let nodes = made.json()["nodes"].clone();
    let id_of = |at: usize| nodes[at]["workspace_id"].as_str().unwrap().to_owned();
    let paused = warren.post(&format!("/api/v1/workspaces/{}/pause", id_of(2)), &json!({})).await;
    assert_eq!(paused.status, 200, "{}", paused.text());
    let asleep = warren.post(&format!("/api/v1/workspaces/{}/hibernate", id_of(4)), &json!({})).await;
    assert_eq!(asleep.status, 200, "{}", asleep.text());
    id_of(0)
}

// F51
#[tokio::test]
async fn a_tree_comes_back_exactly_under_new_ids() {
    let warren = Warren::start().await;
    let root = planted(&warren).await;
    let mut first = export(&warren, &root).await;
    // What other parts of Warren keep in a spec travels too.
    first["root"]["spec"]["monthly_budget_micros"] = json!(5_000_000);
    assert_eq!((&first["format"], &first["version"]), (&json!("warren-bundle"), &json!(1)));
    let order: Vec<_> =
        first["root"]["children"].as_array().unwrap().iter().map(|child| &child["name"]).collect();
    assert_eq!(order, ["z", "a", "m"], "brothers and sisters keep their order");
    let missing = warren.post("/api/v1/bundles", &json!({ "bundle": first })).await;
    assert_eq!((missing.status, missing.code()), (412, "required_env_missing".into()));

    // Into another Warren, that knows none of the templates.
    let other = Warren::start().await;
    let imported = other.post("/api/v1/bundles", &json!({ "bundle": first, "provided_env": ["KEY"] })).await;
    assert_eq!(imported.status, 201, "{}", imported.text());
    let nodes = imported.json()["nodes"].clone();
    let id = nodes[0]["workspace_id"].as_str().unwrap().to_owned();
    assert_ne!(id, root, "the id is new");
    let second = export(&other, &id).await;
    assert_eq!(content(&second), content(&first));
    assert_ne!(second["origin"]["workspace_id"], first["origin"]["workspace_id"]);

    // Once more, from the copy; and what rested rests from its first moment.
    let third =
        other.post("/api/v1/bundles", &json!({ "bundle": second, "provided_env": ["KEY"] })).await.json();
    let id_of = |at: usize| third["nodes"][at]["workspace_id"].as_str().unwrap().to_owned();
    assert_eq!(content(&export(&other, &id_of(0)).await), content(&first));
    other.wait_for_status(id_of(2).parse().unwrap(), Status::Paused).await;
    other.wait_for_status(id_of(3).parse().unwrap(), Status::Paused).await;
    other.wait_for_status(id_of(4).parse().unwrap(), Status::Hibernated).await;
}

// F51
#[tokio::test]
async fn a_workspace_alone_is_exported_without_those_below_it() {
    let warren = Warren::start().await;
    let root = planted(&warren).await;
    let alone = warren.get(&format!("/api/v1/workspaces/{root}/bundle?tree=false")).await.json();
    assert!(alone["root"]["children"].is_null(), "{alone}");
    let whole = export(&warren, &root).await;
    assert_eq!(alone["root"]["spec"], whole["root"]["spec"]);
    warren.delete(&format!("/api/v1/workspaces/{root}")).await;
    let gone = warren.get(&format!("/api/v1/workspaces/{root}/bundle")).await;
    assert_eq!((gone.status, gone.code()), (404, "workspace_not_found".into()));
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
    let id = warren.post("/api/v1/workspaces", &body).await.json()["id"].as_str().unwrap().to_owned();
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
        ("version", json!(2), 422, "bundle_newer", "version 2"),
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
    let long = json!({ "bundle": { "format": "x".repeat(10 << 20) } });
    let long = warren.post("/api/v1/bundles", &long).await;
    assert_eq!((long.status, long.code()), (413, "payload_too_large".into()));
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
