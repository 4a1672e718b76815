//! One trait for all the ways in which other systems are told and speak (X52): a chat network is one more
//! implementation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::Value;
use warren_model::{Message, Network, Part, Role, Timestamp, Webhook, WebhookCall};
use warren_rules::messages::webhooks::is_timely;
use warren_rules::text::json_bounds::JsonBounds;
use zeroize::Zeroizing;

use warren_outbound::Call;

/// What two sides share, in the form in which it is shown: `whsec_` and base64.
#[derive(Clone)]
pub struct SharedSecret(Zeroizing<String>);

const PREFIX: &str = "whsec_";
/// As Standard Webhooks wants them.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

impl SharedSecret {
    pub fn of(bytes: &[u8; 32]) -> Self {
        Self(Zeroizing::new(format!("{PREFIX}{}", STANDARD.encode(bytes))))
    }

    /// One that the other side chose.
    pub fn parse(text: &str) -> Option<Self> {
        let key = Zeroizing::new(STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?);
        KEY_BYTES.contains(&key.len()).then(|| Self(Zeroizing::new(text.to_owned())))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn key(&self) -> hmac::Key {
        let text = self.0.strip_prefix(PREFIX).unwrap_or_default();
        let bytes = Zeroizing::new(STANDARD.decode(text).unwrap_or_default());
        hmac::Key::new(hmac::HMAC_SHA256, &bytes)
    }
}

impl std::fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedSecret(…)")
    }
}

/// A request that came in through a channel.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a> {
    pub headers: &'a http::HeaderMap,
    pub body: &'a [u8],
}

/// It is not signed as it should be, too old, or no message. Which of these is not told: it would help to forge one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unverified;

/// How the other side speaks.
pub trait Channel: Send + Sync + std::fmt::Debug {
    /// The call that tells of an event.
    fn compose(&self, webhook: &Webhook, call: &WebhookCall, secret: &SharedSecret, now: Timestamp) -> Call;

    /// The message in what came in, if it is from whom it claims to be. Its id is the sender's, so that the same one
    /// again is no second message.
    fn receive(
        &self,
        incoming: Incoming<'_>,
        secret: &SharedSecret,
        now: Timestamp,
    ) -> Result<Message, Unverified>;
}

pub(crate) fn speaker_of(network: Network) -> &'static dyn Channel {
    match network {
        Network::Webhook => &StandardWebhooks,
    }
}

/// <https://www.standardwebhooks.com>: id, time and body are signed with a shared secret.
#[derive(Debug, Clone, Copy)]
pub struct StandardWebhooks;

const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";
/// Signatures in one header: a sender that changes its secret sends two.
const MAX_SIGNATURES: usize = 4;

fn signed_text(id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat()
}

impl Channel for StandardWebhooks {
    fn compose(&self, webhook: &Webhook, call: &WebhookCall, secret: &SharedSecret, now: Timestamp) -> Call {
        let (id, timestamp) = (call.id.to_string(), (now.as_micros() / 1_000_000).to_string());
        let tag = hmac::sign(&secret.key(), &signed_text(&id, &timestamp, call.body.as_bytes()));
        let signature = format!("v1,{}", STANDARD.encode(tag));
        Call::post(&webhook.url)
            .body("application/json", call.body.clone())
            .header(ID, id)
            .header(TIMESTAMP, timestamp)
            .header(SIGNATURE, signature)
    }

    fn receive(
        &self,
        incoming: Incoming<'_>,
        secret: &SharedSecret,
        now: Timestamp,
    ) -> Result<Message, Unverified> {
        let header = |name: &str| {
            let mut values = incoming.headers.get_all(name).iter();
            let first = values.next().filter(|_| values.next().is_none());
            first.and_then(|value| value.to_str().ok()).ok_or(Unverified)
        };
        let (id, timestamp, signatures) = (header(ID)?, header(TIMESTAMP)?, header(SIGNATURE)?);
        let sent_s: i64 = timestamp.parse().map_err(|_| Unverified)?;
        let text = signed_text(id, timestamp, incoming.body);
        let key = secret.key();
        let is_signed = signatures.split(' ').take(MAX_SIGNATURES).any(|one| {
            let tag = one.strip_prefix("v1,").and_then(|tag| STANDARD.decode(tag).ok());
            tag.is_some_and(|tag| hmac::verify(&key, &text, &tag).is_ok())
        });
        let has_good_id = (1..=Message::MAX_ID_BYTES).contains(&id.len());
        if !is_signed || !has_good_id || !is_timely(sent_s, now) {
            return Err(Unverified);
        }
        Ok(Message::new(id, Role::User, vec![part(incoming.body)?]))
    }
}

