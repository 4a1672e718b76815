//! What becomes of what was made with a token that is revoked.

use serde_json::{Value, json};
use warren_model::WorkspaceId;
use warren_testkit::Warren;

use crate::fleet::reporting;

const ALL: [&str; 5] =
    ["workspaces:read", "workspaces:write", "workspaces:use", "tokens:write", "tokens:read"];

/// What a token made, and what a token that it made did in turn.
struct Made {
    minted: String,
    schedules: [String; 2],
    webhook: String,
    channel: String,
}

async fn post(warren: &Warren, token: &str, path: &str, body: &Value) -> Value {
    let answer = warren.call("POST", path).token(token).json(body).send().await;
    assert_eq!(answer.status, 201, "{path}: {}", answer.text());
    answer.json()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// A token: (its secret, its id).
async fn mint(warren: &Warren, by: &str, name: &str) -> (String, String) {
    let scopes: Vec<_> = ALL.into_iter().chain(["events:read"]).collect();
    let body = json!({ "kind": "user", "name": name, "scopes": scopes });
    let made = post(warren, by, "/api/v1/tokens", &body).await;
    (text(&made["secret"]), text(&made["token"]["id"]))
}

async fn make(warren: &Warren, token: &str, of: WorkspaceId) -> Made {
    let (minted, _) = mint(warren, token, "minted").await;
    let schedules = format!("/api/v1/workspaces/{of}/schedules");
    let schedule = |name: &str| json!({ "name": name, "every_seconds": 3_600, "prompt": "What is new?" });
    let by_it = post(warren, token, &schedules, &schedule("by-it")).await;
    let by_minted = post(warren, &minted, &schedules, &schedule("by-minted")).await;
    let hook = json!({ "name": "hook", "url": "https://93.184.215.14/" });
    let webhook = post(warren, token, "/api/v1/webhooks", &hook).await;
    let channels = format!("/api/v1/workspaces/{of}/channels");
    let channel = post(warren, token, &channels, &json!({ "name": "channel" })).await;
    Made {
        minted,
        schedules: [text(&by_it["id"]), text(&by_minted["id"])],
        webhook: text(&webhook["webhook"]["id"]),
        channel: text(&channel["channel"]["id"]),
    }
}

/// Which of it still acts: the token, both schedules, the webhook, the channel.
async fn acting(warren: &Warren, of: WorkspaceId, made: &Made) -> [bool; 5] {
    let minted = warren.call("GET", "/api/v1/workspaces").token(&made.minted).send().await.status == 200;
    let mut schedules = [false; 2];
    for (at, id) in made.schedules.iter().enumerate() {
        let shown = warren.get(&format!("/api/v1/schedules/{id}")).await.json();
        schedules[at] = shown["is_paused"] == false && !shown["next_at"].is_null();
    }
    let webhook = warren.get(&format!("/api/v1/webhooks/{}", made.webhook)).await.json()["is_active"] == true;
    let channels = warren.get(&format!("/api/v1/workspaces/{of}/channels")).await.text();
    [minted, schedules[0], schedules[1], webhook, channels.contains(&made.channel)]
}

// F30, F31, F35
#[tokio::test]
async fn what_was_made_with_a_revoked_token_ends_with_it_and_goes_on_where_it_is_kept() {
    let warren = Warren::start().await;
    let of = reporting(&warren).await.0;
    let (secret, id) = mint(&warren, &warren.token, "maker").await;
    let made = make(&warren, &secret, of).await;
    // It is told before: two schedules, of which one was made through another token.
    let listed = warren.get(&format!("/api/v1/tokens/{id}/made")).await.json();
    let counts = json!({ "channel": 1, "schedule": 2, "token": 1, "webhook": 1 });
    assert_eq!(listed["counts"], counts, "{listed}");
    assert_eq!(acting(&warren, of, &made).await, [true; 5]);
    // The control: kept, it all goes on.
    let revoked = warren.delete(&format!("/api/v1/tokens/{id}?keep=true")).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    assert_eq!((&revoked.json()["ended"], &revoked.json()["made"]["counts"]), (&json!(false), &counts));
    assert_eq!(warren.call("GET", "/api/v1/workspaces").token(&secret).send().await.status, 401);
    assert_eq!(acting(&warren, of, &made).await, [true; 5]);
    // Once more, without keeping it.
    let revoked = warren.delete(&format!("/api/v1/tokens/{id}")).await.json();
    assert_eq!((&revoked["ended"], &revoked["made"]["counts"]), (&json!(true), &counts));
    assert_eq!(acting(&warren, of, &made).await, [false; 5]);
    let listed = warren.get(&format!("/api/v1/tokens/{id}/made")).await.json();
    assert_eq!(listed, json!({ "counts": {}, "items": [] }), "nothing acts any more");
    let entries = warren.get("/api/v1/audit?limit=500").await.json();
    let entries = entries["items"].as_array().unwrap().clone();
    let told = |action: &str, target: &str| {
        entries.iter().any(|entry| entry["action"] == action && entry["target"]["id"] == target)
    };
    for schedule in &made.schedules {
        assert!(told("schedule.changed", schedule), "{entries:?}");
    }
    assert!(told("webhook.changed", &made.webhook) && told("channel.removed", &made.channel), "{entries:?}");
    let revocations = entries.iter().filter(|entry| entry["action"] == "token.revoked").count();
    assert_eq!(revocations, 2, "its own, once, and that of the token that it made");
}

// F30, F10: whoever was let in by it is let in no more
#[tokio::test]
async fn a_runtime_and_a_browser_that_came_by_a_revoked_token_are_out_and_others_stay() {
    let warren = Warren::start().await;
    let admin = json!({ "kind": "admin", "name": "second" });
    let admin = post(&warren, &warren.token, "/api/v1/tokens", &admin).await;
    let (secret, id) = (text(&admin["secret"]), text(&admin["token"]["id"]));
    let of = crate::fleet::external(&warren).await;
    let join = json!({ "kind": "join", "name": "boot", "workspace_id": of.to_string() });
    let join = text(&post(&warren, &secret, "/api/v1/tokens", &join).await["secret"]);
    let runner = crate::fleet::try_register(&warren, &join, &json!({})).await.json();
    let runner = text(&runner["token"]);
    let (_, others) = reporting(&warren).await;
    let beat = async |token: &str| crate::fleet::try_beat(&warren, token, &json!({})).await.status;
    assert_eq!((beat(&runner).await, beat(&others).await), (200, 200));
    assert_eq!(warren.delete(&format!("/api/v1/tokens/{id}")).await.status, 200);
    assert_eq!((beat(&runner).await, beat(&others).await), (401, 200));
}

// F30: a list of what others made is nobody else's
#[tokio::test]
async fn what_was_made_with_a_token_is_shown_with_the_scope_for_tokens_only() {
    let warren = Warren::start().await;
    let (_, id) = mint(&warren, &warren.token, "maker").await;
    let reader = json!({ "kind": "user", "name": "reader", "scopes": ["workspaces:read"] });
    let reader = text(&post(&warren, &warren.token, "/api/v1/tokens", &reader).await["secret"]);
    let path = format!("/api/v1/tokens/{id}/made");
    assert_eq!(warren.call("GET", &path).token(&reader).send().await.status, 403);
    let unknown = "/api/v1/tokens/0198c0de-0000-7000-8000-000000000001/made";
    assert_eq!(warren.get(unknown).await.code(), "token_not_found");
    assert_eq!(warren.delete(&format!("/api/v1/tokens/{id}?keep=perhaps")).await.status, 400);
}
