//! Secrets: they go in, reach the workspace's commands, and come out nowhere (F32, F33).

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use warren_model::Limits;
use warren_testkit::{Answer, Warren};

use crate::{local, memory};

async fn set(warren: &Warren, path: &str, value: &str) -> Answer {
    warren.call("PUT", path).token(&warren.token).json(&json!({ "value": value })).send().await
}

/// The value in every form that a leak could take.
fn forms(value: &str) -> Vec<String> {
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    vec![value.to_owned(), STANDARD.encode(value), URL_SAFE_NO_PAD.encode(value), hex.to_uppercase(), hex]
}

fn assert_clean(place: &str, bytes: &[u8], values: &[String]) {
    for form in values.iter().flat_map(|value| forms(value)) {
        let is_there = bytes.windows(form.len()).any(|window| window == form.as_bytes());
        assert!(!is_there, "{place} holds a planted value");
    }
}

/// Every file below, but the key and the workspaces' own files.
fn files_below(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "workspaces" {
            files_below(&path, found);
        } else if path.is_file() && name != "secrets.key" {
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
}

// F32, sec/U02: whatever way a value takes in, nothing that Warren keeps or says holds it
#[tokio::test]
async fn planted_values_are_in_no_answer_event_entry_or_file_of_the_database() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let canary = |number: u32| format!("canary-{number}-{}", "q9Zr7".repeat(4));
    let values: Vec<String> = (0..12).map(canary).chain(["8675309867530986".to_owned()]).collect();
    let mut answers = Vec::new();
    let mut put = async |path: &str, body: Value| {
        answers.push(warren.call("PUT", path).token(&warren.token).json(&body).send().await);
    };
    let own = format!("/api/v1/workspaces/{id}/secrets");
    // Accepted, twice, and by both ways.
    put("/api/v1/secrets/GLOBAL", json!({ "value": values[0] })).await;
    put("/api/v1/secrets/GLOBAL", json!({ "value": values[1] })).await;
    put(&format!("{own}/OWN"), json!({ "value": values[2] })).await;
    let login = json!({ "username": "ci", "password": values[0] });
    put("/api/v1/image-logins/registry.example.com", login).await;
    // Refused in every way there is.
    put("/api/v1/secrets/A", json!(values[3])).await;
    put("/api/v1/secrets/A", json!([values[3]])).await;
    put("/api/v1/secrets/A", json!({ "value": [values[4]] })).await;
    put("/api/v1/secrets/A", json!({ "value": 8675309867530986_u64 })).await;
    put("/api/v1/secrets/A", json!({ "value": "x", "also": values[5] })).await;
    put("/api/v1/secrets/A", json!({ values[6].as_str(): "x" })).await;
    put("/api/v1/secrets/A", json!({ "value": format!("{}\0", values[7]) })).await;
    put("/api/v1/secrets/PATH", json!({ "value": values[8] })).await;
    put("/api/v1/secrets/a-b", json!({ "value": values[9] })).await;
    put("/api/v1/secrets/A", json!({ "value": values[10].repeat(2_500) })).await;
    let truncated = format!("{{\"value\": \"{}", values[11]);
    let call = warren.call("PUT", "/api/v1/secrets/A").token(&warren.token);
    answers.push(call.header("content-type", "application/json").body(truncated).send().await);
    let accepted = answers.iter().filter(|answer| answer.status < 300).count();
    assert_eq!((answers.len(), accepted), (15, 4), "{:?}", answers.iter().map(Answer::text));
    // Used, printed, changed and removed.
    let print = json!({ "command": "echo $GLOBAL; echo $OWN >&2; exec \"$OWN\"" });
    answers.push(warren.post(&format!("/api/v1/workspaces/{id}/exec"), &print).await);
    answers.push(warren.post("/api/v1/secrets/rotate-key", &json!({})).await);
    for path in ["/api/v1/secrets", &own, "/api/v1/audit", "/api/v1/workspaces", "/metrics", "/api/v1/info"] {
        answers.push(warren.get(path).await);
    }
    answers.push(warren.get("/api/v1/events?after=0&wait=false").await);
    answers.push(warren.delete("/api/v1/secrets/GLOBAL").await);
    answers.push(warren.delete(&format!("{own}/OWN")).await);
    for answer in &answers {
        assert_clean("an answer", &answer.body, &values);
    }
    let events = warren
        .store
        .read(|tx| {
            tx.events(&warren_store::EventQuery { after: 0, org_id: None, workspace_id: None, limit: 500 })
        })
        .await
        .unwrap();
    assert!(events.rows.iter().any(|event| event.kind.as_str() == "secret.value.set"));
    assert_clean("an event", format!("{events:?}").as_bytes(), &values);
    // With the log of the database, and after it was folded into the file.
    for _ in 0..2 {
        let mut files = Vec::new();
        files_below(warren.folder(), &mut files);
        assert!(files.iter().any(|(name, _)| name == "warren.db"));
        for (name, bytes) in &files {
            assert_clean(name, bytes, &values);
        }
    }
    let folder = warren.stop().await;
    let mut files = Vec::new();
    files_below(folder.path(), &mut files);
    for (name, bytes) in &files {
        assert_clean(name, bytes, &values);
    }
}

