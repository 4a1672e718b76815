//! Other systems are told, and speak (X52).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use warren_doors::{Clock as _, ManualClock};
use warren_exchange::{Agents, Config, Exchange, Parts};
use warren_model::{PrincipalKind, TaskId, Timestamp, WorkspaceId};
use warren_outbound::{Connector, OutboundPolicy};
use warren_testkit::{Answer, ScriptedAgent, Warren};

use crate::peer::Peer;

const PATIENCE: Duration = Duration::from_secs(20);

/// A receiver whose answer can be changed.
async fn receiver(status: &Arc<AtomicU16>) -> Peer {
    let status = Arc::clone(status);
    Peer::new(move |mut stream| {
        let status = status.load(Ordering::SeqCst);
        async move {
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    })
    .await
}

async fn warren_with(clock: &Arc<ManualClock>) -> Warren {
    Warren::builder().reaches_loopback().clock(Arc::clone(clock)).start().await
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)))
}

/// (id, secret)
async fn subscribe(warren: &Warren, body: Value) -> (String, String) {
    let made = warren.post("/api/v1/webhooks", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    (made["webhook"]["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
}

/// Something that is an event.
async fn happen(warren: &Warren) {
    let made = warren
        .post("/api/v1/tokens", &json!({ "kind": "user", "name": "x", "scopes": ["events:read"] }))
        .await;
    assert_eq!(made.status, 201, "{}", made.text());
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// One request as it arrived.
struct Told {
    headers: BTreeMap<String, String>,
    body: String,
}

impl Told {
    fn all(peer: &Peer) -> Vec<Self> {
        let requests = peer.raw_heads();
        requests.iter().filter_map(|request| request.split_once("\r\n\r\n")).map(Self::read).collect()
    }

    fn read((head, body): (&str, &str)) -> Self {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let headers = lines.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Self { headers, body: body.to_owned() }
    }

    fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    /// Verified from the bytes of the wire alone.
    fn is_signed_with(&self, secret: &str) -> bool {
        let signed = format!("{}.{}.{}", self.id(), self.headers["webhook-timestamp"], self.body);
        self.headers["webhook-signature"] == format!("v1,{}", tag(secret, &signed))
    }
}

fn tag(secret: &str, text: &str) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
    STANDARD.encode(ring::hmac::sign(&key, text.as_bytes()))
}

// X52
#[tokio::test]
async fn whoever_asked_is_told_of_what_happens_signed_and_of_nothing_else() {
    let clock = clock();
    let warren = warren_with(&clock).await;
    happen(&warren).await;
    let peer = receiver(&Arc::new(AtomicU16::new(204))).await;
    let body = json!({ "name": "tokens", "url": peer.url(), "events": ["identity.token.created"] });
    let (id, secret) = subscribe(&warren, body).await;
    let place = warren.workspace(json!({ "kind": "memory" })).await;
    happen(&warren).await;
    let told = until("told", async || Told::all(&peer).pop()).await;
    assert!(told.is_signed_with(&secret));
    let said: Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!(said["type"], "identity.token.created");
    assert_eq!(said["data"]["details"]["kind"], "user");
    let shown = until("noted", async || {
        let calls = warren.get(&format!("/api/v1/webhooks/{id}/calls?state=delivered")).await.json();
        calls["items"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    assert_eq!(shown, told.id());
    assert_eq!(peer.hits(), 1, "not of what happened before, nor of workspaces");

    // Another key for secrets does not change what two sides share.
    let rotated = warren.post("/api/v1/secrets/rotate-key", &json!({})).await;
    assert_eq!(rotated.json()["resealed"], 1, "{}", rotated.text());
    happen(&warren).await;
    let later = until("told again", async || Told::all(&peer).into_iter().nth(1)).await;
    assert!(later.is_signed_with(&secret) && later.id() != told.id());
    // It is nobody's variable, and nobody's to list.
    assert_eq!(warren.get("/api/v1/secrets").await.json()["items"], json!([]));
    assert_eq!(warren.get(&format!("/api/v1/workspaces/{place}/secrets")).await.json()["items"], json!([]));
    warren.stop().await;
}

// X52
#[tokio::test]
async fn a_failing_receiver_is_tried_again_then_given_up_and_can_be_asked_for_again() {
    let clock = clock();
    let warren = warren_with(&clock).await;
    let status = Arc::new(AtomicU16::new(500));
    let peer = receiver(&status).await;
    let body = json!({ "name": "a", "url": peer.url(), "events": ["workspace.lifecycle.created"] });
    let (id, secret) = subscribe(&warren, body).await;
    warren.workspace(json!({ "kind": "memory" })).await;
    let calls = async |state: &str| {
        warren.get(&format!("/api/v1/webhooks/{id}/calls?state={state}")).await.json()["items"][0].clone()
    };
    for attempt in 1..=10 {
        until("an attempt is noted", async || {
            let call = if attempt < 10 { calls("queued").await } else { calls("dead").await };
            // While it is under way it is due when its claim ends.
            let is_under_way = call["next_attempt_at"] == clock.now().plus_ms(60_000).to_string();
            (call["attempts"] == attempt && !is_under_way).then_some(())
        })
        .await;
        clock.advance_ms(2 * 3_600_000);
        happen(&warren).await;
    }
    assert_eq!(peer.hits(), 10);
    let told = Told::all(&peer);
    assert!(told.iter().all(|one| one.id() == told[0].id() && one.is_signed_with(&secret)));
    assert_ne!(told[0].headers["webhook-timestamp"], told[9].headers["webhook-timestamp"]);
    let dead = calls("dead").await;
    assert_eq!((&dead["attempts"], &dead["last_error"]), (&json!(10), &json!("status")));

    status.store(200, Ordering::SeqCst);
    let path = format!("/api/v1/webhooks/{id}/calls/{}/redeliver", dead["id"].as_str().unwrap());
    assert_eq!(warren.post(&path, &json!({})).await.status, 202);
    until("delivered", async || calls("delivered").await["id"].as_str().map(drop)).await;
    assert_eq!(Told::all(&peer)[10].id(), told[0].id(), "the receiver knows it again");
    warren.stop().await;
}

// X52
#[tokio::test]
async fn a_receiver_that_is_gone_stops_its_webhook_until_somebody_lets_it_go_on() {
    let clock = clock();
    let warren = warren_with(&clock).await;
    let status = Arc::new(AtomicU16::new(410));
    let peer = receiver(&status).await;
    let body = json!({ "name": "a", "url": peer.url(), "events": ["identity.token.created"] });
    let (id, _) = subscribe(&warren, body).await;
    let path = format!("/api/v1/webhooks/{id}");
    happen(&warren).await;
    let is_active = async || warren.get(&path).await.json()["is_active"].as_bool().unwrap();
    until("stopped", async || (!is_active().await).then_some(())).await;
    status.store(200, Ordering::SeqCst);
    assert_eq!(peer.hits(), 1);
    happen(&warren).await;
    assert_eq!(warren.patch(&path, &json!({ "is_active": true })).await.status, 200);
    happen(&warren).await;
    let delivered = format!("{path}/calls?state=delivered");
    until("told again", async || {
        let calls = warren.get(&delivered).await.json();
        calls["items"][0]["id"].as_str().map(drop)
    })
    .await;
    assert_eq!(peer.hits(), 2, "what happened while it was stopped is not told");
    assert_eq!(warren.delete(&path).await.status, 204);
    assert_eq!(warren.get(&path).await.code(), "webhook_not_found");
    warren.stop().await;
}

// X52
#[tokio::test]
async fn a_crash_during_an_attempt_costs_a_repetition_and_no_call() {
    let clock = clock();
    let builder = Warren::builder().reaches_loopback().clock(Arc::clone(&clock)).crashable();
    let warren = builder.start().await;
    let peer = Peer::new(|stream| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(stream);
    })
    .await;
    let body = json!({ "name": "a", "url": peer.url(), "events": ["workspace.lifecycle.created"] });
    let (_, secret) = subscribe(&warren, body).await;
    warren.workspace(json!({ "kind": "memory" })).await;
    until("an attempt", async || (Told::all(&peer).len() == 1).then_some(())).await;
    let warren = warren.crash().await;
    happen(&warren).await;
    assert_eq!(peer.hits(), 1, "it counts as under way until its claim ends");
    clock.advance_ms(61_000);
    happen(&warren).await;
    until("once more", async || (Told::all(&peer).len() == 2).then_some(())).await;
    let told = Told::all(&peer);
    assert_eq!(told[0].id(), told[1].id());
    assert!(told[1].is_signed_with(&secret));
    drop(warren.kill());
}

// X52
#[tokio::test]
async fn of_two_replicas_one_tells() {
    let clock = clock();
    let warren = warren_with(&clock).await;
    let other = Exchange::new(Parts {
        fleet: warren.fleet.clone(),
        connector: Connector::with_system_names(OutboundPolicy::default().with_loopback()),
        config: Config::default(),
        agents: Agents::new(Arc::new(ScriptedAgent::default())),
        signer: warren.exchange.signer.clone(),
    });
    other.start().await.unwrap();
    let peer = receiver(&Arc::new(AtomicU16::new(200))).await;
    let body = json!({ "name": "a", "url": peer.url(), "events": ["identity.token.created"] });
    let (id, _) = subscribe(&warren, body).await;
    for _ in 0..30 {
        happen(&warren).await;
    }
    until("all are delivered", async || {
        let calls = warren.get(&format!("/api/v1/webhooks/{id}/calls?state=delivered")).await.json();
        (calls["items"].as_array().unwrap().len() == 30).then_some(())
    })
    .await;
    let ids: std::collections::BTreeSet<String> =
        Told::all(&peer).iter().map(|told| told.id().to_owned()).collect();
    assert_eq!((ids.len(), peer.hits()), (30, 30));
    other.stop().await;
    warren.stop().await;
}

// X52, sec/A05; the control is in the other tests: what may be called is
#[tokio::test]
async fn a_webhook_to_an_address_that_may_not_be_called_is_refused_when_it_is_made() {
    let warren = Warren::start().await;
    for url in ["http://127.0.0.1:1/", "http://169.254.169.254/", "http://[::1]/", "ftp://a.example/"] {
        let refused = warren.post("/api/v1/webhooks", &json!({ "name": "a", "url": url })).await;
        assert_eq!((refused.status, refused.code().as_str()), (422, "outbound_refused"), "{url}");
    }
    let url = "https://93.184.215.14/";
    for (field, body) in [
        ("events", json!({ "name": "a", "url": url, "events": ["no.such.kind"] })),
        ("secret", json!({ "name": "a", "url": url, "secret": "short" })),
        ("name", json!({ "name": "", "url": url })),
    ] {
        let refused = warren.post("/api/v1/webhooks", &body).await;
        assert_eq!(refused.code(), "invalid_request");
        assert!(refused.json()["detail"].as_str().unwrap().starts_with(field), "{}", refused.text());
    }
    warren.stop().await;
}

async fn post_signed(warren: &Warren, path: &str, id: &str, at_s: i64, body: &str, secret: &str) -> Answer {
    let signature = format!("v1,{}", tag(secret, &format!("{id}.{at_s}.{body}")));
    let call = warren.call("POST", path).header("webhook-id", id);
    let call = call.header("webhook-timestamp", &at_s.to_string()).header("webhook-signature", &signature);
    call.header("content-type", "application/json").body(body.to_owned()).send().await
}

// X52, X4
#[tokio::test]
async fn a_signed_message_through_a_channel_is_work_of_the_channels_own_and_comes_once() {
    let clock = clock();
    let warren = warren_with(&clock).await;
    let place = json!({ "name": "place", "provider": { "kind": "memory" }, "runtime": "external" });
    let place = warren.post("/api/v1/workspaces", &place).await.json()["id"].clone();
    let place: WorkspaceId = place.as_str().unwrap().parse().unwrap();
    let channels = format!("/api/v1/workspaces/{place}/channels");
    let made = warren.post(&channels, &json!({ "name": "ci" })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    let (path, secret) = (made["channel"]["path"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let now_s = clock.now().as_micros() / 1_000_000;
    let body = r#"{"text":"the build failed"}"#;
    let taken = post_signed(&warren, path, "m-1", now_s, body, secret).await;
    assert_eq!(taken.status, 202, "{}", taken.text());
    let id: TaskId = taken.json()["task_id"].as_str().unwrap().parse().unwrap();
    let task = warren.store.read(move |tx| tx.task(id)).await.unwrap().unwrap();
    assert_eq!(task.author.kind, PrincipalKind::Channel);
    assert_eq!(Some(task.author.id.as_str()), made["channel"]["id"].as_str());
    assert_eq!(task.workspace_id, place);
    let again = post_signed(&warren, path, "m-1", now_s, body, secret).await.json();
    assert_eq!((&again["is_repeat"], &again["task_id"]), (&json!(true), &taken.json()["task_id"]));

    // All of these are refused in the same words.
    let other = format!("whsec_{}", STANDARD.encode([9; 32]));
    let nobody = format!("/api/v1/hooks/{}", TaskId::from_parts(clock.now(), [7; 10]));
    let mut unsigned = warren.call("POST", path).body(body);
    unsigned = unsigned.header("webhook-id", "m-2").header("webhook-timestamp", &now_s.to_string());
    let refusals = [
        post_signed(&warren, path, "m-2", now_s, body, &other).await,
        post_signed(&warren, path, "m-2", now_s - 400, body, secret).await,
        post_signed(&warren, path, "m-2", now_s + 400, body, secret).await,
        post_signed(&warren, &nobody, "m-2", now_s, body, secret).await,
        post_signed(&warren, "/api/v1/hooks/none", "m-2", now_s, body, secret).await,
        unsigned.send().await,
    ];
    for refused in refusals {
        let problem = refused.json();
        assert_eq!((refused.status, refused.code().as_str()), (403, "hook_refused"), "{problem}");
        assert_eq!(problem.get("detail"), None, "{problem}");
    }
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(300 << 10));
    assert_eq!(post_signed(&warren, path, "m-3", now_s, &large, secret).await.status, 413);
    let channel = made["channel"]["id"].as_str().unwrap();
    assert_eq!(warren.delete(&format!("{channels}/{channel}")).await.status, 204);
    let closed = post_signed(&warren, path, "m-4", now_s, body, secret).await;
    assert_eq!(closed.code(), "hook_refused");
    assert_eq!(warren.get(&channels).await.json()["items"], json!([]));
    warren.stop().await;
}
