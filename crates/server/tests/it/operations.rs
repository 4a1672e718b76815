use std::sync::Arc;

use serde_json::json;
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_providers::{SandboxProvider, SandboxSettings};
use warren_testkit::Warren;

use crate::memory;

// S23
#[tokio::test]
async fn health_and_readiness_answer_anybody_and_tell_nothing_more() {
    let warren = Warren::start().await;
    for path in ["/healthz", "/readyz"] {
        let answer = warren.call("GET", path).send().await;
        assert_eq!((answer.status, answer.json()), (200, json!({ "status": "ok" })), "{path}");
    }
}

// F34, S23, Q22
#[tokio::test]
async fn a_database_that_is_gone_is_told_in_every_answer_also_in_auth() {
    let warren = Warren::start().await;
    warren.store.close().await;
    assert_eq!(warren.call("GET", "/healthz").send().await.status, 200, "the process is alive");
    let ready = warren.call("GET", "/readyz").send().await;
    assert_eq!((ready.status, ready.json()), (503, json!({ "status": "platform_unavailable" })));
    for path in ["/api/v1/workspaces", "/api/v1/sign-in", "/api/v1/events"] {
        let answer = warren.get(path).await;
        assert_eq!((answer.status, answer.code()), (503, "platform_unavailable".into()), "{path}");
        assert!(answer.header("retry-after").is_some());
        assert!(answer.json().get("detail").is_none(), "no cause reaches the client: {}", answer.text());
    }
}

// S23, O3, W17
#[tokio::test]
async fn metrics_are_for_operators_and_count_requests_and_opens() {
    let warren = Warren::start().await;
    assert_eq!(warren.call("GET", "/metrics").send().await.status, 401);
    warren.workspace(memory()).await;
    let text = warren.get("/metrics").await.text();
    for line in [
        r#"warren_http_requests_total{method="POST",route="/api/v1/workspaces",status="201"} 1"#,
        r#"warren_workspace_opens_total{provider="memory",outcome="ok"} 1"#,
        r#"warren_build_info{version=""#,
        "# HELP warren_http_requests_total",
        "# TYPE warren_http_request_duration_seconds histogram",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the linter is a program of others")]
fn lint(metrics: &str) {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped());
    let mut promtool = promtool.spawn().expect("promtool: scripts/setup.sh installs it");
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let ended = promtool.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr) + String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && told.is_empty(), "{told}");
}