// F32
#[tokio::test]
async fn lists_tell_names_and_versions_and_there_is_no_way_to_read_a_value() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    for name in ["B", "A"] {
        set(&warren, &format!("/api/v1/secrets/{name}"), "value").await;
    }
    set(&warren, "/api/v1/secrets/A", "another").await;
    set(&warren, &format!("/api/v1/workspaces/{id}/secrets/C"), "value").await;
    let listed = warren.get("/api/v1/secrets?limit=1").await.json();
    let first = &listed["items"][0];
    assert_eq!((&first["name"], &first["version"], &first["owner"]), (&json!("A"), &json!(2), &json!("org")));
    assert_eq!(first["is_readable"], true);
    assert!(first["key_id"].as_str().unwrap().starts_with('k') && first.get("value").is_none());
    let cursor = listed["next_cursor"].as_str().unwrap();
    let rest = warren.get(&format!("/api/v1/secrets?cursor={cursor}")).await.json();
    assert_eq!((&rest["items"][0]["name"], &rest["next_cursor"]), (&json!("B"), &Value::Null));
    let own = warren.get(&format!("/api/v1/workspaces/{id}/secrets")).await.json();
    assert_eq!(own["items"][0]["workspace_id"], id.to_string());
    assert_eq!(warren.get("/api/v1/secrets/A").await.code(), "method_not_allowed");
    assert_eq!(warren.get("/api/v1/secrets?cursor=-").await.code(), "invalid_cursor");
}

// F32
#[tokio::test]
async fn names_values_and_numbers_have_limits_with_codes_of_their_own() {
    let limits = Limits { max_secrets_per_owner: 2, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let id = warren.workspace(memory()).await;
    let code = async |path: &str, value: &str| {
        let answer = set(&warren, path, value).await;
        if answer.status < 300 { "ok".to_owned() } else { answer.code() }
    };
    assert_eq!(code("/api/v1/secrets/WARREN_TOKEN", "x").await, "invalid_secret");
    assert_eq!(code("/api/v1/secrets/LD_PRELOAD", "x").await, "invalid_secret");
    assert_eq!(code("/api/v1/secrets/1A", "x").await, "invalid_secret");
    assert_eq!(code("/api/v1/secrets/A", "").await, "invalid_secret");
    assert_eq!(code("/api/v1/secrets/A", &"x".repeat((64 << 10) + 1)).await, "secret_too_large");
    assert_eq!(code("/api/v1/secrets/A", &"x".repeat(64 << 10)).await, "ok");
    assert_eq!(code("/api/v1/secrets/B", "x").await, "ok");
    assert_eq!(code("/api/v1/secrets/C", "x").await, "secret_limit");
    assert_eq!(code("/api/v1/secrets/B", "y").await, "ok", "one that is there may change");
    assert_eq!(code(&format!("/api/v1/workspaces/{id}/secrets/C"), "x").await, "ok", "another owner");
    assert_eq!(warren.delete("/api/v1/secrets/C").await.code(), "secret_not_found");
    assert_eq!(warren.delete("/api/v1/secrets/no-name").await.code(), "secret_not_found");
    let removed = format!("/api/v1/workspaces/{id}");
    warren.delete(&removed).await;
    assert_eq!(code(&format!("{removed}/secrets/D"), "x").await, "workspace_not_found");
}
