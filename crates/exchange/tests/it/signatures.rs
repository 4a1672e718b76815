//! What reaches a runtime can be checked with the published keys, and with nothing but the bytes of the wire.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use warren_model::{Principal, UserId};
use warren_outbound::signing::About;
use warren_outbound::{Call, OutboundPolicy};
use warren_testkit::{ExchangeBed, ExchangeOptions};

use crate::peer::Peer;

/// A verifier that shares no code with the signer: it reads the head that arrived, and the key set as JSON.
fn verifies(head: &str, url: &str, body: &[u8], keys: &Value) -> Result<(), String> {
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let found: Vec<&str> =
            lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect();
        match found.as_slice() {
            [one] => Ok((*one).to_owned()),
            other => Err(format!("{name}: {other:?}")),
        }
    };
    let digest = ring::digest::digest(&ring::digest::SHA256, body);
    if header("content-digest")? != format!("sha-256=:{}:", STANDARD.encode(digest)) {
        return Err("another body".to_owned());
    }
    let input = header("signature-input")?;
    let parameters = input.strip_prefix("warren=").ok_or("no signature of ours")?;
    let names = parameters.split_once('(').and_then(|(_, rest)| rest.split_once(')')).ok_or("no list")?.0;
    let mut base = String::new();
    for name in names.split(' ').map(|name| name.trim_matches('"')) {
        let value = match name {
            "@method" => head.split(' ').next().unwrap().to_owned(),
            "@target-uri" => url.to_owned(),
            other => header(other)?,
        };
        base.push_str(&format!("\"{name}\": {value}\n"));
    }
    base.push_str(&format!("\"@signature-params\": {parameters}"));
    let key_id =
        parameters.split("keyid=\"").nth(1).and_then(|rest| rest.split('"').next()).ok_or("no keyid")?;
    let keys = keys["keys"].as_array().ok_or("no keys")?;
    let key = keys.iter().find(|key| key["kid"] == key_id).ok_or("unknown key")?;
    let x = URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap()).unwrap();
    let signature = header("signature")?;
    let signature =
        signature.strip_prefix("warren=:").and_then(|text| text.strip_suffix(':')).ok_or("shape")?;
    let signature = STANDARD.decode(signature).map_err(|error| error.to_string())?;
    ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, x)
        .verify(base.as_bytes(), &signature)
        .map_err(|_| "not what was signed".to_owned())
}

// X2
#[tokio::test]
async fn a_runtime_verifies_author_message_and_body_with_the_published_keys() {
    let outbound = OutboundPolicy::default().with_loopback();
    let bed = ExchangeBed::on_sqlite(ExchangeOptions { outbound, ..ExchangeOptions::real_time() }).await;
    let peer = Peer::ok().await;
    let published = bed.exchange.signer.public_keys();
    let published: Vec<_> = published.iter().map(|key| json!({ "kid": key.id, "x": key.x })).collect();
    let keys = json!({ "keys": published });

    let author = Principal::user(UserId::OPERATOR);
    let body = json!({ "text": "hello" });
    let url = format!("{}a2a?x=1", peer.url());
    let call = Call::post(&url).json(&body);
    let call = bed.exchange.signer.sign(call, About { author: &author, message_id: "m 1\r\n\"é\"" }).unwrap();
    bed.exchange.connector().call(call).await.unwrap();
    let request = peer.raw_heads().remove(0);
    let head = request.split("\r\n\r\n").next().unwrap().to_owned() + "\r\n";
    let sent = body.to_string();
    assert_eq!(verifies(&head, &url, sent.as_bytes(), &keys), Ok(()));
    assert!(head.contains("warren-message: m%201%0D%0A%22%C3%A9%22\r\n"), "{head}");

    // Whatever is changed on the way is noticed.
    let forged = head.replace(&author.to_string(), "user:somebody-else");
    assert!(verifies(&forged, &url, sent.as_bytes(), &keys).is_err());
    assert!(verifies(&head.replace("m%201", "m%202"), &url, sent.as_bytes(), &keys).is_err());
    assert!(verifies(&head.replace("POST ", "PUT "), &url, sent.as_bytes(), &keys).is_err());
    assert!(verifies(&head, &url.replace("x=1", "x=2"), sent.as_bytes(), &keys).is_err());
    assert!(verifies(&head, &url, b"{}", &keys).is_err());
}

// X2
#[tokio::test]
async fn a_rotation_brings_a_new_signing_key_and_keeps_the_last_one_published() {
    let bed = ExchangeBed::on_sqlite(ExchangeOptions::real_time()).await;
    let before = bed.exchange.signer.public_keys();
    bed.fleet.key_rotation.rotate(&bed.operator).await.unwrap();
    let after = bed.exchange.signer.public_keys();
    assert_ne!(after[0], before[0]);
    assert!(after.contains(&before[0]));
    let bed = bed.restart().await;
    assert_eq!(bed.exchange.signer.public_keys(), after, "the same keys give the same signatures");
}
