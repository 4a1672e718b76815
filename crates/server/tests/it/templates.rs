use serde_json::{Value, json};
use warren_testkit::{Answer, Warren};

use crate::memory;

const REVIEWER: &str = "
# What reads what others wrote.
name: reviewer
description: reads code
runtime: external
model: some/model
prompts: {system: You review code.}
capabilities: [fs]
provider: {kind: memory, max_file_mb: 3}
required_env: [GITHUB_TOKEN]
skills: [review]
schedules: [{name: morning, cron: '0 9 * * 1-5', prompt: What is new?}]
provision_timeout_seconds: 900
max_concurrent_tasks: 2
hibernate_after_seconds: 3600
role: reviewer
";

async fn put(warren: &Warren, name: &str, yaml: &str) -> Answer {
    let call = warren.call("PUT", &format!("/api/v1/templates/{name}")).token(&warren.token);
    call.header("content-type", "application/yaml").body(yaml.to_owned()).send().await
}

async fn store(warren: &Warren, templates: &[(&str, &str)]) {
    for (name, yaml) in templates {
        let answer = put(warren, name, yaml).await;
        assert_eq!(answer.status, 201, "{name}: {}", answer.text());
    }
}

async fn import(warren: &Warren, body: Value) -> Answer {
    warren.post("/api/v1/orgs/import", &body).await
}

