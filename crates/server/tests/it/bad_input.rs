use serde_json::{Value, json};
use warren_testkit::Warren;

use crate::{local, memory};

// S20: unknown fields, wrong types, values out of range; the field is named and nothing is made
#[tokio::test]
async fn bad_bodies_are_refused_with_the_field_that_is_wrong() {
    let warren = Warren::start().await;
    let cases: &[(Value, &str, &str)] = &[
        (json!({}), "invalid_request", "missing field `name`"),
        (json!({ "name": "x" }), "provider_unavailable", "no provider was named"),
        (json!({ "name": 7, "provider": memory() }), "invalid_request", "name: "),
        (json!({ "name": "", "provider": memory() }), "invalid_request", "name: "),
        (json!({ "name": " x", "provider": memory() }), "invalid_request", "name: "),
        (json!({ "name": "x".repeat(101), "provider": memory() }), "invalid_request", "name: "),
        (json!({ "name": "x", "provider": memory(), "colour": 1 }), "invalid_request", "colour"),
        (json!({ "name": "x", "provider": "memory" }), "invalid_config", "provider: expected an object"),
        (
            json!({ "name": "x", "provider": { "kind": "floppy" } }),
            "invalid_config",
            "unknown provider `floppy`",
        ),
        (
            json!({ "name": "x", "provider": { "kind": "local", "pass_env": 1 } }),
            "invalid_config",
            "pass_env",
        ),
        (
            json!({ "name": "x", "provider": memory(), "capabilities": ["fly"] }),
            "invalid_request",
            "capabilities[0]",
        ),
        (
            json!({ "name": "x", "provider": memory(), "capabilities": ["shell"] }),
            "capability_missing",
            "shell",
        ),
        (json!({ "name": "x", "provider": memory(), "parent_id": "me" }), "invalid_request", "parent_id"),
        (json!({ "name": "x", "provider": memory(), "runtime": "magic" }), "invalid_request", "runtime"),
        (
            json!({ "name": "x", "provider": { "kind": "local", "pass_env": ["WARREN_TOKEN"] } }),
            "invalid_config",
            "pass_env[0]",
        ),
        (
            json!({ "name": "x", "provider": { "kind": "local", "share": { "id": "../x", "share_across_sessions": true } } }),
            "invalid_config",
            "share.id",
        ),
        (
            json!({ "name": "x", "provider": { "kind": "memory", "max_total_mb": 4_000_000 } }),
            "invalid_config",
            "max_total_mb",
        ),
        (
            json!({ "name": "x", "provider": { "kind": "local", "share": { "id": "team" } } }),
            "sharing_refused",
            "share_across_sessions",
        ),
    ];
    for (body, code, detail) in cases {
        let answer = warren.create(body).await;
        assert_eq!(answer.code(), *code, "{body} gave {}", answer.text());
        let problem = answer.json();
        assert!(
            problem["detail"].as_str().is_some_and(|text| text.contains(detail)),
            "{body} gave {problem}"
        );
        assert!(problem["remedy"].as_str().is_some_and(|text| !text.is_empty()));
    }
    assert_eq!(warren.get("/api/v1/workspaces").await.json()["items"], json!([]));
}

