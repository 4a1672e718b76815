//! What is counted and bounded: budgets, the pace of requests, how long things are kept.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_doors::ManualClock;
use warren_fleet::{Config as FleetConfig, Retention};
use warren_model::{Limits, WorkspaceId};
use warren_testkit::Warren;

use crate::memory;

const START: &str = "2026-11-15T09:30:00Z";

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(START.parse().unwrap()))
}

async fn call_tool(warren: &Warren, id: WorkspaceId) -> (u16, String) {
    let path = format!("/api/v1/workspaces/{id}/tools/workspace_ls");
    let answer = warren.post(&path, &json!({ "path": "" })).await;
    let code = if answer.status == 200 { String::new() } else { answer.code() };
    (answer.status, code)
}

// F36
#[tokio::test]
async fn a_spent_budget_stops_models_until_it_is_raised_or_the_month_ends() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}/budget");
    let set = async |limit: Value| {
        let call = warren.call("PUT", &path).token(&warren.token);
        call.json(&json!({ "monthly_limit_micros": limit })).send().await
    };
    let untouched = warren.get(&path).await.json();
    assert_eq!(untouched["monthly_limit_micros"], Value::Null);
    assert_eq!((&untouched["spent_micros"], &untouched["month"]), (&json!(0), &json!("2026-11")));

    assert_eq!(set(json!(1_000)).await.status, 200);
    warren.fleet.budgets.charge(id, 999).await.unwrap();
    assert_eq!(call_tool(&warren, id).await.0, 200, "one is left");
    warren.fleet.budgets.charge(id, 5).await.unwrap();
    warren.fleet.budgets.charge(id, 5).await.unwrap();
    assert_eq!(call_tool(&warren, id).await, (402, "budget_exhausted".into()));
    let told = warren.get(&path).await.json();
    assert_eq!((&told["spent_micros"], &told["left_micros"]), (&json!(1_009), &json!(0)));
    assert_eq!(kinds(&warren, "workspace.budget.exhausted").await, 1, "told once");
    // People may still look after it.
    assert_eq!(warren.get(&format!("/api/v1/workspaces/{id}/files?path=")).await.status, 200);

    assert_eq!(set(json!(2_000)).await.status, 200);
    assert_eq!(call_tool(&warren, id).await.0, 200);
    assert_eq!(set(json!(1_000)).await.status, 200);
    assert_eq!(call_tool(&warren, id).await.0, 402);
    clock.advance_ms(16 * 24 * 3_600 * 1_000);
    assert_eq!(call_tool(&warren, id).await.0, 200, "a new month");
    assert_eq!(set(Value::Null).await.json()["left_micros"], Value::Null);

    for bad in [json!(-1), json!("x"), json!(u64::MAX)] {
        let refused = set(bad.clone()).await;
        assert_eq!((refused.status, refused.code()), (400, "invalid_request".into()), "{bad}");
    }
}

async fn kinds(warren: &Warren, kind: &str) -> usize {
    let page = warren.call("GET", "/api/v1/events?after=0&limit=500").token(&warren.token);
    let page = page.header("accept", "application/json").send().await.json();
    page["items"].as_array().unwrap().iter().filter(|event| event["kind"] == kind).count()
}

// F36
#[tokio::test]
async fn a_principal_that_asks_too_fast_is_told_how_long_to_wait_and_others_are_not_slowed() {
    let clock = clock();
    let limits = Limits { max_requests_per_minute: 5, ..Limits::default() };
    let warren = Warren::builder().limits(limits).clock(Arc::clone(&clock)).start().await;
    let mut tokens = Vec::new();
    for name in ["one", "two"] {
        let id = warren.workspace(memory()).await;
        let body = json!({ "kind": "workspace", "name": name, "workspace_id": id.to_string() });
        tokens.push(warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned());
    }
    let ask = async |token: &str| warren.call("GET", "/api/v1/sign-in").token(token).send().await;
    for _ in 0..5 {
        assert_eq!(ask(&tokens[0]).await.status, 200);
    }
    let refused = ask(&tokens[0]).await;
    assert_eq!((refused.status, refused.code()), (429, "too_many_requests".into()));
    assert_eq!(refused.header("retry-after"), Some("12"));
    assert_eq!(ask(&tokens[1]).await.status, 200, "another principal");
    assert_eq!(ask(&warren.token).await.status, 200, "an operator");
    clock.advance_ms(12_000);
    assert_eq!(ask(&tokens[0]).await.status, 200);
    assert_eq!(ask(&tokens[0]).await.status, 429);
}

// F42
#[tokio::test]
async fn old_events_are_cleared_and_a_reader_whose_place_is_gone_is_told() {
    let clock = clock();
    let config = FleetConfig {
        retention: Retention { events_days: Some(7), ended_tokens_days: Some(7) },
        ..FleetConfig::default()
    };
    let warren = Warren::builder().clock(Arc::clone(&clock)).fleet_config(config).start().await;
    warren.workspace(memory()).await;
    let run = async || warren.post("/api/v1/admin/sweeps/retention/run", &json!({})).await.json();
    assert_eq!(run().await["last_run"]["outcome"]["acted_on"], 0, "nothing is old yet");
    clock.advance_ms(8 * 24 * 3_600 * 1_000);
    warren.workspace(memory()).await;
    let cleared = run().await["last_run"]["outcome"]["acted_on"].as_u64().unwrap();
    assert!(cleared >= 3, "{cleared}");
    let page = warren.call("GET", "/api/v1/events?after=0").token(&warren.token);
    let page = page.header("accept", "application/json").send().await.json();
    let oldest = page["items"][0]["seq"].as_u64().unwrap();
    assert_eq!(oldest, cleared + 1);

    let mut stream = warren.call("GET", "/api/v1/events?after=1").token(&warren.token).open().await;
    let mut text = String::new();
    while !text.contains("caught_up") {
        let piece = stream.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    let first = text.lines().find_map(|line| line.strip_prefix("data:")).unwrap();
    let frame: Value = serde_json::from_str(first.trim()).unwrap();
    assert_eq!(frame, json!({ "type": "truncated", "after": 1, "oldest": oldest }));
}
