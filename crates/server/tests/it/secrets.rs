//! Secrets: they go in, reach the workspace's commands, and come out nowhere (F32, F33).

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use warren_model::{Limits, SealedSecret, SecretOwner, WorkspaceId};
use warren_testkit::{Answer, Warren};

use crate::{local, memory};

async fn set(warren: &Warren, path: &str, value: &str) -> Answer {
    warren.call("PUT", path).token(&warren.token).json(&json!({ "value": value })).send().await
}

/// Runs a script and answers with what it wrote to a file: output is masked, files are the workspace's own.
async fn written_by(warren: &Warren, id: WorkspaceId, script: &str) -> String {
    let body = json!({ "command": format!("({script}) > out") });
    let answer = warren.post(&format!("/api/v1/workspaces/{id}/exec"), &body).await;
    assert_eq!((answer.status, &answer.json()["exit_code"]), (200, &json!(0)), "{}", answer.text());
    file(warren, id).await
}

async fn file(warren: &Warren, id: WorkspaceId) -> String {
    warren.get(&format!("/api/v1/workspaces/{id}/files?path=out")).await.text()
}

async fn mint(warren: &Warren, body: Value) -> String {
    warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned()
}

async fn generation(warren: &Warren, id: WorkspaceId) -> u64 {
    warren.store.read(move |tx| tx.workspace(id)).await.unwrap().unwrap().generation
}

async fn stored(warren: &Warren, owner: SecretOwner, name: &'static str) -> SealedSecret {
    let found = warren.store.read(move |tx| tx.secret(owner, &name.parse().unwrap())).await;
    found.unwrap().unwrap()
}

const ORG: SecretOwner = SecretOwner::Org(warren_model::OrgId::DEFAULT);

// F32
#[tokio::test]
async fn commands_get_their_workspaces_secrets_before_their_orgs_and_a_person_may_overrule_both() {
    let warren = Warren::start().await;
    let (one, other) = (warren.workspace(local()).await, warren.workspace(local()).await);
    assert_eq!(set(&warren, "/api/v1/secrets/SHARED", "of the org").await.status, 201);
    assert_eq!(set(&warren, "/api/v1/secrets/PLAIN", "for all").await.status, 201);
    let own = format!("/api/v1/workspaces/{one}/secrets/SHARED");
    assert_eq!(set(&warren, &own, "of the workspace").await.status, 201);
    let script = "printf '%s, %s' \"$SHARED\" \"$PLAIN\"";
    assert_eq!(written_by(&warren, one, script).await, "of the workspace, for all");
    assert_eq!(written_by(&warren, other, script).await, "of the org, for all");
    let overruled = json!({ "command": format!("{script} > out"), "env": { "SHARED": "mine" } });
    warren.post(&format!("/api/v1/workspaces/{one}/exec"), &overruled).await;
    assert_eq!(file(&warren, one).await, "mine, for all");
    // A new value is there for the next command; without one of its own the workspace has the org's again.
    assert_eq!(set(&warren, "/api/v1/secrets/PLAIN", "changed").await.status, 200);
    assert_eq!(warren.delete(&own).await.status, 204);
    assert_eq!(written_by(&warren, one, script).await, "of the org, changed");
}

