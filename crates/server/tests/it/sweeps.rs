//! Sweeps as operators see them: each by itself, none stopped by another's trouble.

use serde_json::{Value, json};
use warren_testkit::Warren;

use crate::fleet::sweep;

const NAMES: [&str; 9] = [
    "liveness",
    "stalls",
    "probes",
    "provisioning",
    "mending",
    "catching_up",
    "hibernation",
    "orphans",
    "retention",
];

async fn report(warren: &Warren, name: &str) -> Value {
    let list = warren.get("/api/v1/admin/sweeps").await.json();
    let found = list["items"].as_array().unwrap().iter().find(|item| item["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("{name} is not in {list}"))
}

// F20, F21
#[tokio::test]
async fn operators_see_the_sweeps_with_their_last_runs_and_run_them_by_name() {
    let warren = Warren::start().await;
    for name in NAMES {
        let before = report(&warren, name).await;
        assert!(!before["meaning"].as_str().unwrap().is_empty() && before["interval_ms"].as_u64() > Some(0));
        let ran = sweep(&warren, name).await;
        assert_eq!(ran["name"], name);
        assert_eq!(ran["last_run"]["outcome"]["kind"], "done", "{ran}");
        assert_eq!(report(&warren, name).await["last_run"]["outcome"]["kind"], "done");
    }
    let unknown = warren.post("/api/v1/admin/sweeps/spring-cleaning/run", &json!({})).await;
    assert_eq!((unknown.status, unknown.code()), (404, "sweep_not_found".into()));
}
