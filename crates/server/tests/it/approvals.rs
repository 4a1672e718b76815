//! Questions of workspaces: decided by people, once, in time, and told to who waits.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use warren_model::{Approval, Limits, WorkspaceId};
use warren_testkit::{Answer, PostgresDatabase, Warren};

use crate::fleet::{create, events};
use crate::memory;

/// A workspace and a token that speaks for it.
async fn agent(warren: &Warren) -> (WorkspaceId, String) {
    let id = create(warren, &json!({ "name": "agent", "provider": memory() })).await;
    let body = json!({ "kind": "workspace", "name": "agent", "workspace_id": id.to_string() });
    let made = warren.post("/api/v1/tokens", &body).await.json();
    (id, made["secret"].as_str().unwrap().to_owned())
}

async fn ask(warren: &Warren, of: WorkspaceId, token: &str, more: &Value) -> Answer {
    let mut body = json!({ "action": "deploy", "reason": "all tests pass", "context": { "version": "1.2" } });
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    warren.call("POST", &format!("/api/v1/workspaces/{of}/approvals")).token(token).json(&body).send().await
}

async fn asked(warren: &Warren, of: WorkspaceId, token: &str) -> String {
    let answer = ask(warren, of, token, &json!({})).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

async fn decide(warren: &Warren, id: &str, how: &str, token: &str) -> Answer {
    let path = format!("/api/v1/approvals/{id}/{how}");
    warren.call("POST", &path).token(token).json(&json!({ "note": "well" })).send().await
}

async fn show(warren: &Warren, id: &str) -> Value {
    warren.get(&format!("/api/v1/approvals/{id}")).await.json()
}

// X51
#[tokio::test]
async fn only_a_person_with_the_right_decides() {
    let warren = Warren::start().await;
    let (of, token) = agent(&warren).await;
    let (_, other) = agent(&warren).await;
    let id = asked(&warren, of, &token).await;
    let scoped = async |scopes: &[&str]| {
        let body = json!({ "kind": "user", "name": "u", "scopes": scopes });
        warren.post("/api/v1/tokens", &body).await.json()["secret"].as_str().unwrap().to_owned()
    };
    let user = scoped(&["workspaces:use", "workspaces:write", "workspaces:read"]).await;
    for (who, code) in [(&token, "not_a_person"), (&other, "approval_not_found"), (&user, "forbidden")] {
        for how in ["approve", "deny"] {
            assert_eq!(decide(&warren, &id, how, who).await.json()["code"], code);
        }
    }
    assert_eq!(show(&warren, &id).await["state"], "pending", "nothing of that counted");
    let person = scoped(&["approvals:decide"]).await;
    let decided = decide(&warren, &id, "deny", &person).await;
    assert_eq!(decided.status, 200, "{}", decided.text());
    let shown = show(&warren, &id).await;
    assert_eq!(
        (&shown["state"], &shown["note"], &shown["decided_by"]["kind"]),
        (&json!("denied"), &json!("well"), &json!("user"))
    );
    let again = decide(&warren, &id, "approve", &warren.token.clone()).await;
    assert_eq!(again.json()["code"], "approval_over");
    let query = warren_store::AuditQuery {
        target_kind: Some("approval".into()),
        ..warren_store::AuditQuery::all(0, 100)
    };
    let audit = warren.store.read(move |tx| tx.audit(&query)).await.unwrap().rows;
    let entries: Vec<_> =
        audit.iter().map(|entry| (entry.action.as_str(), entry.target_id.as_str())).collect();
    assert_eq!(entries, [("approval.denied", id.as_str())]);
}

// X51: at once
#[tokio::test]
async fn the_decision_reaches_a_waiting_agent_at_once() {
    let warren = Warren::start().await;
    let (of, token) = agent(&warren).await;
    let id = asked(&warren, of, &token).await;
    let path = format!("/api/v1/approvals/{id}?wait_ms=60000");
    let began = Instant::now();
    let waiting = warren.call("GET", &path).token(&token).send();
    let deciding = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        decide(&warren, &id, "approve", &warren.token.clone()).await
    };
    let (answer, decided) = tokio::join!(waiting, deciding);
    assert_eq!(decided.status, 200, "{}", decided.text());
    assert_eq!(
        (answer.json()["state"].clone(), answer.json()["note"].clone()),
        (json!("approved"), json!("well"))
    );
    assert!(began.elapsed() < Duration::from_secs(20), "it did not wait to the end");
    let told = events(&warren, Some(of)).await;
    let told: Vec<_> = told.iter().filter(|event| event["kind"] == "exchange.approval.decided").collect();
    assert_eq!((told.len(), &told[0]["data"]["state"]), (1, &json!("approved")));
    let idle =
        warren.call("GET", &format!("/api/v1/approvals/{}?wait_ms=1", asked(&warren, of, &token).await));
    assert_eq!(idle.token(&token).send().await.json()["state"], "pending", "patience ends");
}