// S20, W1: which of the two would be meant?
#[tokio::test]
async fn a_key_that_comes_twice_in_a_providers_config_is_refused() {
    let warren = Warren::start().await;
    for provider in [
        r#"{"kind":"memory","kind":"local"}"#,
        r#"{"kind":"local","run":{"allow":["ls"],"allow":["sh"]}}"#,
        r#"{"kind":"local","max_file_mb":1,"max_file_mb":1}"#,
    ] {
        let body = format!(r#"{{"name":"x","provider":{provider}}}"#);
        let call = warren.call("POST", "/api/v1/workspaces").token(&warren.token);
        let answer = call.header("content-type", "application/json").body(body).send().await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request".into()), "{provider}");
        assert!(answer.json()["detail"].as_str().unwrap().contains("duplicate field"), "{}", answer.text());
        assert!(answer.json()["detail"].as_str().unwrap().starts_with("provider"), "{}", answer.text());
    }
    assert_eq!(warren.get("/api/v1/workspaces").await.json()["items"], json!([]));
}

// S20
#[tokio::test]
async fn a_problem_document_is_whole() {
    let warren = Warren::start().await;
    let answer = warren.get("/api/v1/workspaces/01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e").await;
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let problem = answer.json();
    assert_eq!(Some(problem["request_id"].as_str().unwrap()), answer.header("x-request-id"));
    insta::assert_json_snapshot!(problem, { ".request_id" => "[id]" }, @r#"
    {
      "code": "workspace_not_found",
      "remedy": "List workspaces with `warren ws ls`.",
      "request_id": "[id]",
      "status": 404,
      "title": "There is no such workspace.",
      "type": "/reference/errors#workspace_not_found"
    }
    "#);
    let reference = warren.call("GET", "/reference/errors").send().await;
    assert!(reference.text().contains("id=workspace_not_found"), "the type leads somewhere");
}

// S22, sec/W02, sec/W06
#[tokio::test]
async fn bodies_are_limited_in_form_depth_and_size() {
    let warren = Warren::start().await;
    let post = |content_type: &str, body: Vec<u8>| {
        let call = warren.call("POST", "/api/v1/workspaces").token(&warren.token);
        call.header("content-type", content_type).body(body)
    };
    let valid = json!({ "name": "x", "provider": memory() }).to_string();
    for form in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let answer = post(form, valid.clone().into_bytes()).send().await;
        assert_eq!((answer.status, answer.code()), (415, "unsupported_media_type".into()), "{form}");
    }
    let no_type = warren.call("POST", "/api/v1/workspaces").token(&warren.token).body(valid.clone());
    assert_eq!(no_type.send().await.status, 415);
    let trailing = format!("{valid} {{}}");
    for broken in ["{", "", &trailing, "nul", "\u{feff}{}"] {
        let answer = post("application/json", broken.into()).send().await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_json".into()), "{broken:?}");
    }
    let deep = format!(r#"{{"name":"x","provider":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(post("application/json", deep.into_bytes()).send().await.code(), "invalid_json");
    let limit = 2 * 1_024 * 1_024;
    let padded = |size: usize| format!("{valid}{}", " ".repeat(size - valid.len())).into_bytes();
    assert_eq!(post("application/json", padded(limit)).send().await.status, 201, "exactly the limit");
    let answer = post("application/json", padded(limit + 1)).send().await;
    assert_eq!((answer.status, answer.code()), (413, "payload_too_large".into()));
    let answer = post("application/json", padded(2 * limit)).send().await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.header("connection"), Some("close"), "the rest of the request was not read");
}

// sec/F07, F30: ids of others and things that are not ids
#[tokio::test]
async fn what_is_not_an_id_is_not_found() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await.to_string();
    let upper = id.to_uppercase();
    let longer = format!("{id}a");
    for text in ["x", "..", "%2e%2e", "%00", "a%2Fb", &upper, &longer, &id[..35]] {
        let answer = warren.get(&format!("/api/v1/workspaces/{text}")).await;
        assert_eq!(answer.status, 404, "{text}: {}", answer.text());
    }
    for (path, code) in [
        ("workspaces", "workspace_not_found"),
        ("tool-rules", "tool_rule_not_found"),
        ("approvals", "approval_not_found"),
        ("webhooks", "webhook_not_found"),
    ] {
        assert_eq!(warren.get(&format!("/api/v1/{path}/x")).await.code(), code);
    }
}

// S20
#[tokio::test]
async fn unknown_routes_methods_and_parameters_are_told() {
    let warren = Warren::start().await;
    assert_eq!(warren.get("/api/v1/nothing").await.code(), "route_not_found");
    let wrong = warren.call("PUT", "/api/v1/workspaces").token(&warren.token).send().await;
    assert_eq!((wrong.status, wrong.code()), (405, "method_not_allowed".into()));
    assert!(wrong.header("allow").is_some_and(|allow| allow.contains("POST")), "{:?}", wrong.headers);
    for query in ["limit=0", "limit=501", "limit=many", "colour=red", "status=happy", "parent_id=x"] {
        let answer = warren.get(&format!("/api/v1/workspaces?{query}")).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request".into()), "{query}");
    }
    assert_eq!(warren.get("/api/v1/workspaces?cursor=banana").await.code(), "invalid_cursor");
}

// sec/F11: names that are not UTF-8 are refused, not made alike
#[tokio::test]
async fn a_query_that_is_not_utf8_is_refused() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    for name in ["%ff", "%fe", "%c0%ae", "a%80b"] {
        let answer = warren.put(&format!("/api/v1/workspaces/{id}/files?path={name}"), "x").await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request".into()), "{name}");
    }
    let listing = warren.get(&format!("/api/v1/workspaces/{id}/files")).await.json();
    assert_eq!(listing["entries"], json!([]));
}

