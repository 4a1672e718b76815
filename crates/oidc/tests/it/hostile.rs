//! What the ID token and the way back may say.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::json;
use warren_model::{ErrorCode, PublicFailure as _};
use warren_oidc::{AuthorizationAnswer, ProviderPerson, Reason};

use crate::support::{CLIENT, Key, Lab, NOW, REDIRECT, Says, unsigned};

fn ada(issuer: &str) -> ProviderPerson {
    ProviderPerson {
        issuer: issuer.to_owned(),
        subject: "248289761001".to_owned(),
        email: Some("ada@example.com".to_owned()),
        email_verified: true,
        name: Some("ada".to_owned()),
        display_name: Some("Ada Lovelace".to_owned()),
    }
}

// F38
#[tokio::test]
async fn a_good_answer_tells_who_it_is_and_the_request_has_all_that_keeps_it_apart_from_others() {
    let lab = Lab::start().await;
    let sent = lab.begin().await;
    for (name, value) in [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("redirect_uri", REDIRECT),
        ("scope", "openid email profile"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(sent.query(name), value, "{name}");
    }
    let again = lab.begin().await;
    for name in ["state", "nonce", "code_challenge"] {
        assert_eq!(sent.query(name).len(), 43, "{name}: 256 bits");
        assert_ne!(sent.query(name), again.query(name), "{name}");
    }
    assert_eq!(lab.sign_in(json!({})).await, Ok(ada(&lab.issuer)));
    let (form, authorization) = lab.script(|script| (script.form.clone(), script.authorization.clone()));
    assert!(form.contains("grant_type=authorization_code") && form.contains("code=code-secret"), "{form}");
    assert!(form.contains("code_verifier=") && !form.contains("client_secret"), "{form}");
    let basic = authorization.unwrap();
    let pair =
        base64::engine::general_purpose::STANDARD.decode(basic.strip_prefix("Basic ").unwrap()).unwrap();
    assert_eq!(String::from_utf8(pair).unwrap(), "warren:s3cr%20et%3A%2F%2B%C3%BC");
}

// F38
#[tokio::test]
async fn a_provider_that_takes_the_secret_in_the_body_alone_gets_it_there() {
    let lab = Lab::start().await;
    lab.script(|script| {
        script.document = json!({ "token_endpoint_auth_methods_supported": ["client_secret_post"] });
    });
    assert!(lab.sign_in(json!({})).await.is_ok());
    let (form, authorization) = lab.script(|script| (script.form.clone(), script.authorization.clone()));
    assert!(
        form.contains("client_id=warren") && form.contains("client_secret=s3cr+et%3A%2F%2B%C3%BC"),
        "{form}"
    );
    assert_eq!(authorization, None);
}

// F38
#[tokio::test]
async fn claims_that_do_not_hold_are_refused_each_by_its_name() {
    let lab = Lab::start().await;
    for (change, reason, code) in [
        (json!({ "iss": "https://evil.example" }), Reason::Issuer, ErrorCode::SignInFailed),
        (json!({ "iss": format!("{}/", lab.issuer) }), Reason::Issuer, ErrorCode::SignInFailed),
        (json!({ "aud": "another" }), Reason::Audience, ErrorCode::SignInFailed),
        (json!({ "aud": [CLIENT, "another"] }), Reason::Audience, ErrorCode::SignInFailed),
        (json!({ "azp": "another" }), Reason::Audience, ErrorCode::SignInFailed),
        (json!({ "nonce": "another" }), Reason::Nonce, ErrorCode::SignInFailed),
        (json!({ "nonce": null }), Reason::Nonce, ErrorCode::SignInFailed),
        (json!({ "sub": null }), Reason::NoSubject, ErrorCode::SignInFailed),
        (json!({ "iat": NOW - 900, "exp": NOW - 600 }), Reason::Expired, ErrorCode::SignInClock),
        (json!({ "iat": NOW + 600, "exp": NOW + 900 }), Reason::NotYet, ErrorCode::SignInClock),
        (json!({ "exp": null }), Reason::NoTimes, ErrorCode::SignInFailed),
    ] {
        assert_eq!(lab.sign_in(change.clone()).await, Err(reason), "{change}");
        assert_eq!(reason.code(), code, "{change}");
    }
    assert!(lab.sign_in(json!({})).await.is_ok(), "and nothing of it stays");
}

// F38
#[tokio::test]
async fn a_token_that_the_provider_did_not_sign_is_refused() {
    let lab = Lab::start().await;
    let refused = async |token: Box<dyn FnOnce(&crate::support::Sent) -> String + '_>| {
        lab.sign_in_with(token).await.unwrap_err().reason()
    };
    let stranger = Key::new("key-1");
    let other_name = Key::new("key-2");
    let claims = |sent: &_| lab.claims(sent, &json!({}));

    // Another key by the same name, and one by a name that is not published.
    assert_eq!(refused(Box::new(|sent| stranger.sign(&claims(sent)))).await, Reason::Signature);
    assert_eq!(refused(Box::new(|sent| other_name.sign(&claims(sent)))).await, Reason::UnknownKey);
    // No name at all: every key is tried, and none fits.
    let nameless = json!({ "alg": "ES256" });
    assert_eq!(
        refused(Box::new(|sent| stranger.sign_under(&nameless, &claims(sent)))).await,
        Reason::UnknownKey
    );

    // No signature.
    for name in ["none", "None", "nOnE", ""] {
        let header = json!({ "alg": name });
        let reason = refused(Box::new(|sent| format!("{}.", unsigned(&header, &claims(sent))))).await;
        assert_eq!(reason, Reason::Algorithm, "{name}");
    }
    // Signed with what everybody can read, as if it were a secret (the confusion of HS256 and ES256).
    for header in [json!({ "alg": "HS256" }), json!({ "alg": "HS256", "kid": "key-1" })] {
        let by_public = |sent: &_| {
            let message = unsigned(&header, &claims(sent));
            let key = hmac::Key::new(hmac::HMAC_SHA256, lab.key.public());
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(hmac::sign(&key, message.as_bytes())))
        };
        assert_eq!(refused(Box::new(by_public)).await, Reason::Algorithm);
    }
    // A key of one kind under an algorithm of another.
    for name in ["RS256", "EdDSA", "ES384"] {
        let header = json!({ "alg": name, "kid": "key-1" });
        let reason = refused(Box::new(|sent| lab.key.sign_under(&header, &claims(sent)))).await;
        assert_eq!(reason, Reason::UnknownKey, "{name}");
    }
    // A key that the token brings along, and one that it tells where to fetch.
    for extra in [json!({ "jwk": stranger.jwk() }), json!({ "jku": "https://evil.example/jwks" })] {
        let mut header = json!({ "alg": "ES256", "kid": "key-1" });
        header.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let reason = refused(Box::new(|sent| stranger.sign_under(&header, &claims(sent)))).await;
        assert_eq!(reason, Reason::Signature);
    }
    // Something that has to be understood and is not.
    let critical = json!({ "alg": "ES256", "kid": "key-1", "crit": ["b64"], "b64": false });
    assert_eq!(
        refused(Box::new(|sent| lab.key.sign_under(&critical, &claims(sent)))).await,
        Reason::Malformed
    );
    // A good token of which one letter of the claims is changed.
    let changed = |sent: &_| {
        let good = lab.key.sign(&claims(sent));
        let parts: Vec<&str> = good.split('.').collect();
        let other = lab.claims(sent, &json!({ "sub": "248289761002" }));
        format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(other.to_string()), parts[2])
    };
    assert_eq!(refused(Box::new(changed)).await, Reason::Signature);
    for garbage in ["", "a.b", "a.b.c", "a.b.c.d.e", "..", "\u{0}"] {
        assert_eq!(refused(Box::new(|_| garbage.to_owned())).await, Reason::Malformed, "{garbage:?}");
    }
    assert!(lab.sign_in(json!({})).await.is_ok());
}

