//! Other systems are told, and speak (X52).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use warren_exchange::webhooks::{CreateChannel, CreateWebhook, Incoming};
use warren_exchange::{Accepted, Agents, Config, Error, Exchange, Parts, WebhookCallQuery};
use warren_fleet::SecretScope;
use warren_model::{
    ChannelId, ErrorCode, EventKind, PrincipalKind, Runtime, ScopeSet, WebhookCall, WebhookCallState,
    WebhookId,
};
use warren_outbound::{Connector, OutboundPolicy};
use warren_testkit::{BedOptions, ExchangeBed, ExchangeOptions, ScriptedAgent, eventually};

use crate::peer::Peer;

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

/// Lets it call peers on this machine.
fn loopback() -> ExchangeOptions {
    ExchangeOptions { outbound: OutboundPolicy::default().with_loopback(), ..ExchangeOptions::default() }
}

fn webhook(url: &str, kinds: &[EventKind]) -> CreateWebhook {
    let (name, url, kinds) = ("a".to_owned(), url.to_owned(), kinds.to_vec());
    CreateWebhook { name, url, kinds, workspace_id: None, secret: None }
}

/// (id, secret)
async fn subscribe(bed: &ExchangeBed, peer: &Peer, kind: EventKind) -> (WebhookId, String) {
    let create = webhook(&peer.url(), &[kind]);
    let (made, secret) = bed.exchange.webhooks.create(&bed.operator, create).await.unwrap();
    (made.id, secret.reveal().to_owned())
}

/// Something that is an event.
async fn happen(bed: &ExchangeBed) {
    bed.user(ScopeSet::all()).await;
}

async fn calls(bed: &ExchangeBed, id: WebhookId, state: WebhookCallState) -> Vec<WebhookCall> {
    let query = WebhookCallQuery { webhook_id: id, state: Some(state), before: None, limit: 100 };
    bed.exchange.webhooks.calls(&bed.operator, query).await.unwrap().rows
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
    for bed in ExchangeBed::with(loopback()).await {
        happen(&bed).await;
        let peer = receiver(&Arc::new(AtomicU16::new(204))).await;
        let (id, secret) = subscribe(&bed, &peer, EventKind::TokenCreated).await;
        let place = bed.workspace().await.id;
        happen(&bed).await;
        eventually("told", async || Told::all(&peer).len() == 1).await;
        let told = Told::all(&peer).remove(0);
        assert!(told.is_signed_with(&secret));
        let said: Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!(said["type"], "identity.token.created");
        assert_eq!(said["data"]["details"]["kind"], "user");
        let delivered = async || calls(&bed, id, WebhookCallState::Delivered).await;
        eventually("noted", async || delivered().await.len() == 1).await;
        assert_eq!(delivered().await[0].id.to_string(), told.id());
        assert_eq!(peer.hits(), 1, "not of what happened before, nor of workspaces");

        // Another key for secrets does not change what two sides share.
        assert_eq!(bed.fleet.key_rotation.rotate(&bed.operator).await.unwrap().resealed, 1);
        happen(&bed).await;
        eventually("told again", async || Told::all(&peer).len() == 2).await;
        let later = Told::all(&peer).remove(1);
        assert!(later.is_signed_with(&secret) && later.id() != told.id());
        // It is nobody's variable, and nobody's to list.
        for scope in [SecretScope::Org, SecretScope::Workspace(place)] {
            let listed = bed.fleet.secrets.list(&bed.operator, scope, None, 10).await.unwrap();
            assert!(listed.rows.is_empty());
        }
    }
}

// X52
#[tokio::test]
async fn a_failing_receiver_is_tried_again_then_given_up_and_can_be_asked_for_again() {
    for bed in ExchangeBed::with(loopback()).await {
        let status = Arc::new(AtomicU16::new(500));
        let peer = receiver(&status).await;
        let (id, secret) = subscribe(&bed, &peer, EventKind::WorkspaceCreated).await;
        bed.workspace().await;
        for attempt in 1..=10 {
            let state = if attempt < 10 { WebhookCallState::Queued } else { WebhookCallState::Dead };
            eventually("an attempt is noted", async || {
                // While it is under way it is due when its claim ends.
                let claimed_until = Some(bed.now().plus_ms(60_000));
                let found = calls(&bed, id, state).await;
                found.iter().any(|call| call.attempts == attempt && call.due_at != claimed_until)
            })
            .await;
            bed.clock.advance_ms(2 * 3_600_000);
            happen(&bed).await;
        }
        assert_eq!(peer.hits(), 10);
        let told = Told::all(&peer);
        assert!(told.iter().all(|one| one.id() == told[0].id() && one.is_signed_with(&secret)));
        assert_ne!(told[0].headers["webhook-timestamp"], told[9].headers["webhook-timestamp"]);
        let dead = calls(&bed, id, WebhookCallState::Dead).await.remove(0);
        assert_eq!((dead.attempts, dead.last_error.as_deref()), (10, Some("status")));

        status.store(200, Ordering::SeqCst);
        bed.exchange.webhooks.redeliver(&bed.operator, id, dead.id).await.unwrap();
        let is_delivered = async || !calls(&bed, id, WebhookCallState::Delivered).await.is_empty();
        eventually("delivered", is_delivered).await;
        assert_eq!(Told::all(&peer)[10].id(), told[0].id(), "the receiver knows it again");
    }
}