// W22, O2 incident 3
#[tokio::test]
async fn a_file_over_the_limit_is_refused_while_it_streams_and_the_old_one_stays() {
    let warren = Warren::start().await;
    let provider = json!({ "kind": "local", "max_file_mb": 1 });
    let id = warren.workspace(provider).await;
    let path = format!("/api/v1/workspaces/{id}/files?path=big.bin");
    assert_eq!(warren.put(&path, "small").await.status, 201);
    let answer = warren.put(&path, vec![7; 1_024 * 1_024 + 1]).await;
    assert_eq!((answer.status, answer.code()), (413, "file_too_large".into()));
    assert_eq!(warren.get(&path).await.text(), "small");
    let listing = warren.get(&format!("/api/v1/workspaces/{id}/files")).await.json();
    assert_eq!(listing["entries"].as_array().unwrap().len(), 1, "no half-made file: {listing}");
}

// W21, sec/F01
#[tokio::test]
async fn no_spelling_of_a_path_leads_out_of_the_workspace() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    std::fs::write(warren.folder().join("outside.txt"), "secret").unwrap();
    std::fs::write(warren.folder().join("workspaces").join("outside.txt"), "secret").unwrap();
    let spellings = [
        "../outside.txt",
        "..%2foutside.txt",
        "%2e%2e/outside.txt",
        "%2e%2e%2foutside.txt",
        "/../outside.txt",
        "a/../../outside.txt",
        "a/../../../outside.txt",
        "./../outside.txt",
        "..//outside.txt",
        "%252e%252e/outside.txt",
        "..%255coutside.txt",
        "..%5coutside.txt",
        "....//outside.txt",
        "%c0%ae%c0%ae/outside.txt",
        "~/outside.txt",
        "file:///etc/passwd",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "outside.txt%00.png",
        "%00",
        "..",
    ];
    for spelling in spellings {
        for method in ["GET", "PUT", "DELETE"] {
            let call = warren.call(method, &format!("/api/v1/workspaces/{id}/files?path={spelling}"));
            let answer = call.token(&warren.token).body("overwritten").send().await;
            assert!(!answer.text().contains("secret"), "{method} {spelling}");
            assert!(answer.status < 500, "{method} {spelling}: {}", answer.text());
        }
    }
    for place in ["outside.txt", "workspaces/outside.txt"] {
        assert_eq!(std::fs::read_to_string(warren.folder().join(place)).unwrap(), "secret");
    }
}

// F1, and the issue's bad input: an unknown status
#[tokio::test]
async fn a_filter_by_an_unknown_status_is_refused_and_names_the_field() {
    let warren = Warren::start().await;
    for status in ["sleeping", "Online", "", "online%20", "removed,online"] {
        let refused = warren.get(&format!("/api/v1/workspaces?status={status}")).await;
        assert_eq!((refused.status, refused.code()), (400, "invalid_request".into()), "{status}");
        assert!(refused.text().contains("status"), "{}", refused.text());
    }
    for status in warren_model::Status::ALL {
        assert_eq!(warren.get(&format!("/api/v1/workspaces?status={status}")).await.status, 200, "{status}");
    }
}

// F11, F13: numbers that are none
#[tokio::test]
async fn what_a_report_says_wrong_is_left_out_and_told_and_the_rest_counts() {
    let warren = Warren::start().await;
    let (id, runtime) = crate::fleet::reporting(&warren).await;
    let vitals = async || {
        let mut vitals = crate::fleet::show(&warren, id).await["vitals"].clone();
        vitals.as_object_mut().unwrap().remove("last_heartbeat_at");
        vitals
    };
    let before = vitals().await;
    // What is no report at all says nothing.
    for text in [
        r#"{"uptime_s": 5, "error_rate": 1e999}"#,
        r#"{"uptime_s": 5, "error_rate": NaN}"#,
        r#"{"uptime_s": 5, "error_rate": Infinity}"#,
        r#"{"uptime_s": 5"#,
        "[]",
        "[0.5]",
        r#""wedged""#,
        "null",
    ] {
        let call = warren.call("POST", "/api/v1/registry/heartbeat").token(&runtime);
        let refused = call.header("content-type", "application/json").body(text).send().await;
        assert_eq!(refused.status, 400, "{text}: {}", refused.text());
        assert_eq!(vitals().await, before, "nothing of it was taken: {text}");
    }
    // A newer or sloppy runtime is alive: what it says wrong is left out, and told.
    for text in [
        r#"{"uptime_s": 5, "error_rate": -0.1}"#,
        r#"{"uptime_s": 5, "error_rate": 1.1}"#,
        r#"{"uptime_s": 5, "error_rate": "NaN"}"#,
        r#"{"uptime_s": 5, "active_tasks": 100001}"#,
        r#"{"uptime_s": 5, "active_tasks": 1.5}"#,
        r#"{"uptime_s": 5, "last_progress_at": "yesterday"}"#,
        r#"{"uptime_s": 5, "runtime_metadata": {"idle_timeout_seconds": -1}}"#,
        r#"{"uptime_s": 5, "runtime_metadata": {"idle_timeout_seconds": 99999999}}"#,
        r#"{"uptime_s": 5, "runtime_metadata": {"capabilities": {"everything": true}}}"#,
        r#"{"uptime_s": 5, "no_such_field": 1}"#,
    ] {
        let call = warren.call("POST", "/api/v1/registry/heartbeat").token(&runtime);
        let taken = call.header("content-type", "application/json").body(text).send().await;
        assert_eq!(taken.status, 200, "{text}: {}", taken.text());
        assert_eq!(taken.json()["warnings"].as_array().unwrap().len(), 1, "{text}: {}", taken.text());
        let now = vitals().await;
        assert_eq!(now["uptime_s"], 5, "the rest counts: {text}");
        for field in ["error_rate", "active_tasks", "idle_timeout_seconds"] {
            assert_eq!(now[field], before[field], "{text}");
        }
    }
    let longest = json!({ "sample_error": "é".repeat(100_000), "current_task": "x\u{0}y", "runtime_state": "z".repeat(10_000) });
    let taken = crate::fleet::try_beat(&warren, &runtime, &longest).await;
    assert_eq!(taken.status, 200, "long words are cut, not refused: {}", taken.text());
    let kept = vitals().await;
    assert!(kept.to_string().len() < 10_000, "{}", kept.to_string().len());
}

