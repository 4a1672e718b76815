//! What agents remember: who reads it, what is found, what is masked, and when it is gone.

use std::sync::Arc;

use serde_json::{Value, json};
use warren_model::{Limits, WorkspaceId};
use warren_testkit::{Answer, PostgresDatabase, Warren};

use crate::fleet::{clock, create, events};
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

async fn search(warren: &Warren, of: WorkspaceId, query: &str) -> Vec<String> {
    let found = warren.get(&path(of, &format!("/search?{query}"))).await;
    assert_eq!(found.status, 200, "{}", found.text());
    found.json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["key"].as_str().unwrap().to_owned())
        .collect()
}

async fn child(warren: &Warren, name: &str, parent: WorkspaceId) -> WorkspaceId {
    create(warren, &json!({ "name": name, "provider": memory(), "parent_id": parent.to_string() })).await
}

/// A token that speaks for a workspace.
async fn agent(warren: &Warren, of: WorkspaceId) -> String {
    let body = json!({ "kind": "workspace", "name": "agent", "workspace_id": of.to_string() });
    warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned()
}

// X50
#[tokio::test]
async fn memory_is_read_by_oneself_the_team_or_the_org_and_by_nobody_else() {
    let warren = Warren::start().await;
    let lead = create(&warren, &json!({ "name": "lead", "provider": memory() })).await;
    let (one, two) = (child(&warren, "one", lead).await, child(&warren, "two", lead).await);
    let stranger = create(&warren, &json!({ "name": "stranger", "provider": memory() })).await;
    for scope in ["local", "team", "org"] {
        write(&warren, one, &format!("{scope}/k"), scope).await;
    }
    let seen = async |of| {
        let mut seen = Vec::new();
        for scope in ["local", "team", "org"] {
            seen.extend(read(&warren, of, &format!("{scope}/k")).await);
        }
        let listed = warren.get(&path(of, "")).await.json()["items"].as_array().unwrap().len();
        assert_eq!(listed, seen.len(), "the list shows the same");
        assert_eq!(search(&warren, of, "q=k").await.len(), seen.len(), "and so does a search");
        seen
    };
    assert_eq!(seen(one).await, ["local", "team", "org"]);
    assert_eq!(seen(two).await, ["team", "org"]);
    assert_eq!(seen(lead).await, ["team", "org"]);
    assert_eq!(seen(stranger).await, ["org"]);
    // An agent reaches through its own workspace only.
    let token = agent(&warren, two).await;
    let other = warren.call("GET", &path(one, "/local/k")).token(&token).send().await;
    assert_eq!(other.json()["code"], "workspace_not_found");
    let own =
        warren.call("PUT", &path(two, "/team/from-two")).token(&token).json(&json!({ "value": "hello" }));
    let own = own.send().await.json();
    assert_eq!(own["author"], json!({ "kind": "workspace", "id": two.to_string() }));
    assert_eq!(read(&warren, one, "team/from-two").await.as_deref(), Some("hello"));
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

// X50: a time to live, and the sweep
#[tokio::test]
async fn what_has_expired_is_gone_at_once_and_its_key_is_new_again() {
    let clock = clock();
    let warren = Warren::builder().clock(Arc::clone(&clock)).start().await;
    let of = create(&warren, &json!({ "name": "w", "provider": memory() })).await;
    set(&warren, of, "local/k", &json!({ "value": "brief", "ttl_seconds": 60 })).await;
    write(&warren, of, "local/stays", "brief too").await;
    clock.advance_ms(59_999);
    assert_eq!(read(&warren, of, "local/k").await.as_deref(), Some("brief"));
    clock.advance_ms(1);
    assert_eq!(read(&warren, of, "local/k").await, None);
    assert_eq!(search(&warren, of, "q=brief").await, ["stays"]);
    let again = set(&warren, of, "local/k", &json!({ "value": "new", "expected_version": 0 })).await;
    assert_eq!(again.status, 201, "{}", again.text());
    set(&warren, of, "local/k", &json!({ "value": "old", "ttl_seconds": 1 })).await;
    clock.advance_ms(1_000);
    let warren = warren.restart().await;
    let place = warren_model::MemoryPlace::Local(of);
    crate::fleet::eventually("its row is cleared", async || {
        warren.store.read::<_, warren_store::Error, _>(move |tx| tx.count_memories(place)).await == Ok(1)
    })
    .await;
}

// X50, sec/U02
#[tokio::test]
async fn secrets_are_masked_before_anything_is_written() {
    let warren = Warren::start().await;
    let of = create(&warren, &json!({ "name": "w", "provider": memory() })).await;
    let secret = "correct-horse-battery-staple";
    let body = json!({ "value": secret });
    let stored = warren
        .call("PUT", &format!("/api/v1/workspaces/{of}/secrets/TOKEN"))
        .token(&warren.token)
        .json(&body);
    assert_eq!(stored.send().await.status, 201);
    let github = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let value = format!("log in with {secret}, push with {github}, then rest");
    let written = write(&warren, of, "local/how", &value).await;
    let kept = written["value"].as_str().unwrap();
    assert!(!kept.contains(secret) && !kept.contains(&github[8..]), "{kept}");
    assert!(kept.starts_with("log in with ***") && kept.ends_with(", then rest"), "{kept}");
    assert_eq!(written["masked"], 2);
    assert_eq!(search(&warren, of, "q=horse").await, Vec::<String>::new(), "nor is it found by it");
    let key = set(&warren, of, &format!("local/{github}"), &json!({ "value": "x" })).await;
    assert_eq!(key.json()["code"], "invalid_memory");
    let events = Value::Array(events(&warren, Some(of)).await).to_string();
    assert!(!events.contains(secret) && !events.contains(github));
    // The whole folder: database, its journal, everything.
    let folder = warren.stop().await;
    for file in std::fs::read_dir(folder.path()).unwrap().flatten().filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        for planted in [secret, &github[8..]] {
            let is_there = bytes.windows(planted.len()).any(|window| window == planted.as_bytes());
            assert!(!is_there, "{planted} in {:?}", file.path());
        }
    }
}