// F32
#[tokio::test]
async fn background_processes_terminals_and_tools_get_them_too() {
    let warren = Warren::start().await;
    let policy = json!({ "kind": "local", "run": { "allow": ["sh"] } });
    let id = warren.workspace(policy).await;
    set(&warren, "/api/v1/secrets/API_KEY", "hunter2-hunter2").await;
    let base = format!("/api/v1/workspaces/{id}");
    let wait = async |value: &str| {
        for _ in 0..2_000 {
            if file(&warren, id).await == value {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("{}", file(&warren, id).await);
    };
    crate::fleet::eventually("the change has been rolled out", async || {
        crate::fleet::show(&warren, id).await["behind_of"] == Value::Null
    })
    .await;
    // Put there in one step: a file that is read while it is written has no whole answer.
    let script = "printf 'process %s' \"$API_KEY\" > new && mv new out";
    assert_eq!(warren.post(&format!("{base}/processes"), &json!({ "command": script })).await.status, 201);
    wait("process hunter2-hunter2").await;
    let script = "printf 'pty %s' \"$API_KEY\" > new && mv new out";
    let body = json!({ "command": script, "pty": { "rows": 24, "columns": 80 } });
    assert_eq!(warren.post(&format!("{base}/processes"), &body).await.status, 201);
    wait("pty hunter2-hunter2").await;
    for tool in ["workspace_run", "workspace_run_background"] {
        let script = format!("printf '{tool} %s' \"$API_KEY\" > new && mv new out");
        let body = json!({ "argv": ["sh", "-c", script] });
        let answer = warren.post(&format!("{base}/tools/{tool}"), &body).await;
        assert!(answer.json()["refused"].is_null(), "{}", answer.text());
        wait(&format!("{tool} hunter2-hunter2")).await;
    }
}

// F32: a variable that is a secret is not the model's to set
#[tokio::test]
async fn a_model_cannot_put_something_else_in_a_secrets_place() {
    let warren = Warren::start().await;
    let id = warren.workspace(json!({ "kind": "local", "run": { "allow": ["printenv"] } })).await;
    set(&warren, "/api/v1/secrets/API_BASE_URL", "https://api.example.com").await;
    let call = async |env: Value| {
        let body = json!({ "argv": ["printenv"], "env": env });
        warren.post(&format!("/api/v1/workspaces/{id}/tools/workspace_run"), &body).await.json()
    };
    let refused = call(json!({ "API_BASE_URL": "https://evil.example.com" })).await;
    assert_eq!(refused["refused"]["kind"], "variable", "{refused}");
    assert!(refused["refused"]["message"].as_str().unwrap().contains("API_BASE_URL"));
    assert!(call(json!({ "OTHER": "x" })).await["refused"].is_null());
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
    assert_eq!((answers.len(), accepted), (14, 3), "{:?}", answers.iter().map(Answer::text));
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

// F32
#[tokio::test]
async fn an_agent_neither_sees_nor_changes_its_orgs_secrets_and_scopes_hold() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let own = format!("/api/v1/workspaces/{id}/secrets");
    set(&warren, "/api/v1/secrets/A", "x").await;
    set(&warren, &format!("{own}/B"), "x").await;
    let agent =
        mint(&warren, json!({ "kind": "workspace", "name": "a", "workspace_id": id.to_string() })).await;
    let reader = mint(&warren, json!({ "kind": "user", "name": "r", "scopes": ["secrets:read"] })).await;
    let writer = mint(&warren, json!({ "kind": "user", "name": "w", "scopes": ["secrets:write"] })).await;
    let status = async |token: &str, method: &str, path: &str| {
        let body = json!({ "value": "y" });
        warren.call(method, path).token(token).json(&body).send().await.status
    };
    let table = [
        ("GET", "/api/v1/secrets".to_owned(), [403, 200, 403]),
        ("PUT", "/api/v1/secrets/A".to_owned(), [403, 403, 200]),
        ("DELETE", "/api/v1/secrets/A".to_owned(), [403, 403, 204]),
        ("POST", "/api/v1/secrets/rotate-key".to_owned(), [403, 403, 403]),
        ("GET", own.clone(), [200, 200, 403]),
        ("PUT", format!("{own}/B"), [403, 403, 200]),
        ("DELETE", format!("{own}/B"), [403, 403, 204]),
    ];
    for (method, path, expected) in table {
        for (token, expected) in [&agent, &reader, &writer].into_iter().zip(expected) {
            assert_eq!(status(token, method, &path).await, expected, "{method} {path} with {}", &token[..14]);
        }
    }
}

// F33
#[tokio::test]
async fn a_change_raises_the_generation_of_the_workspaces_it_reaches_together_with_its_event() {
    let warren = Warren::start().await;
    let (one, other) = (warren.workspace(local()).await, warren.workspace(local()).await);
    let resting = warren.workspace(local()).await;
    warren.patch(&format!("/api/v1/workspaces/{resting}"), &json!({ "desired": "paused" })).await;
    let before = [one, other, resting];
    let generations = async || {
        let mut found = Vec::new();
        for id in before {
            found.push(generation(&warren, id).await);
        }
        found
    };
    let start = generations().await;
    let raised = |by: [u64; 3]| start.iter().zip(by).map(|(start, by)| start + by).collect::<Vec<_>>();
    set(&warren, &format!("/api/v1/workspaces/{one}/secrets/A"), "x").await;
    assert_eq!(generations().await, raised([1, 0, 0]));
    set(&warren, "/api/v1/secrets/A", "x").await;
    assert_eq!(generations().await, raised([1, 1, 0]), "one has its own, and the resting waits");
    set(&warren, "/api/v1/secrets/B", "x").await;
    assert_eq!(generations().await, raised([2, 2, 0]));
    warren.delete("/api/v1/secrets/B").await;
    assert_eq!(generations().await, raised([3, 3, 0]));
    assert_eq!(set(&warren, "/api/v1/secrets/PATH", "x").await.status, 422);
    assert_eq!(generations().await, raised([3, 3, 0]), "a refused change reaches nobody");
    let events = warren
        .store
        .read(|tx| {
            tx.events(&warren_store::EventQuery { after: 0, org_id: None, workspace_id: None, limit: 500 })
        })
        .await
        .unwrap();
    let told: Vec<String> = events
        .rows
        .iter()
        .filter(|event| event.kind.as_str().starts_with("secret."))
        .map(|event| format!("{} {}", event.kind.as_str(), event.data))
        .collect();
    assert_eq!(
        told,
        [
            r#"secret.value.set {"name":"A","owner":"workspace","version":1,"workspaces":1}"#,
            r#"secret.value.set {"name":"A","owner":"org","version":1,"workspaces":1}"#,
            r#"secret.value.set {"name":"B","owner":"org","version":1,"workspaces":2}"#,
            r#"secret.value.removed {"name":"B","owner":"org","workspaces":2}"#,
        ]
    );
}

// F33
#[tokio::test]
async fn a_running_process_ends_and_its_workspace_comes_up_again_when_a_secret_changes() {
    let warren = Warren::start().await;
    let (one, other) = (warren.workspace(local()).await, warren.workspace(memory()).await);
    let processes = format!("/api/v1/workspaces/{one}/processes");
    assert_eq!(warren.post(&processes, &json!({ "argv": ["sleep", "600"] })).await.status, 201);
    let rows = async || {
        let read =
            warren.store.read(move |tx| Ok((tx.workspace(one)?.unwrap(), tx.workspace(other)?.unwrap())));
        let rows: Result<_, warren_store::Error> = read.await;
        rows.unwrap()
    };
    let before = rows().await;
    assert_eq!(set(&warren, "/api/v1/secrets/A", "x").await.status, 201);
    for _ in 0..4_000 {
        let (row, _) = rows().await;
        if row.observed_generation > before.0.observed_generation
            && row.status == warren_model::Status::Online
        {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let after = rows().await;
    assert_eq!(after.0.observed_generation, after.0.generation);
    assert!(after.0.generation > before.0.generation);
    assert_eq!(warren.get(&processes).await.json()["items"], json!([]), "what had the old value is gone");
    assert_eq!(after.1.generation, before.1.generation, "nothing there has an environment");
}

/// A change of a secret whose carrier died before it told anybody.
async fn change_unseen(warren: &Warren, name: &'static str) {
    let changed: Result<u64, warren_store::Error> = warren
        .store
        .write(move |tx| {
            let reach = warren_store::Reach { owner: ORG, name: name.parse().unwrap() };
            tx.raise_generations(&reach, warren_model::Timestamp::from_micros(1))
        })
        .await;
    assert!(changed.unwrap() > 0);
}

// F33: killed between a change of secrets and its roll-out
#[tokio::test]
async fn a_start_after_a_change_of_secrets_notes_it_where_nothing_has_the_old_ones_and_restarts_nothing() {
    let warren = Warren::start().await;
    let (id, other) = (warren.workspace(local()).await, warren.workspace(local()).await);
    let ups = crate::fleet::arrivals(&warren, id, "provisioning").await;
    change_unseen(&warren, "A").await;
    let shown = crate::fleet::show(&warren, id).await;
    assert_eq!(shown["behind_of"], "secrets", "{shown}");
    crate::fleet::ask(&warren, other, "restart").await;
    assert_ne!(crate::fleet::show(&warren, other).await["behind_of"], "secrets", "it is restarted anyway");
    let warren = warren.restart().await;
    crate::fleet::eventually("it is noted", async || {
        crate::fleet::show(&warren, id).await["behind_of"] == Value::Null
    })
    .await;
    let shown = crate::fleet::show(&warren, id).await;
    assert_eq!((&shown["behind_of"], &shown["status"]), (&Value::Null, &json!("online")), "{shown}");
    assert_eq!(shown["observed_generation"], shown["generation"]);
    assert_eq!(crate::fleet::arrivals(&warren, id, "provisioning").await, ups, "it was not restarted");
}

// F33: the carrier died, and its workspaces live
#[tokio::test]
async fn a_sweep_restarts_after_a_change_of_secrets_only_what_has_the_old_ones() {
    let warren = Warren::start().await;
    let (idle, busy) = (warren.workspace(local()).await, warren.workspace(local()).await);
    let processes = format!("/api/v1/workspaces/{busy}/processes");
    assert_eq!(warren.post(&processes, &json!({ "argv": ["sleep", "600"] })).await.status, 201);
    let ups = async |id| crate::fleet::arrivals(&warren, id, "provisioning").await;
    let before = (ups(idle).await, ups(busy).await);
    change_unseen(&warren, "A").await;
    crate::fleet::sweep(&warren, "catching_up").await;
    let is_caught_up = async |id| crate::fleet::show(&warren, id).await["behind_of"] == Value::Null;
    crate::fleet::eventually("both have caught up", async || {
        is_caught_up(idle).await && is_caught_up(busy).await
    })
    .await;
    assert_eq!((ups(idle).await, ups(busy).await), (before.0, before.1 + 1));
    assert_eq!(warren.get(&processes).await.json()["items"], json!([]), "what had the old value is gone");
}

// F33: what was started after the change has the new values, and is not ended for it
#[tokio::test]
async fn a_process_that_was_started_with_the_new_secrets_outlives_their_roll_out() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let processes = format!("/api/v1/workspaces/{id}/processes");
    let running = async || warren.get(&processes).await.json()["items"].as_array().unwrap().len();
    let caught_up = async || {
        crate::fleet::sweep(&warren, "catching_up").await;
        let is_it = async || crate::fleet::show(&warren, id).await["behind_of"] == Value::Null;
        crate::fleet::eventually("it has caught up", is_it).await;
    };
    change_unseen(&warren, "A").await;
    assert_eq!(warren.post(&processes, &json!({ "argv": ["sleep", "600"] })).await.status, 201);
    caught_up().await;
    assert_eq!(running().await, 1, "it has the new value");
    change_unseen(&warren, "A").await;
    caught_up().await;
    assert_eq!(running().await, 0, "by now it had an old one");
}

// F32
#[tokio::test]
async fn a_rotation_seals_everything_anew_and_values_versions_and_generations_stay() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    for number in 0..3 {
        set(&warren, &format!("/api/v1/secrets/S{number}"), &format!("value {number}")).await;
    }
    set(&warren, &format!("/api/v1/workspaces/{id}/secrets/S0"), "own").await;
    let (before, at) = (stored(&warren, ORG, "S1").await, generation(&warren, id).await);
    let rotated = warren.post("/api/v1/secrets/rotate-key", &json!({})).await.json();
    assert_eq!((&rotated["resealed"], &rotated["unreadable"]), (&json!(4), &json!(0)), "{rotated}");
    assert_eq!(rotated["is_new_key"], true);
    let after = stored(&warren, ORG, "S1").await;
    assert_ne!((&after.key_id, &after.sealed), (&before.key_id, &before.sealed));
    assert_eq!(after.key_id.as_str(), rotated["key_id"]);
    assert_eq!((after.version, after.updated_at), (before.version, before.updated_at));
    assert_eq!(generation(&warren, id).await, at, "nobody restarts for this");
    let script = "printf '%s, %s, %s' \"$S0\" \"$S1\" \"$S2\"";
    assert_eq!(written_by(&warren, id, script).await, "own, value 1, value 2");
    // Also after a restart, and after more rotations than keys are kept.
    for _ in 0..3 {
        let again = warren.post("/api/v1/secrets/rotate-key", &json!({})).await.json();
        assert_eq!(again["resealed"], 4);
    }
    let keys = std::fs::read_to_string(warren.folder().join("secrets.key")).unwrap();
    assert_eq!(keys.lines().count(), 2, "the current and the one before");
    let warren = warren.restart().await;
    assert_eq!(written_by(&warren, id, script).await, "own, value 1, value 2");
}

// F32: crashed after the new key was written, and in the middle of the rows
#[tokio::test]
async fn a_rotation_that_was_cut_off_goes_on_at_the_next_start() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    for number in 0..3 {
        set(&warren, &format!("/api/v1/secrets/S{number}"), &format!("value {number}")).await;
    }
    let path = warren.folder().join("secrets.key");
    let old = std::fs::read_to_string(&path).unwrap();
    let new = STANDARD.encode([42; 32]);
    std::fs::write(&path, format!("{new}\n{old}")).unwrap();
    // Another replica has the new keys already and has sealed one row with them.
    set(&warren, "/api/v1/secrets/S0", "value 0").await;
    let key_id = stored(&warren, ORG, "S0").await.key_id;
    assert_ne!(stored(&warren, ORG, "S1").await.key_id, key_id, "half of the rows are under the old key");
    let script = "printf '%s, %s, %s' \"$S0\" \"$S1\" \"$S2\"";
    assert_eq!(written_by(&warren, id, script).await, "value 0, value 1, value 2", "both keys open");
    let warren = warren.restart().await;
    for _ in 0..2_000 {
        if stored(&warren, ORG, "S1").await.key_id == key_id
            && stored(&warren, ORG, "S2").await.key_id == key_id
        {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let counts = warren.store.read(|tx| tx.count_secrets_by_key()).await.unwrap();
    assert_eq!(counts, [(key_id, 3)]);
    assert_eq!(written_by(&warren, id, script).await, "value 0, value 1, value 2");
}

// F32: a command does not run without what it counts on
#[tokio::test]
async fn without_its_key_a_secret_is_told_as_unreadable_and_nothing_runs() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    set(&warren, "/api/v1/secrets/A", "x").await;
    std::fs::write(warren.folder().join("secrets.key"), STANDARD.encode([1; 32])).unwrap();
    let warren = warren.restart().await;
    let exec = format!("/api/v1/workspaces/{id}/exec");
    let refused = warren.post(&exec, &json!({ "command": "touch ran" })).await;
    assert_eq!((refused.status, refused.code()), (503, "secret_unreadable".into()));
    assert!(refused.json()["detail"].as_str().unwrap().starts_with("A, sealed under k"));
    assert_eq!(warren.get("/api/v1/secrets").await.json()["items"][0]["is_readable"], false);
    let rotated = warren.post("/api/v1/secrets/rotate-key", &json!({})).await.json();
    assert_eq!((&rotated["resealed"], &rotated["unreadable"]), (&json!(0), &json!(1)));
    assert_eq!(set(&warren, "/api/v1/secrets/A", "y").await.status, 200, "set anew, it works again");
    assert_eq!(warren.post(&exec, &json!({ "command": "test ! -e ran" })).await.json()["exit_code"], 0);
}

// F32, sec/U08
#[tokio::test]
async fn a_sealed_value_that_was_moved_or_put_back_in_the_database_does_not_open() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    set(&warren, "/api/v1/secrets/A", "first").await;
    let old = stored(&warren, ORG, "A").await;
    set(&warren, "/api/v1/secrets/A", "second").await;
    set(&warren, "/api/v1/secrets/B", "other").await;
    let current = stored(&warren, ORG, "A").await;
    let other = stored(&warren, ORG, "B").await;
    let exec = format!("/api/v1/workspaces/{id}/exec");
    for foreign in [&other, &old] {
        let forged = SealedSecret { nonce: foreign.nonce, sealed: foreign.sealed.clone(), ..current.clone() };
        for (row, expected) in [(forged, 503), (current.clone(), 200)] {
            let (version, key_id) = (current.version, current.key_id.clone());
            let written = warren.store.write(move |tx| tx.update_secret(&row, version, &key_id)).await;
            written.unwrap();
            let answer = warren.post(&exec, &json!({ "argv": ["true"] })).await;
            assert_eq!(answer.status, expected, "{}", answer.text());
        }
    }
}

// F32
#[tokio::test]
async fn a_workspaces_secrets_end_with_it() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    set(&warren, &format!("/api/v1/workspaces/{id}/secrets/A"), "x").await;
    warren.delete(&format!("/api/v1/workspaces/{id}")).await;
    assert_eq!(warren.store.read(|tx| tx.count_secrets_by_key()).await.unwrap(), []);
}