// F38: login CSRF
#[tokio::test]
async fn only_the_browser_that_began_a_sign_in_finishes_it_and_in_time() {
    let lab = Lab::start().await;
    let (mine, other) = (lab.begin().await, lab.begin().await);
    let finish =
        async |attempt, answer: &AuthorizationAnswer| lab.provider.finish(attempt, answer).await.unwrap_err();
    assert_eq!(finish(None, &mine.answer()).await.reason(), Reason::StateMismatch);
    assert_eq!(finish(Some(&mine.attempt), &other.answer()).await.reason(), Reason::StateMismatch);
    let without = AuthorizationAnswer { state: None, ..mine.answer() };
    let error = finish(Some(&mine.attempt), &without).await;
    assert_eq!((error.reason(), error.code()), (Reason::StateMismatch, ErrorCode::SignInExpired));
    lab.clock.advance_ms(10 * 60 * 1_000);
    let error = finish(Some(&mine.attempt), &mine.answer()).await;
    assert_eq!((error.reason(), error.code()), (Reason::AttemptExpired, ErrorCode::SignInExpired));
    assert_eq!(lab.asked("token"), 0, "no code was given away");
}

// F38: RFC 9207
#[tokio::test]
async fn an_answer_of_another_provider_is_refused() {
    let lab = Lab::start().await;
    let sent = lab.begin().await;
    let finish = async |iss: Option<&str>| {
        let answer = AuthorizationAnswer { iss: iss.map(str::to_owned), ..sent.answer() };
        lab.provider.finish(Some(&sent.attempt), &answer).await.unwrap_err().reason()
    };
    assert_eq!(finish(Some("https://evil.example")).await, Reason::AnswerIssuer);
    assert_eq!(finish(Some(&lab.issuer)).await, Reason::CodeRefused, "it gets as far as the exchange");
    assert_eq!(finish(None).await, Reason::CodeRefused);

    // One that promises to name itself must do so.
    let lab = Lab::start().await;
    lab.script(|script| script.document = json!({ "authorization_response_iss_parameter_supported": true }));
    let sent = lab.begin().await;
    let outcome = lab.provider.finish(Some(&sent.attempt), &sent.answer()).await;
    assert_eq!(outcome.unwrap_err().reason(), Reason::AnswerIssuer);
}