/// `{"text": …}` and what is not JSON is said in words; anything else is data.
fn part(body: &[u8]) -> Result<Part, Unverified> {
    let text = std::str::from_utf8(body).map_err(|_| Unverified)?;
    JsonBounds::default().check(body).map_err(|_| Unverified)?;
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Ok(Part::text(text));
    };
    let alone = value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.get("text"));
    Ok(match alone.and_then(Value::as_str) {
        Some(text) => Part::text(text),
        None => Part::data(value),
    })
}

#[cfg(test)]
mod tests {
    use warren_model::{Content, EventKind, OrgId, Principal, WebhookCallId, WebhookCallState, WebhookId};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_614_265_330_000_000);

    /// The example of the standard's own libraries.
    fn secret() -> SharedSecret {
        SharedSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()
    }

    fn headers(id: &str, timestamp: &str, signature: &str) -> http::HeaderMap {
        let mut headers = http::HeaderMap::new();
        for (name, value) in [(ID, id), (TIMESTAMP, timestamp), (SIGNATURE, signature)] {
            headers.insert(name, value.parse().unwrap());
        }
        headers
    }

    const EXAMPLE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;

    // X52
    #[test]
    fn the_standards_own_example_is_taken_and_nothing_that_differs_from_it() {
        let receive = |headers: &http::HeaderMap, body: &[u8], now| {
            StandardWebhooks.receive(Incoming { headers, body }, &secret(), now)
        };
        let good = headers("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", EXAMPLE);
        let message = receive(&good, BODY, NOW).unwrap();
        assert_eq!(message.id, "msg_p5jXN8AQM9LWM0D4loKWxJek");
        assert!(
            matches!(&message.parts[0].content, Content::Data(data) if data["test"] == 2_432_232_314_u64)
        );
        let two = headers("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", &format!("v1,AAAA v2,x {EXAMPLE}"));
        assert!(receive(&two, BODY, NOW).is_ok(), "one of several is enough");

        assert_eq!(receive(&good, BODY, NOW.plus_ms(301_000)), Err(Unverified), "replayed later");
        assert_eq!(receive(&good, BODY, NOW.plus_ms(-301_000)), Err(Unverified));
        assert_eq!(receive(&good, b"{\"test\": 1}", NOW), Err(Unverified));
        for bad in [
            headers("msg_other", "1614265330", EXAMPLE),
            headers("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265331", EXAMPLE),
            headers("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,AAAA"),
            headers("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", &EXAMPLE[3..]),
            http::HeaderMap::new(),
        ] {
            assert_eq!(receive(&bad, BODY, NOW), Err(Unverified), "{bad:?}");
        }
    }

    // X52
    #[test]
    fn what_we_send_is_what_we_would_take() {
        let webhook = Webhook {
            id: WebhookId::from_parts(NOW, [1; 10]),
            org_id: OrgId::DEFAULT,
            name: "a".into(),
            network: Network::Webhook,
            url: "https://a.example/".into(),
            kinds: Vec::new(),
            workspace_id: None,
            since: 0,
            is_active: true,
            created_at: NOW,
            created_by: Principal::system("test"),
        };
        let call = WebhookCall {
            id: WebhookCallId::from_parts(NOW, [3; 10]),
            webhook_id: webhook.id,
            seq: 6,
            kind: EventKind::WorkspaceCreated,
            body: r#"{"text":"hello"}"#.into(),
            state: WebhookCallState::Queued,
            attempts: 1,
            due_at: None,
            last_status: None,
            last_error: None,
            created_at: NOW,
            ended_at: None,
        };
        let composed = StandardWebhooks.compose(&webhook, &call, &secret(), NOW);
        let mut headers = http::HeaderMap::new();
        for (name, value) in &composed.headers {
            headers.insert(http::HeaderName::try_from(name.as_str()).unwrap(), value.parse().unwrap());
        }
        let incoming = Incoming { headers: &headers, body: &composed.body };
        let message = StandardWebhooks.receive(incoming, &secret(), NOW).unwrap();
        assert_eq!(message.parts, [Part::text("hello")]);
        assert_eq!(message.id, call.id.to_string());
        let other = SharedSecret::of(&[7; 32]);
        assert_eq!(StandardWebhooks.receive(incoming, &other, NOW), Err(Unverified));
    }

    // X52
    #[test]
    fn a_secret_is_not_printed_and_a_weak_one_is_not_taken() {
        assert!(!format!("{:?}", secret()).contains("Mf"));
        assert!(SharedSecret::parse(SharedSecret::of(&[1; 32]).reveal()).is_some());
        for weak in ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_not base64"] {
            assert!(SharedSecret::parse(weak).is_none(), "{weak}");
        }
    }
}
