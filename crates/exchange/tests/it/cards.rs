//! What a runtime writes down about itself is judged when it is kept, and again when it is used.

use serde_json::{Value, json};
use warren_fleet::Register;
use warren_model::ErrorCode;
use warren_outbound::{Call, CallError};
use warren_testkit::ExchangeBed;

const INTERNAL: [&str; 4] = [
    "http://169.254.169.254/",
    "http://127.0.0.1:8080/a2a",
    "http://[::ffff:10.0.0.1]/",
    "file:///etc/passwd",
];
/// Public, and never called here.
const PUBLIC: &str = "https://93.184.215.14/a2a";

fn cards(url: &str) -> Vec<Value> {
    use base64::Engine as _;
    let jku = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(json!({ "jku": url }).to_string());
    vec![
        json!({ "url": url }),
        json!({ "supportedInterfaces": [{ "url": PUBLIC }, { "url": url, "protocolBinding": "JSONRPC" }] }),
        json!({ "url": PUBLIC, "additionalInterfaces": [{ "url": url, "transport": "GRPC" }] }),
        json!({ "iconUrl": url }),
        json!({ "documentationUrl": url }),
        json!({ "provider": { "url": url } }),
        json!({ "signatures": [{ "header": { "jku": url } }] }),
        json!({ "signatures": [{ "protected": jku, "signature": "" }] }),
        json!({ "securitySchemes": { "o": { "openIdConnectUrl": url } } }),
    ]
}

// sec/A05, X6; the control is in the test: the same cards with a public address are kept
#[tokio::test]
async fn a_card_with_an_internal_url_is_refused_when_it_is_kept_and_costs_no_token() {
    for bed in ExchangeBed::on_each_store().await {
        let id = bed.workspace().await.id;
        let join = bed.join_token(id).await;
        let registrations = &bed.exchange.registrations;
        let register = async |card: Value| {
            let register = Register { agent_card: Some(card), ..Register::default() };
            registrations.register(&join, register).await
        };
        for url in INTERNAL {
            for card in cards(url) {
                let refused = register(card.clone()).await.unwrap_err();
                assert_eq!(refused.code, ErrorCode::OutboundRefused, "{card}");
                assert!(refused.detail.as_ref().unwrap().starts_with("agent_card."), "{refused}");
            }
            let error = bed.exchange.connector().call(Call::post(url)).await.unwrap_err();
            assert!(matches!(error, CallError::Refused(_)), "and at the call: {error}");
        }
        // Control: the token was not used up, and public addresses are kept.
        for card in cards(PUBLIC) {
            registrations.check_card(&card).await.unwrap();
        }
        register(json!({ "url": PUBLIC })).await.unwrap();
    }
}

// F10, sec/A05: a change is judged as a registration is; the control is in the test
#[tokio::test]
async fn a_card_that_is_changed_is_judged_like_one_that_is_registered() {
    for bed in ExchangeBed::on_each_store().await {
        let id = bed.workspace().await.id;
        let registrations = &bed.exchange.registrations;
        let register = Register { agent_card: Some(json!({ "url": PUBLIC })), ..Register::default() };
        let registered = registrations.register(&bed.join_token(id).await, register).await.unwrap();
        let runner = bed.fleet.tokens.identify(registered.credential.secret.reveal()).await.unwrap();
        for card in INTERNAL.into_iter().flat_map(cards) {
            let refused = registrations.change_card(&runner, Some(card.clone())).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::OutboundRefused, "{card}");
            assert!(refused.detail.as_ref().unwrap().starts_with("agent_card."), "{refused}");
        }
        let kept = bed.fleet.runtimes.registration(id).await.unwrap().unwrap();
        assert_eq!(kept.agent_card, Some(json!({ "url": PUBLIC })), "a refused one changes nothing");
        let other = json!({ "url": PUBLIC, "name": "other" });
        let changed = registrations.change_card(&runner, Some(other.clone())).await.unwrap();
        assert_eq!(changed.agent_card, Some(other));
        assert_eq!(registrations.change_card(&runner, None).await.unwrap().agent_card, None);
    }
}