// X52
#[tokio::test]
async fn a_receiver_that_is_gone_stops_its_webhook_until_somebody_lets_it_go_on() {
    for bed in ExchangeBed::with(loopback()).await {
        let status = Arc::new(AtomicU16::new(410));
        let peer = receiver(&status).await;
        let (id, _) = subscribe(&bed, &peer, EventKind::TokenCreated).await;
        let (webhooks, who) = (&bed.exchange.webhooks, &bed.operator);
        happen(&bed).await;
        eventually("stopped", async || !webhooks.get(who, id).await.unwrap().is_active).await;
        status.store(200, Ordering::SeqCst);
        assert_eq!(peer.hits(), 1);
        happen(&bed).await;
        webhooks.set_active(who, id, true).await.unwrap();
        happen(&bed).await;
        let is_told = async || !calls(&bed, id, WebhookCallState::Delivered).await.is_empty();
        eventually("told again", is_told).await;
        assert_eq!(peer.hits(), 2, "what happened while it was stopped is not told");
        webhooks.remove(who, id).await.unwrap();
        assert_eq!(webhooks.get(who, id).await.unwrap_err().code, ErrorCode::WebhookNotFound);
    }
}

// X52
#[tokio::test]
async fn a_crash_during_an_attempt_costs_a_repetition_and_no_call() {
    for bed in ExchangeBed::with(ExchangeOptions { bed: BedOptions::crashable(), ..loopback() }).await {
        let peer = Peer::new(|stream| async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            drop(stream);
        })
        .await;
        let (_, secret) = subscribe(&bed, &peer, EventKind::WorkspaceCreated).await;
        bed.workspace().await;
        eventually("an attempt", async || Told::all(&peer).len() == 1).await;
        let bed = bed.crash().await;
        happen(&bed).await;
        assert_eq!(peer.hits(), 1, "it counts as under way until its claim ends");
        bed.clock.advance_ms(61_000);
        happen(&bed).await;
        eventually("once more", async || Told::all(&peer).len() == 2).await;
        let told = Told::all(&peer);
        assert_eq!(told[0].id(), told[1].id());
        assert!(told[1].is_signed_with(&secret));
    }
}

// X52
#[tokio::test]
async fn of_two_replicas_one_tells() {
    for bed in ExchangeBed::with(loopback()).await {
        let other = Exchange::new(Parts {
            fleet: bed.fleet.clone(),
            connector: Connector::with_system_names(OutboundPolicy::default().with_loopback()),
            config: Config::default(),
            agents: Agents::new(Arc::new(ScriptedAgent::default())),
            signer: bed.exchange.signer.clone(),
            web_access: Default::default(),
        });
        other.start().await.unwrap();
        let peer = receiver(&Arc::new(AtomicU16::new(200))).await;
        let (id, _) = subscribe(&bed, &peer, EventKind::TokenCreated).await;
        for _ in 0..30 {
            happen(&bed).await;
        }
        let delivered = async || calls(&bed, id, WebhookCallState::Delivered).await.len();
        eventually("all are delivered", async || delivered().await == 30).await;
        let ids: BTreeSet<String> = Told::all(&peer).iter().map(|told| told.id().to_owned()).collect();
        assert_eq!((ids.len(), peer.hits()), (30, 30));
        other.stop().await;
    }
}

// X52, sec/A05; the control is in the other tests: what may be called is
#[tokio::test]
async fn a_webhook_to_an_address_that_may_not_be_called_is_refused_when_it_is_made() {
    for bed in ExchangeBed::with_clock().await {
        let refused = async |create: CreateWebhook| {
            bed.exchange.webhooks.create(&bed.operator, create).await.map(drop).unwrap_err()
        };
        for url in ["http://127.0.0.1:1/", "http://169.254.169.254/", "http://[::1]/", "ftp://a.example/"] {
            assert_eq!(refused(webhook(url, &[])).await.code, ErrorCode::OutboundRefused, "{url}");
        }
        let public = || webhook("https://93.184.215.14/", &[]);
        for (field, create) in [
            ("secret", CreateWebhook { secret: Some("short".into()), ..public() }),
            ("name", CreateWebhook { name: String::new(), ..public() }),
        ] {
            let refused = refused(create).await;
            assert_eq!(refused.code, ErrorCode::InvalidRequest);
            assert!(refused.detail.as_ref().unwrap().starts_with(field), "{refused}");
        }
    }
}