// F9: cycles, and how deep a tree may be
#[tokio::test]
async fn a_tree_has_no_cycles_and_an_end() {
    let warren = Warren::start().await;
    let mut chain = vec![warren.workspace(memory()).await];
    for _ in 0..4 {
        let body =
            json!({ "name": "next", "provider": memory(), "parent_id": chain.last().unwrap().to_string() });
        chain.push(crate::fleet::create(&warren, &body).await);
    }
    for (child, parent) in [(0, 0), (0, 1), (0, 4), (2, 3), (3, 3)] {
        let path = format!("/api/v1/workspaces/{}", chain[child]);
        let refused = warren.patch(&path, &json!({ "parent_id": chain[parent].to_string() })).await;
        assert_eq!((refused.status, refused.code()), (422, "parent_cycle".into()), "{child} below {parent}");
    }
    let mut last = *chain.last().unwrap();
    let mut depth = chain.len();
    loop {
        let body = json!({ "name": "deep", "provider": memory(), "parent_id": last.to_string() });
        let answer = warren.create(&body).await;
        if answer.status != 201 {
            assert_eq!((answer.status, answer.code()), (400, "invalid_request".into()), "{}", answer.text());
            break;
        }
        last = answer.json()["id"].as_str().unwrap().parse().unwrap();
        depth += 1;
        assert!(depth < 200, "a tree without end");
    }
    // What is deep itself is not moved below something deep either.
    let low = format!("/api/v1/workspaces/{}", chain[0]);
    let above = warren.workspace(memory()).await;
    let refused = warren.patch(&low, &json!({ "parent_id": above.to_string() })).await;
    assert_eq!((refused.status, refused.code()), (400, "invalid_request".into()), "{}", refused.text());
}

// F9: a parent in another org
#[tokio::test]
async fn a_parent_in_another_org_or_removed_or_unknown_is_not_found() {
    let warren = Warren::start().await;
    let own = warren.workspace(memory()).await;
    let removed = warren.workspace(memory()).await;
    warren.delete(&format!("/api/v1/workspaces/{removed}")).await;
    let elsewhere = warren.workspace(memory()).await;
    let org_id = warren_model::OrgId::from_parts(warren_model::Timestamp::from_micros(1_000), [9; 10]);
    // An org is not changed by any route.
    let foreign: warren_model::WorkspaceId = {
        let row: Result<_, warren_store::Error> = warren.store.read(move |tx| tx.workspace(elsewhere)).await;
        let mut row = row.unwrap().unwrap();
        row.id = warren_model::WorkspaceId::from_parts(row.created_at, [8; 10]);
        row.org_id = org_id;
        row.reference = None;
        let id = row.id;
        let made: Result<(), warren_store::Error> =
            warren.store.write(move |tx| tx.insert_workspace(&row)).await;
        made.unwrap();
        id
    };
    let unknown = warren_model::WorkspaceId::from_parts(warren_model::Timestamp::from_micros(7_000), [1; 10]);
    for parent in [foreign, removed, unknown] {
        let body = json!({ "name": "x", "provider": memory(), "parent_id": parent.to_string() });
        let refused = warren.create(&body).await;
        assert_eq!(refused.code(), "parent_not_found", "{}", refused.text());
        let path = format!("/api/v1/workspaces/{own}");
        let refused = warren.patch(&path, &json!({ "parent_id": parent.to_string() })).await;
        assert_eq!(refused.code(), "parent_not_found", "{}", refused.text());
    }
}