// X51: on another replica, and both decide at once
#[tokio::test]
async fn two_people_on_two_replicas_get_one_decision_and_the_agent_hears_it_on_either() {
    let database = PostgresDatabase::create();
    let replica = || Warren::builder().database(database.url()).start();
    let (first, second) = (replica().await, replica().await);
    let (of, token) = agent(&first).await;
    for _ in 0..5 {
        let id = asked(&first, of, &token).await;
        let path = format!("/api/v1/approvals/{id}?wait_ms=60000");
        let (on_first, on_second, one, other) = tokio::join!(
            first.call("GET", &path).token(&token).send(),
            second.call("GET", &path).token(&token).send(),
            decide(&first, &id, "approve", &first.token),
            decide(&second, &id, "deny", &second.token),
        );
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{} {}", one.text(), other.text());
        let decided = if one.status == 200 { "approved" } else { "denied" };
        assert_eq!(
            (&on_first.json()["state"], &on_second.json()["state"]),
            (&json!(decided), &json!(decided))
        );
    }
}

// X51: lists, bad input and limits; sec/U02
#[tokio::test]
async fn questions_are_bounded_masked_and_listed() {
    let limits = Limits { max_pending_approvals: 2, ..Limits::default() };
    let warren = Warren::builder().limits(limits).start().await;
    let (of, token) = agent(&warren).await;
    for more in [
        json!({ "action": "" }),
        json!({ "action": "a\nb" }),
        json!({ "reason": "" }),
        json!({ "context": "text" }),
        json!({ "expires_in_seconds": 0 }),
        json!({ "expires_in_seconds": 99_999_999 }),
    ] {
        let answer = ask(&warren, of, &token, &more).await;
        assert_eq!(
            (answer.status, answer.json()["code"].clone()),
            (422, json!("invalid_approval")),
            "{}",
            answer.text()
        );
    }
    // One byte over each (X5); the quotes and braces of the context count too.
    for more in [
        json!({ "reason": "x".repeat(Approval::MAX_REASON_BYTES + 1) }),
        json!({ "context": { "a": "x".repeat(Approval::MAX_CONTEXT_BYTES - 7) } }),
    ] {
        let answer = ask(&warren, of, &token, &more).await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "payload_too_large"), "{}", answer.text());
        assert!(answer.json()["detail"].as_str().unwrap().contains(" bytes, and may have "));
    }
    let github = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let shown = ask(&warren, of, &token, &json!({ "context": { "with": [github] }, "reason": github })).await;
    assert!(!shown.text().contains(&github[8..]), "{}", shown.text());
    let second = asked(&warren, of, &token).await;
    assert_eq!(ask(&warren, of, &token, &json!({})).await.json()["code"], "approval_limit");
    assert_eq!(decide(&warren, &second, "deny", &warren.token.clone()).await.status, 200);
    asked(&warren, of, &token).await;
    let count = async |query: &str| {
        let page = warren.get(&format!("/api/v1/approvals{query}")).await.json();
        page["items"].as_array().unwrap().len()
    };
    assert_eq!((count("").await, count("?state=pending").await, count("?state=denied").await), (3, 2, 1));
    assert_eq!(warren.get("/api/v1/approvals?state=maybe").await.status, 400);
    assert_eq!(warren.get(&format!("/api/v1/approvals/{second}?wait_ms=60001")).await.status, 400);
}

// X5, X51
#[tokio::test]
async fn the_note_of_a_decision_is_bounded() {
    let warren = Warren::start().await;
    let (of, token) = agent(&warren).await;
    let open = asked(&warren, of, &token).await;
    for (note, status, code) in [
        ("x".repeat(Approval::MAX_NOTE_BYTES + 1), 413, "payload_too_large"),
        ("\0".to_owned(), 422, "invalid_approval"),
        ("x".repeat(Approval::MAX_NOTE_BYTES), 200, ""),
    ] {
        let path = format!("/api/v1/approvals/{open}/approve");
        let answer = warren.post(&path, &json!({ "note": note })).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(status == 200 || answer.code() == code, "{}", answer.text());
    }
}
