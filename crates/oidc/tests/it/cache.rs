//! Keys that change, and a provider that goes away for a while.

use serde_json::json;
use warren_oidc::Reason;

use crate::support::{Key, Lab, Says};

// F38
#[tokio::test]
async fn new_keys_are_found_at_once_and_strange_ones_do_not_make_warren_ask_again_and_again() {
    let lab = Lab::start().await;
    assert!(lab.sign_in(json!({})).await.is_ok());
    assert!(lab.sign_in(json!({})).await.is_ok());
    assert_eq!((lab.asked("discovery"), lab.asked("keys")), (1, 1), "both are kept");

    let newer = Key::new("key-2");
    lab.script(|script| script.published = vec![newer.jwk(), json!({ "kty": "unknown" }), json!(7)]);
    let by_newer = |sent: &_| newer.sign(&lab.claims(sent, &json!({})));
    assert!(lab.sign_in_with(by_newer).await.is_ok());
    assert_eq!(lab.asked("keys"), 2);

    let strange = Key::new("key-3");
    for _ in 0..5 {
        let by_strange = |sent: &_| strange.sign(&lab.claims(sent, &json!({})));
        assert_eq!(lab.sign_in_with(by_strange).await.unwrap_err().reason(), Reason::UnknownKey);
    }
    assert_eq!(lab.asked("keys"), 2, "asked within the last minute");
    lab.clock.advance_ms(60_000);
    let by_strange = |sent: &_| strange.sign(&lab.claims(sent, &json!({})));
    assert_eq!(lab.sign_in_with(by_strange).await.unwrap_err().reason(), Reason::UnknownKey);
    assert_eq!(lab.asked("keys"), 3, "once");
    assert!(lab.sign_in_with(by_newer).await.is_ok());
    // The old key is gone, and what it signs with it.
    assert_eq!(lab.sign_in(json!({})).await, Err(Reason::UnknownKey));
}

// F38
#[tokio::test]
async fn a_provider_that_is_away_for_an_hour_does_not_lose_what_is_known_of_it() {
    let lab = Lab::start().await;
    assert!(lab.sign_in(json!({})).await.is_ok());
    lab.clock.advance_ms(3_600_000);
    lab.script(|script| {
        script.discovery.push_back(Says::Json(503, json!({})));
        script.keys.push_back(Says::Json(503, json!({})));
    });
    assert!(lab.sign_in(json!({})).await.is_ok());
    assert_eq!((lab.asked("discovery"), lab.asked("keys")), (2, 2));
    lab.clock.advance_ms(60_000);
    assert!(lab.sign_in(json!({})).await.is_ok());
    assert_eq!((lab.asked("discovery"), lab.asked("keys")), (3, 3));
    // One that answers, but as somebody else, is not believed for what was known before.
    lab.clock.advance_ms(3_600_000);
    lab.script(|script| script.document = json!({ "issuer": "https://evil.example" }));
    assert_eq!(lab.provider.begin("https://x.test/").await.unwrap_err().reason(), Reason::DiscoveryIssuer);
}