/// What a system outside sends through a channel.
struct Outside<'a> {
    bed: &'a ExchangeBed,
    channel: ChannelId,
    secret: &'a str,
    /// How far its clock is from ours.
    skew_s: i64,
}

impl Outside<'_> {
    async fn send(&self, id: &str, body: &str) -> Result<Accepted, Error> {
        let at_s = self.bed.now().as_micros() / 1_000_000 + self.skew_s;
        let signature = format!("v1,{}", tag(self.secret, &format!("{id}.{at_s}.{body}")));
        let mut headers = http::HeaderMap::new();
        headers.insert("webhook-id", id.parse().unwrap());
        headers.insert("webhook-timestamp", at_s.to_string().parse().unwrap());
        headers.insert("webhook-signature", signature.parse().unwrap());
        headers.insert("content-type", "application/json".parse().unwrap());
        let incoming = Incoming { headers: &headers, body: body.as_bytes() };
        self.bed.exchange.channels.receive(self.channel, incoming).await
    }
}

// X52, X4
#[tokio::test]
async fn a_signed_message_through_a_channel_is_work_of_the_channels_own_and_comes_once() {
    for bed in ExchangeBed::with_clock().await {
        let place = bed.awaiting(Runtime::External).await;
        let (channels, who) = (&bed.exchange.channels, &bed.operator);
        let create = CreateChannel { name: "ci".into(), secret: None };
        let (made, secret) = channels.create(who, place, create).await.unwrap();
        let from = Outside { bed: &bed, channel: made.id, secret: secret.reveal(), skew_s: 0 };
        let body = r#"{"text":"the build failed"}"#;
        let taken = from.send("m-1", body).await.unwrap();
        assert_eq!(taken.task.author.kind, PrincipalKind::Channel);
        assert_eq!(taken.task.author.id, made.id.to_string());
        assert_eq!(taken.task.workspace_id, place);
        let again = from.send("m-1", body).await.unwrap();
        assert_eq!((again.is_repeat, again.task.id), (true, taken.task.id));

        // All of these are refused in the same words.
        let other = format!("whsec_{}", STANDARD.encode([9; 32]));
        let nobody = ChannelId::from_parts(bed.now(), [7; 10]);
        for forged in [
            Outside { secret: &other, ..from },
            Outside { skew_s: -400, ..from },
            Outside { skew_s: 400, ..from },
            Outside { channel: nobody, ..from },
        ] {
            let refused = forged.send("m-2", body).await.unwrap_err();
            assert_eq!((refused.code, refused.detail), (ErrorCode::HookRefused, None));
        }
        let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(300 << 10));
        assert_eq!(from.send("m-3", &large).await.unwrap_err().code, ErrorCode::PayloadTooLarge);
        channels.remove(who, place, made.id).await.unwrap();
        assert_eq!(from.send("m-4", body).await.unwrap_err().code, ErrorCode::HookRefused);
        assert!(channels.list(who, place).await.unwrap().rows.is_empty());
    }
}

// F8, X52
#[tokio::test]
async fn a_purge_takes_the_secrets_of_channels_with_it() {
    for bed in ExchangeBed::with_clock().await {
        let (id, other) = (bed.workspace().await.id, bed.workspace().await.id);
        let channel = async |of| {
            let create = CreateChannel { name: "door".into(), secret: None };
            bed.exchange.channels.create(&bed.operator, of, create).await.unwrap().0.id
        };
        let (gone, kept) = (channel(id).await, channel(other).await);
        let has_secret = async |channel: ChannelId| {
            let name = warren_service::Sealer::system_secret_name(channel);
            let owner = warren_service::Sealer::SYSTEM_SECRETS;
            let found = bed.store.read(move |tx| tx.secret(owner, &name).map_err(Error::from));
            found.await.unwrap().is_some()
        };
        assert!(has_secret(gone).await);
        bed.fleet.workspaces.remove(&bed.operator, id, None, true).await.unwrap();
        eventually("its secret is erased", async || !has_secret(gone).await).await;
        assert!(has_secret(kept).await, "of others nothing is taken");
    }
}