// F38
#[tokio::test]
async fn what_the_provider_refuses_is_told_by_what_can_be_done_about_it() {
    let lab = Lab::start().await;
    let sent = lab.begin().await;
    for (error, reason) in [
        ("access_denied", Reason::Denied),
        ("login_required", Reason::Denied),
        ("temporarily_unavailable", Reason::ProviderBusy),
        ("unauthorized_client", Reason::ClientRefused),
        ("invalid_scope", Reason::RequestRefused),
        ("<script>", Reason::RequestRefused),
    ] {
        let answer = AuthorizationAnswer { error: Some(error.to_owned()), ..sent.answer() };
        let refused = lab.provider.finish(Some(&sent.attempt), &answer).await.unwrap_err();
        assert_eq!(refused.reason(), reason, "{error}");
        assert!(!refused.to_string().contains('<'), "{refused}");
    }
    for (status, error, reason) in [
        (401, "invalid_client", Reason::ClientRefused),
        (400, "invalid_grant", Reason::CodeRefused),
        (400, "invalid_request", Reason::RequestRefused),
        (401, "", Reason::ClientRefused),
        (503, "", Reason::ProviderBusy),
        (429, "", Reason::ProviderBusy),
    ] {
        lab.script(|script| script.token.push_back(Says::Json(status, json!({ "error": error }))));
        let outcome = lab.provider.finish(Some(&sent.attempt), &sent.answer()).await;
        assert_eq!(outcome.unwrap_err().reason(), reason, "{status} {error}");
    }
    lab.script(|script| script.token.push_back(Says::ok(json!({ "access_token": "at" }))));
    let outcome = lab.provider.finish(Some(&sent.attempt), &sent.answer()).await;
    assert_eq!(outcome.unwrap_err().reason(), Reason::NoIdToken);
}

// F38
#[tokio::test]
async fn an_address_that_is_not_verified_is_handed_on_as_such() {
    let lab = Lab::start().await;
    for change in [json!({ "email_verified": false }), json!({ "email_verified": null })] {
        let person = lab.sign_in(change).await.unwrap();
        assert_eq!(person.email.as_deref(), Some("ada@example.com"));
        assert!(!person.email_verified, "who decides about invitations must see it");
    }
}

// F38
#[tokio::test]
async fn what_the_token_does_not_tell_comes_from_userinfo_about_the_same_person() {
    let lab = Lab::start().await;
    let bare = json!({ "email": null, "email_verified": null, "name": null, "preferred_username": null });
    let about = json!({
        "sub": "248289761001", "email": "ada@example.com", "email_verified": true,
        "name": "Ada Lovelace", "preferred_username": "ada",
    });
    lab.script(|script| script.userinfo.push_back(Says::ok(about.clone())));
    assert_eq!(lab.sign_in(bare.clone()).await, Ok(ada(&lab.issuer)));
    let mut other = about;
    other["sub"] = json!("another");
    lab.script(|script| script.userinfo.push_back(Says::ok(other)));
    assert_eq!(lab.sign_in(bare.clone()).await, Err(Reason::UserinfoSubject));
    assert_eq!(lab.sign_in(bare).await, Err(Reason::BadAnswer), "401");
    assert!(lab.sign_in(json!({})).await.is_ok());
    assert_eq!(lab.asked("userinfo"), 3, "not asked where the token tells it all");
}