async fn names(warren: &Warren) -> Vec<String> {
    let page = warren.get("/api/v1/workspaces").await.json();
    page["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

fn told(report: &Value) -> Vec<(String, Option<String>)> {
    let one = |node: &Value| {
        let code = node["problem"]["code"].as_str().map(str::to_owned);
        assert_eq!(node["workspace_id"].is_string(), code.is_none(), "an id or a problem: {node}");
        (node["path"].as_str().unwrap().to_owned(), code)
    };
    report["nodes"].as_array().unwrap().iter().map(one).collect()
}

// F50
#[tokio::test]
async fn a_template_is_stored_as_written_replaced_by_name_and_removed() {
    let warren = Warren::start().await;
    let first = put(&warren, "reviewer", REVIEWER).await;
    assert_eq!(first.status, 201, "{}", first.text());
    let shown = warren.get("/api/v1/templates/reviewer").await;
    assert_eq!(shown.json()["source"], REVIEWER, "comments are kept");
    assert_eq!(shown.json()["blueprint"]["provider"]["max_file_mb"], 3);
    let etag = shown.header("etag").unwrap().to_owned();
    let same = put(&warren, "reviewer", REVIEWER).await;
    assert_eq!((same.status, same.json()["updated_at"] == shown.json()["updated_at"]), (200, true));
    let changed = put(&warren, "reviewer", "{name: reviewer, provider: {kind: memory}}").await.json();
    assert_ne!(changed["hash"], shown.json()["hash"]);
    let stale =
        warren.call("PUT", "/api/v1/templates/reviewer").token(&warren.token).header("if-match", &etag);
    let stale = stale.json(&json!({ "provider": { "kind": "memory" } })).send().await;
    assert_eq!((stale.status, stale.code()), (412, "precondition_failed".into()));
    let json = warren.call("PUT", "/api/v1/templates/other").token(&warren.token);
    let json = json.json(&json!({ "template": "reviewer" })).send().await;
    assert_eq!(json.status, 201, "JSON is taken too: {}", json.text());
    let page = warren.get("/api/v1/templates?limit=1").await.json();
    assert_eq!((&page["items"][0]["name"], &page["next_cursor"]), (&json!("other"), &json!("other")));
    assert_eq!(page["items"][0]["uses"], json!(["reviewer"]));
    assert_eq!(warren.delete("/api/v1/templates/reviewer").await.status, 204);
    for path in ["/api/v1/templates/reviewer", "/api/v1/templates/NOT A NAME"] {
        assert_eq!(warren.get(path).await.code(), "template_not_found");
    }
    assert_eq!(warren.delete("/api/v1/templates/reviewer").await.code(), "template_not_found");
    let events = warren.call("GET", "/api/v1/events?after=0").token(&warren.token);
    let events = events.header("accept", "application/json").send().await.text();
    assert!(
        events.contains("fleet.template.stored") && events.contains("fleet.template.removed"),
        "{events}"
    );
}

const TEAM: &str = "
provider: {kind: memory}
children:
  - template: reviewer
    name: critic
  - name: scribe
    provider: {kind: memory}
    required_env: [PEN, INK]
";

// F50: 412 lists what is missing
#[tokio::test]
async fn an_import_with_missing_variables_lists_all_of_them_and_makes_nothing() {
    let warren = Warren::start().await;
    store(&warren, &[("reviewer", REVIEWER), ("team", TEAM)]).await;
    let refused = import(&warren, json!({ "template": "team", "provided_env": ["INK"] })).await;
    assert_eq!((refused.status, refused.code()), (412, "required_env_missing".into()));
    let missing = json!([
        { "path": "team/critic", "name": "GITHUB_TOKEN" },
        { "path": "team/scribe", "name": "PEN" },
    ]);
    let problem = refused.json();
    assert_eq!(problem["missing"], missing);
    assert!(problem["detail"].as_str().unwrap().contains("team/scribe: PEN"), "{problem}");
    let alone = warren.create(&json!({ "name": "x", "template": "reviewer" })).await;
    assert_eq!((alone.status, alone.code()), (412, "required_env_missing".into()));
    assert!(names(&warren).await.is_empty(), "nothing was made");
}

// F50: 207 reports each
#[tokio::test]
async fn what_cannot_be_made_is_reported_one_by_one_and_the_rest_is_made() {
    let warren = Warren::start().await;
    let tree = json!({ "name": "lead", "provider": memory(), "children": [
        { "name": "bad", "provider": memory(), "capabilities": ["shell"], "children": [
            { "name": "orphan", "provider": memory() },
        ] },
        { "name": "boxed", "provider": { "kind": "docker" } },
        { "name": "good", "provider": memory() },
    ] });
    let answer = import(&warren, json!({ "tree": tree })).await;
    assert_eq!(answer.status, 207, "{}", answer.text());
    let report = answer.json();
    assert_eq!((&report["created"], &report["failed"]), (&json!(2), &json!(3)));
    let expected = [
        ("lead", None),
        ("lead/bad", Some("capability_missing")),
        ("lead/bad/orphan", Some("parent_not_created")),
        ("lead/boxed", Some("provider_unavailable")),
        ("lead/good", None),
    ];
    assert_eq!(told(&report), expected.map(|(path, code)| (path.to_owned(), code.map(str::to_owned))));
    assert!(report["nodes"][1]["problem"]["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()));
    let mut made = names(&warren).await;
    made.sort();
    assert_eq!(made, ["good", "lead"]);
}

// F50: bad input
#[tokio::test]
async fn bad_templates_are_refused_with_a_code_and_the_place() {
    let warren = Warren::start().await;
    let deep = {
        let mut tree = json!({ "name": "x", "provider": memory() });
        for _ in 0..32 {
            tree = json!({ "name": "x", "provider": memory(), "children": [tree] });
        }
        tree
    };
    let crowd: Vec<_> = (0..501).map(|_| json!({ "name": "x", "provider": memory() })).collect();
    store(
        &warren,
        &[
            ("a", "{provider: {kind: memory}, children: [{template: b}]}"),
            ("placeless", "{role: x}"),
            ("tree", "{provider: {kind: memory}, children: [{name: x, provider: {kind: memory}}]}"),
        ],
    )
    .await;
    for (name, yaml, status, code, detail) in [
        ("x", "a: [1", 400, "invalid_yaml", "line"),
        ("x", "role: a\nrole: b\nprovider: {kind: memory}", 400, "invalid_yaml", "role"),
        ("x", "a: &a 1\nb: *a", 400, "invalid_yaml", ""),
        ("x", "{provider: {kind: memory}, colour: red}", 422, "invalid_template", "colour"),
        (
            "x",
            "{children: [{}, {provider: {kind: floppy}}]}",
            422,
            "invalid_template",
            "children[1].provider",
        ),
        ("x", "{name: y}", 422, "invalid_template", "name: "),
        ("X y", "{provider: {kind: memory}}", 422, "invalid_template", "name: "),
        ("b", "{provider: {kind: memory}, children: [{template: a}]}", 422, "template_cycle", "b → a → b"),
        ("self", "{template: self}", 422, "template_cycle", "self → self"),
    ] {
        let answer = put(&warren, name, yaml).await;
        assert_eq!((answer.status, answer.code()), (status, code.to_owned()), "{yaml}: {}", answer.text());
        let told = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(told.contains(detail), "{yaml}: {told}");
    }
    let text = warren.call("PUT", "/api/v1/templates/x").token(&warren.token);
    let text = text.header("content-type", "text/plain").body("x: 1").send().await;
    assert_eq!((text.status, text.code()), (415, "unsupported_media_type".into()));
    for megabytes in [2, 10] {
        let answer = put(&warren, "x", &format!("role: {}", "x".repeat(megabytes << 20))).await;
        assert_eq!((answer.status, answer.code()), (413, "payload_too_large".into()), "{megabytes} MB");
    }
    for (body, status, code, detail) in [
        (json!({}), 400, "invalid_request", "template"),
        (json!({ "template": "a", "tree": {} }), 400, "invalid_request", "either"),
        (json!({ "template": "None" }), 400, "invalid_request", "template: "),
        (json!({ "template": "none" }), 404, "template_not_found", "none"),
        (json!({ "template": "a" }), 404, "template_not_found", "b"),
        (json!({ "template": "placeless" }), 422, "invalid_template", "placeless: provider"),
        (json!({ "tree": { "provider": memory() } }), 422, "invalid_template", "name: "),
        (json!({ "tree": { "colour": 1 } }), 422, "invalid_template", "tree.colour"),
        (json!({ "tree": deep }), 422, "tree_too_large", "levels"),
        (
            json!({ "tree": { "name": "x", "provider": memory(), "children": crowd } }),
            422,
            "tree_too_large",
            "500",
        ),
        (
            json!({ "template": "tree", "provided_env": ["not ok"] }),
            400,
            "invalid_request",
            "provided_env[0]",
        ),
        (json!({ "template": "tree", "colour": 1 }), 400, "invalid_request", "colour"),
    ] {
        let answer = import(&warren, body.clone()).await;
        assert_eq!((answer.status, answer.code()), (status, code.to_owned()), "{}", answer.text());
        assert!(answer.json()["detail"].as_str().unwrap().contains(detail), "{}", answer.text());
    }
    let tree = warren.create(&json!({ "name": "x", "template": "tree" })).await;
    assert_eq!((tree.status, tree.code()), (400, "invalid_request".into()));
    let twice = r#"{"tree": {"name": "x", "provider": {"kind": "memory"}, "provider": {"kind": "local"}}}"#;
    let call = warren.call("POST", "/api/v1/orgs/import").token(&warren.token);
    let twice = call.header("content-type", "application/json").body(twice).send().await;
    assert_eq!(twice.status, 400, "a key that stands twice: {}", twice.text());
    assert!(names(&warren).await.is_empty(), "nothing was made");
}

// F9
#[tokio::test]
async fn a_position_is_each_principals_own() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}");
    assert!(warren.get(&path).await.json()["position"].is_null());
    let call = |token: &str, method: &str| warren.call(method, &format!("{path}/position")).token(token);
    let here = json!({ "x": 10.5, "y": -3.0 });
    let put = call(&warren.token, "PUT").json(&here).send().await;
    assert_eq!((put.status, &put.json()["position"]), (200, &here), "{}", put.text());
    let workspace = json!({ "kind": "workspace", "name": "w", "workspace_id": id.to_string() });
    let agent = warren.post("/api/v1/tokens", &workspace).await.json()["secret"].as_str().unwrap().to_owned();
    let seen = warren.call("GET", &path).token(&agent).send().await.json();
    assert!(seen["position"].is_null(), "another principal has its own map: {seen}");
    let there = json!({ "x": 0.0, "y": 1.0 });
    assert_eq!(call(&agent, "PUT").json(&there).send().await.json()["position"], there);
    assert_eq!(warren.get("/api/v1/workspaces").await.json()["items"][0]["position"], here);
    assert_eq!(warren.patch(&path, &json!({ "name": "n" })).await.json()["position"], here);
    for bad in [
        json!({ "x": 1.0 }),
        json!({ "x": 1e9, "y": 0.0 }),
        json!({ "x": "a", "y": 0.0 }),
        json!({ "x": 0.0, "y": 0.0, "z": 0.0 }),
    ] {
        let refused = call(&warren.token, "PUT").json(&bad).send().await;
        assert_eq!((refused.status, refused.code()), (400, "invalid_request".into()), "{bad}");
    }
    assert!(call(&warren.token, "DELETE").send().await.json()["position"].is_null());
}

// F9
#[tokio::test]
async fn a_team_is_made_below_a_workspace_and_bad_requests_for_one_are_refused() {
    let warren = Warren::start().await;
    let root = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{root}");
    let children = json!([{ "name": "a", "provider": memory() }, { "name": "b", "provider": memory() }]);
    let expanded = warren.post(&format!("{path}/expand"), &json!({ "children": children })).await;
    assert_eq!(expanded.status, 201, "{}", expanded.text());
    for body in [
        json!({}),
        json!({ "children": [] }),
        json!({ "children": {} }),
        json!({ "template": "x", "children": [] }),
    ] {
        assert_eq!(warren.post(&format!("{path}/expand"), &body).await.code(), "invalid_request", "{body}");
    }
    let collapsed = warren.post(&format!("{path}/collapse"), &json!({})).await;
    assert_eq!(collapsed.status, 200, "{}", collapsed.text());
    assert_eq!(collapsed.json()["removal"], json!({ "marked": 2, "finished": 2, "failed": 0, "pending": 0 }));
}