// O3
#[tokio::test]
async fn metrics_show_the_fleet_and_the_exchange_and_pass_the_linter() {
    let warren = Warren::start().await;
    warren.workspace(memory()).await;
    let id = crate::fleet::external(&warren).await;
    let body = json!({ "message": { "role": "user", "parts": [{ "text": "hello" }] } });
    let sent = warren.post(&format!("/api/v1/workspaces/{id}/messages"), &body).await;
    assert!(sent.status < 300, "{}", sent.text());
    assert_eq!(warren.get("/api/v1/workspaces/none").await.status, 404);
    let schedule = json!({ "name": "pulse", "prompt": "Go on.", "every_seconds": 600 });
    let made = warren.post(&format!("/api/v1/workspaces/{id}/schedules"), &schedule).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let run = format!("/api/v1/schedules/{}/run", made.json()["id"].as_str().unwrap());
    let ran = warren.post(&run, &json!({})).await;
    assert!(ran.status < 300, "{}", ran.text());
    let swept = warren.post("/api/v1/admin/sweeps/liveness/run", &json!({})).await;
    assert_eq!(swept.status, 200, "{}", swept.text());
    let text = warren.get("/metrics").await.text();
    for line in [
        r#"warren_workspaces{status="online"} 1"#,
        r#"warren_workspaces{status="awaiting_agent"} 1"#,
        r#"warren_workspaces{status="failed"} 0"#,
        r#"warren_queue_messages{state="queued"} 2"#,
        r#"warren_queue_messages{state="claimed"} 0"#,
        "warren_queue_oldest_age_seconds 0.",
        r#"warren_events_total{kind="exchange.task.submitted"} 2"#,
        r#"warren_workspace_status_changes_total{to="online"} 1"#,
        r#"warren_schedule_slots_total{outcome="fired"} 1"#,
        r#"warren_refusals_total{code="workspace_not_found"} 1"#,
        r#"warren_sweep_runs_total{sweep=""#,
        r#"warren_sweep_last_run_timestamp_seconds{sweep=""#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    lint(&text);
    // Asked again, nothing is counted twice.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let again = warren.get("/metrics").await.text();
    assert!(again.contains(r#"warren_events_total{kind="exchange.task.submitted"} 2"#), "{again}");
}

// W17
#[tokio::test]
async fn the_time_to_open_a_workspace_is_exposed_by_provider() {
    let warren = Warren::start().await;
    let sample = |text: &str, name: &str| -> f64 {
        let name = format!("warren_workspace_open_duration_seconds_{name}{{provider=\"memory\"");
        let line = text.lines().rfind(|line| line.starts_with(&name));
        line.and_then(|line| line.rsplit_once(' ')).map_or(0.0, |(_, value)| value.parse().unwrap())
    };
    assert_eq!(sample(&warren.get("/metrics").await.text(), "count"), 0.0);
    for opened in 1..=3 {
        let before = sample(&warren.get("/metrics").await.text(), "sum");
        warren.workspace(memory()).await;
        let text = warren.get("/metrics").await.text();
        assert_eq!(sample(&text, "count"), f64::from(opened), "{text}");
        // The last bucket is that without a bound.
        assert_eq!(sample(&text, "bucket"), f64::from(opened), "{text}");
        assert!(sample(&text, "sum") > before, "each open took some time: {text}");
    }
}

// S23
#[tokio::test]
async fn metrics_can_be_made_public() {
    let config = warren_server::ServerConfig { has_public_metrics: true, ..Default::default() };
    let warren = Warren::builder().config(config).start().await;
    assert_eq!(warren.call("GET", "/metrics").send().await.status, 200);
}

// S22, sec/W03, sec/W04
#[tokio::test]
async fn every_answer_forbids_guessing_framing_and_foreign_content() {
    let warren = Warren::start().await;
    for path in ["/", "/healthz", "/api/v1/workspaces", "/api/v1/nothing", "/some/page"] {
        let answer = warren.get(path).await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'self'") && !policy.contains("script-src"), "{policy}");
    }
    assert_eq!(warren.get("/api/v1/workspaces").await.header("cache-control"), Some("no-store"));
}

// S1, S20: the page, or an honest placeholder
#[tokio::test]
async fn the_root_and_unknown_paths_of_the_page_serve_html_and_missing_assets_do_not() {
    let warren = Warren::start().await;
    for path in ["/", "/workspaces/some/files", "/map"] {
        let answer = warren.call("GET", path).send().await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").unwrap().starts_with("text/html"), "{path}");
        assert!(answer.text().contains("Warren"));
    }
    let missing = warren.call("GET", "/assets/nothing-1234.js").send().await;
    assert_eq!((missing.status, missing.code()), (404, "route_not_found".into()));
    assert_eq!(warren.call("POST", "/map").send().await.status, 404);
}

// S23
#[tokio::test]
async fn info_tells_what_this_server_offers() {
    let warren = Warren::start().await;
    let info = warren.get("/api/v1/info").await.json();
    assert_eq!(info["database"], "sqlite");
    assert!(info["durability"].as_str().unwrap().contains("FULL"), "{info}");
    let kinds: Vec<_> = info["providers"].as_array().unwrap().iter().map(|one| one["kind"].clone()).collect();
    assert_eq!(kinds, ["memory", "local"]);
    assert!(info["providers"][1]["note"].as_str().unwrap().contains("No isolation"));
    assert_eq!(info.get("default_provider"), None, "neither of them is chosen by itself: {info}");
}

// S11, W72: nobody gets a place without isolation who did not name it.
#[tokio::test]
async fn a_workspace_without_a_provider_gets_one_that_isolates_or_is_refused() {
    let unboxed = Warren::start().await;
    let create = json!({ "name": "plain" });
    let refused = unboxed.create(&create).await;
    assert_eq!((refused.status, refused.code()), (503, "provider_unavailable".into()), "{}", refused.text());
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("sandbox: ") && detail.contains("`local`: it isolates nothing"), "{detail}");

    let folder = tempfile::tempdir().unwrap();
    let (clock, settings) = (Arc::new(SystemClock), SandboxSettings::default());
    let sandbox =
        SandboxProvider::new(folder.path(), settings, Environment::default(), clock, &OsEntropy).unwrap();
    let warren = Warren::builder().provider(Arc::new(sandbox)).start().await;
    assert_eq!(warren.get("/api/v1/info").await.json()["default_provider"], "sandbox");
    let made = warren.create(&create).await;
    assert_eq!((made.status, &made.json()["provider"]["kind"]), (201, &json!("sandbox")), "{}", made.text());
    assert_eq!(made.json().get("warnings"), None);
}