/// The same searches, whatever the database.
async fn check_search(warren: &Warren) {
    let of = create(warren, &json!({ "name": "w", "provider": memory() })).await;
    for (key, value) in [
        ("deploy-notes", "how it is done in Zürich"),
        ("log", "deploy, deployed, deploying: Deploy!"),
        ("other", "one deploy; see e-mail to ops@example.com at 10.0.0.1"),
        ("unrelated", "nothing"),
    ] {
        write(warren, of, &format!("local/{key}"), value).await;
    }
    assert_eq!(search(warren, of, "q=DEPLOY").await, ["deploy-notes", "log", "other"]);
    assert_eq!(search(warren, of, "q=deploy%20z%C3%BCr").await, ["deploy-notes"]);
    for (query, key) in [
        ("ops@example", "other"),
        ("mail", "other"),
        ("10.0.0.1", "other"),
        ("deploy%27%29%20%22%2A", "deploy-notes"),
    ] {
        assert_eq!(
            search(warren, of, &format!("q={query}")).await.first().map(String::as_str),
            Some(key),
            "{query}"
        );
    }
    assert_eq!(search(warren, of, "q=deploy&limit=1").await, ["deploy-notes"]);
    assert_eq!(search(warren, of, "q=deploy&scope=org").await, Vec::<String>::new());
    for bad in ["q=", "q=%20--%20", "q=a&limit=0", "q=a&scope=world"] {
        assert_eq!(warren.get(&path(of, &format!("/search?{bad}"))).await.status, 400, "{bad}");
    }
}

// X50
#[tokio::test]
async fn a_search_finds_the_same_in_the_same_order_on_both_databases() {
    check_search(&Warren::start().await).await;
    let database = PostgresDatabase::create();
    check_search(&Warren::builder().database(database.url()).start().await).await;
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
