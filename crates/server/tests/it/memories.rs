//! What agents remember: who reads it, what is found, what is masked, and when it is gone.

use serde_json::{Value, json};
use warren_model::{Limits, WorkspaceId};
use warren_testkit::{Answer, Warren};

use crate::fleet::create;
use crate::memory;

fn path(of: WorkspaceId, rest: &str) -> String {
    format!("/api/v1/workspaces/{of}/memory{rest}")
}

async fn set(warren: &Warren, of: WorkspaceId, at: &str, body: &Value) -> Answer {
    warren.call("PUT", &path(of, &format!("/{at}"))).token(&warren.token).json(body).send().await
}

async fn write(warren: &Warren, of: WorkspaceId, at: &str, value: &str) -> Value {
    let written = set(warren, of, at, &json!({ "value": value })).await;
    assert!(written.status < 300, "{}", written.text());
    written.json()
}

async fn read(warren: &Warren, of: WorkspaceId, at: &str) -> Option<String> {
    let found = warren.get(&path(of, &format!("/{at}"))).await;
    match found.status {
        200 => found.json()["value"].as_str().map(str::to_owned),
        _ => {
            assert_eq!(found.json()["code"], "memory_not_found");
            None
        }
    }
}

// X50: compare-and-set
#[tokio::test]
async fn a_write_that_names_a_version_is_refused_when_somebody_was_faster() {
    let warren = Warren::start().await;
    let of = create(&warren, &json!({ "name": "w", "provider": memory() })).await;
    let at = |version: u64, value: &str| json!({ "value": value, "expected_version": version });
    let first = set(&warren, of, "local/a%2Fb%20c", &at(0, "one")).await;
    assert_eq!(
        (first.status, first.json()["version"].clone(), first.json()["key"].clone()),
        (201, json!(1), json!("a/b c"))
    );
    assert_eq!(
        set(&warren, of, "local/a%2Fb%20c", &at(0, "two")).await.json()["code"],
        "precondition_failed"
    );
    let second = set(&warren, of, "local/a%2Fb%20c", &at(1, "two")).await;
    assert_eq!((second.status, second.json()["version"].clone()), (200, json!(2)));
    assert_eq!(set(&warren, of, "local/a%2Fb%20c", &at(1, "three")).await.status, 412);
    // Of many that name none, none is refused and all are counted.
    let writers = (0..10).map(|number| {
        let body = json!({ "value": format!("n{number}") });
        let warren = &warren;
        async move { set(warren, of, "local/shared", &body).await.status }
    });
    let answers = futures_util::future::join_all(writers).await;
    assert!(answers.iter().all(|status| *status < 300), "{answers:?}");
    assert_eq!(warren.get(&path(of, "/local/shared")).await.json()["version"], 10);
    assert_eq!(warren.delete(&path(of, "/local/shared")).await.status, 204);
    assert_eq!(read(&warren, of, "local/shared").await, None);
}

// X50: bad input and limits
#[tokio::test]
async fn what_cannot_be_remembered_is_told_by_code() {
    let limits = Limits { max_memories_per_place: 1, max_memory_bytes: 10, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let of = create(&warren, &json!({ "name": "w", "provider": memory() })).await;
    let long = "k".repeat(201);
    for (at, body, code) in [
        ("local/k", json!({ "value": "01234567890" }), "memory_too_large"),
        ("local/k", json!({ "value": "a\u{0}" }), "invalid_memory"),
        ("local/k", json!({ "value": "a", "ttl_seconds": 0 }), "invalid_memory"),
        (
            "local/k",
            json!({ "value": "a", "task_id": "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d0e" }),
            "task_not_found",
        ),
        ("local/k", json!({}), "invalid_request"),
        ("local/k%0A", json!({ "value": "a" }), "invalid_memory"),
        (&format!("local/{long}"), json!({ "value": "a" }), "invalid_memory"),
        ("world/k", json!({ "value": "a" }), "invalid_request"),
    ] {
        let answer = set(&warren, of, at, &body).await;
        assert_eq!(answer.json()["code"], code, "{at} {body}: {}", answer.text());
    }
    write(&warren, of, "local/k", "a").await;
    write(&warren, of, "local/k", "b").await;
    assert_eq!(set(&warren, of, "local/l", &json!({ "value": "a" })).await.json()["code"], "memory_limit");
    write(&warren, of, "org/l", "a").await;
}
