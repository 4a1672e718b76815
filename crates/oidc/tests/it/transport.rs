//! How the provider may answer: too much, from elsewhere, never. And what of it all is logged.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, StatusCode};
use serde_json::json;
use warren_doors::{OsEntropy, SystemClock};
use warren_model::{ErrorCode, PublicFailure as _};
use warren_oidc::{Provider, Reason};
use warren_outbound::{Connector, OutboundPolicy};

use crate::support::{Lab, REDIRECT, SECRET, Says, connector, settings};

async fn begun(lab: &Lab) -> Reason {
    lab.provider.begin(REDIRECT).await.unwrap_err().reason()
}

// F38
#[tokio::test]
async fn a_discovery_document_that_is_not_the_issuer_s_is_not_used() {
    for (document, reason) in [
        (json!({ "issuer": "https://evil.example" }), Reason::DiscoveryIssuer),
        (json!({ "issuer": null }), Reason::DiscoveryIssuer),
        (json!({ "token_endpoint": "http://evil.example/token" }), Reason::DiscoveryIncomplete),
        (json!({ "authorization_endpoint": "javascript:alert(1)" }), Reason::DiscoveryIncomplete),
        (json!({ "jwks_uri": null }), Reason::DiscoveryIncomplete),
        (json!({ "id_token_signing_alg_values_supported": ["HS256"] }), Reason::NoAlgorithm),
    ] {
        let lab = Lab::start().await;
        lab.script(|script| script.document = document.clone());
        assert_eq!(begun(&lab).await, reason, "{document}");
        assert_eq!(reason.code(), ErrorCode::SignInMisconfigured);
    }
}

// F38, X6
#[tokio::test]
async fn nothing_follows_a_redirect_or_a_document_to_a_private_address() {
    for elsewhere in ["http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://127.0.0.1:1/"] {
        let lab = Lab::start().await;
        lab.script(|script| script.discovery.push_back(Says::redirect(elsewhere)));
        assert_eq!(begun(&lab).await, Reason::BadAnswer, "{elsewhere}");
    }
    for private in ["https://169.254.169.254/jwks", "https://10.0.0.1/jwks", "https://[fe80::1]/jwks"] {
        let lab = Lab::start().await;
        lab.script(|script| script.document = json!({ "jwks_uri": private, "token_endpoint": private }));
        assert_eq!(lab.provider.discover().await.unwrap_err().reason(), Reason::CallRefused, "{private}");
        let sent = lab.begin().await;
        let outcome = lab.provider.finish(Some(&sent.attempt), &sent.answer()).await;
        assert_eq!(outcome.unwrap_err().reason(), Reason::CallRefused, "{private}");
    }
    // And one that is private itself is called only where the config opens its range.
    let lab = Lab::start().await;
    let shut = Connector::with_system_names(OutboundPolicy::default());
    let provider = Provider::new(settings(&lab.issuer), shut, Arc::new(SystemClock), Arc::new(OsEntropy));
    assert_eq!(provider.discover().await.unwrap_err().reason(), Reason::CallRefused);
    assert_eq!(lab.asked("discovery"), 0);
}

// F38
#[tokio::test]
async fn answers_have_an_end_and_a_size() {
    let page = || {
        let headers: HeaderMap =
            [(http::header::CONTENT_TYPE, "text/html".parse().unwrap())].into_iter().collect();
        Says::Raw(StatusCode::OK, headers, b"<html>".to_vec())
    };
    type Answer = fn() -> Says;
    let answers: [(Answer, Reason); 4] = [
        (Says::huge, Reason::TooLarge),
        (|| Says::ok(json!([])), Reason::BadAnswer),
        (|| Says::Json(500, json!({})), Reason::Unreachable),
        (|| Says::Nothing, Reason::Unreachable),
    ];
    for (says, reason) in answers {
        let started = Instant::now();
        let lab = Lab::start().await;
        lab.script(|script| script.discovery.push_back(says()));
        assert_eq!(begun(&lab).await, reason);

        let lab = Lab::start().await;
        lab.script(|script| script.keys.push_back(says()));
        assert_eq!(lab.sign_in(json!({})).await, Err(reason), "keys");

        let lab = Lab::start().await;
        lab.script(|script| script.userinfo.push_back(says()));
        let outcome = lab.sign_in(json!({ "email": null })).await;
        let expected = if reason == Reason::Unreachable { [Reason::BadAnswer, reason] } else { [reason; 2] };
        assert!(expected.contains(&outcome.clone().unwrap_err()), "userinfo: {outcome:?}");

        let lab = Lab::start().await;
        let sent = lab.begin().await;
        lab.script(|script| script.token.push_back(says()));
        let error = lab.provider.finish(Some(&sent.attempt), &sent.answer()).await.unwrap_err();
        let is_told = error.reason() == reason || error.reason() == Reason::ProviderBusy;
        assert!(is_told, "token: {error}");
        assert!(started.elapsed() < Duration::from_secs(10), "nobody waits for ever");
    }
    let lab = Lab::start().await;
    lab.script(|script| script.discovery.push_back(page()));
    assert_eq!(begun(&lab).await, Reason::BadAnswer);
    let nobody = Provider::new(
        settings("http://127.0.0.1:1"),
        connector(),
        Arc::new(SystemClock),
        Arc::new(OsEntropy),
    );
    let error = nobody.discover().await.unwrap_err();
    assert_eq!((error.reason(), error.code()), (Reason::Unreachable, ErrorCode::SignInUnavailable));
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

// F38, F34
#[tokio::test]
async fn no_token_code_or_secret_is_in_a_log_or_an_error() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let lab = Lab::start().await;
    let mut told = Vec::new();
    let mut secrets = vec![SECRET.to_owned(), "code-secret".to_owned(), "at-secret".to_owned()];
    for change in [json!({}), json!({ "nonce": "other" }), json!({ "email": null }), json!({ "exp": 1 })] {
        let mut token = String::new();
        let outcome = lab
            .sign_in_with(|sent| {
                token = lab.key.sign(&lab.claims(sent, &change));
                secrets.extend([sent.query("state"), sent.query("nonce")]);
                token.clone()
            })
            .await;
        secrets.push(token.split('.').next_back().unwrap().to_owned());
        told.push(format!("{outcome:?} {:?}", lab.provider));
    }
    let sent = lab.begin().await;
    told.push(format!("{:?} {:?}", sent.attempt, sent.answer()));
    lab.script(|script| script.token.push_back(Says::Nothing));
    let error = lab.provider.finish(Some(&sent.attempt), &sent.answer()).await.unwrap_err();
    told.push(format!("{error:?} {error}"));
    let text = String::from_utf8(log.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap();
    assert!(text.contains("a call to a peer failed"), "the log is the one that was looked at: {text}");
    // What the HTTP library itself traces is not what a Warren logs.
    let text: String = text.lines().filter(|line| line.contains("warren") || line.contains("oidc")).collect();
    for secret in secrets {
        assert!(!text.contains(&secret), "{secret} is in the log");
        assert!(!told.concat().contains(&secret), "{secret} is in an error");
    }
}
