//! People who sign in at a real provider (npm `oidc-provider`), with as much of a browser as that needs.

mod browser;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use warren_api::SIGN_IN_COOKIE;
use warren_doors::{Clock as _, ManualClock, SystemClock};
use warren_fleet::NewPeople;
use warren_model::{OrgId, OrgRole};
use warren_oidc::{ClientSecret, ProviderSettings};
use warren_testkit::Warren;

use browser::{Browser, Page};

const BEGIN: &str = "/api/v1/sign-in/provider";
const ATTEMPT_COOKIE: &str = "warren_sign_in_attempt";

/// The provider, which ends with its stdin.
struct RealProvider {
    child: Child,
    issuer: String,
}

impl Drop for RealProvider {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl RealProvider {
    #[expect(clippy::disallowed_methods, reason = "the peers are started by the script that people use")]
    fn start() -> Self {
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/peers.sh"));
        command.args(["oidc", "provider"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("scripts/peers.sh can be started");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut url).expect("it speaks");
        let port = url.trim().rsplit(':').next().unwrap();
        assert!(port.parse::<u16>().is_ok(), "no provider: see what scripts/peers.sh says");
        Self { child, issuer: format!("http://localhost:{port}") }
    }

    fn settings(&self, algorithm: &str) -> ProviderSettings {
        ProviderSettings {
            issuer: self.issuer.clone(),
            client_id: format!("warren-{algorithm}"),
            client_secret: ClientSecret::new("client secret of tests"),
            scopes: ProviderSettings::default_scopes(),
            timeout: Duration::from_secs(10),
        }
    }
}

fn people_of_example() -> NewPeople {
    NewPeople { domains: vec!["example.com".to_owned()], org_id: OrgId::DEFAULT, role: OrgRole::Member }
}

async fn warren_with(settings: ProviderSettings, new_people: NewPeople) -> Warren {
    Warren::builder().reaches_loopback().sign_in_provider(settings, new_people, None).start().await
}

/// Goes to the provider and signs in there, up to the page that Warren leads to.
async fn sign_in(browser: &mut Browser, warren: &Warren, path: &str, person: &str) -> Page {
    sign_in_at(browser, &format!("{}{path}", warren.url), person).await
}

/// The same with an invitation, as its page does it.
async fn take(browser: &mut Browser, warren: &Warren, invitation: &str, person: &str) -> Page {
    let begin = format!("{}{BEGIN}", warren.url);
    let (status, answer) = browser.post(&begin, &json!({ "invitation": invitation })).await;
    assert_eq!(status, 200, "{answer}");
    sign_in_at(browser, answer["url"].as_str().unwrap(), person).await
}

async fn sign_in_at(browser: &mut Browser, url: &str, person: &str) -> Page {
    let login = browser.open(url).await;
    assert!(login.url.path().starts_with("/interaction/"), "no login form at {}: {}", login.url, login.text);
    let consent = browser.submit(&login, &[("login", person), ("password", "anything")]).await;
    assert!(consent.url.path().starts_with("/interaction/"), "no consent at {}", consent.url);
    browser.submit(&consent, &[]).await
}

// F38
#[tokio::test]
async fn a_person_signs_in_at_a_real_provider_and_is_known_again() {
    let provider = RealProvider::start();
    for algorithm in ["RS256", "PS256", "ES256", "EdDSA"] {
        let warren = warren_with(provider.settings(algorithm), people_of_example()).await;
        let mut browser = Browser::new();
        let page = sign_in(&mut browser, &warren, BEGIN, "ada").await;
        assert_eq!(page.url.as_str(), format!("{}/", warren.url), "{algorithm}");
        assert_eq!(page.status, 200);
        let (status, me) = browser.fetch(&format!("{}/api/v1/sign-in", warren.url)).await;
        assert_eq!(status, 200, "{algorithm}: {me}");
        assert_eq!(
            (&me["user"]["name"], &me["user"]["display_name"]),
            (&json!("ada"), &json!("Ada Example"))
        );
        assert_eq!(me["org"]["role"], "member", "{me}");

        // Another browser of the same person is the same person.
        let mut other = Browser::new();
        sign_in(&mut other, &warren, BEGIN, "ada").await;
        let (_, again) = other.fetch(&format!("{}/api/v1/sign-in", warren.url)).await;
        assert_eq!(again["user"], me["user"]);
        assert_ne!(other.cookie(SIGN_IN_COOKIE), browser.cookie(SIGN_IN_COOKIE));

        // And somebody else is somebody else.
        let mut third = Browser::new();
        sign_in(&mut third, &warren, BEGIN, "grace").await;
        let (_, grace) = third.fetch(&format!("{}/api/v1/sign-in", warren.url)).await;
        assert_eq!(grace["user"]["name"], "grace");
        warren.stop().await;
    }
    // A shared secret proves nothing about who signed.
    let warren = warren_with(provider.settings("HS256"), people_of_example()).await;
    let mut browser = Browser::new();
    let page = sign_in(&mut browser, &warren, BEGIN, "ada").await;
    assert_eq!(page.failure(), Some("sign_in_failed"), "{}", page.url);
    assert_eq!(browser.cookie(SIGN_IN_COOKIE), None);
}

// F38: login CSRF, and answers that are used twice
#[tokio::test]
async fn a_sign_in_belongs_to_the_browser_that_began_it() {
    let provider = RealProvider::start();
    let warren = warren_with(provider.settings("RS256"), people_of_example()).await;
    let mut mallory = Browser::new();
    sign_in(&mut mallory, &warren, BEGIN, "mallory").await;
    let callback = |browser: &Browser| {
        browser.visited.iter().find(|url| url.path().ends_with("/callback")).unwrap().to_string()
    };
    let answer = callback(&mallory);

    // Somebody who follows it is not signed in as mallory: not out of nothing, nor in the middle of their own sign-in.
    let mut ada = Browser::new();
    let page = ada.lured_to(&answer).await;
    assert_eq!(page.failure(), Some("sign_in_expired"), "{}", page.url);
    let login = ada.open(&format!("{}{BEGIN}", warren.url)).await;
    let page = ada.lured_to(&answer).await;
    assert_eq!(page.failure(), Some("sign_in_expired"), "{}", page.url);
    assert_eq!(ada.cookie(SIGN_IN_COOKIE), None);
    // Their own goes on all the same.
    let consent = ada.submit(&login, &[("login", "ada"), ("password", "x")]).await;
    let page = ada.submit(&consent, &[]).await;
    assert_eq!(page.failure(), None, "{}", page.url);
    let (_, me) = ada.fetch(&format!("{}/api/v1/sign-in", warren.url)).await;
    assert_eq!(me["user"]["name"], "ada");

    // The same answer a second time.
    let before = ada.cookie(SIGN_IN_COOKIE).unwrap().to_owned();
    assert_eq!(ada.cookie(ATTEMPT_COOKIE), None, "what was kept for the sign-in is gone");
    let page = ada.open(&callback(&ada)).await;
    assert_eq!(page.failure(), Some("sign_in_expired"));
    assert_eq!(ada.cookie(SIGN_IN_COOKIE), Some(before.as_str()), "and whoever is signed in stays so");

    // A cookie that somebody else made up, or that was sealed for something else.
    let state = "x".repeat(43);
    let made_up = format!("{}{BEGIN}/callback?code=c&state={state}", warren.url);
    for forged in ["", "v1.k.AAAA", "%7B%7D"] {
        let mut browser = Browser::new();
        browser.keep("127.0.0.1", &format!("{ATTEMPT_COOKIE}={forged}; Path=/"));
        assert_eq!(browser.open(&made_up).await.failure(), Some("sign_in_expired"), "{forged}");
    }
    let twice = Browser::new().open(&format!("{made_up}&code=d")).await;
    assert_eq!(twice.failure(), Some("sign_in_failed"), "{}", twice.url);
}

// F38
#[tokio::test]
async fn what_is_kept_in_the_browser_is_sealed_and_goes_nowhere_else() {
    let provider = RealProvider::start();
    let https = Some("https://warren.example".to_owned());
    let warren = Warren::builder()
        .reaches_loopback()
        .sign_in_provider(provider.settings("RS256"), people_of_example(), https)
        .start()
        .await;
    let mut browser = Browser::new();
    let begin = format!("{}{BEGIN}", warren.url);
    let (_, answer) = browser.post(&begin, &json!({ "invitation": "secret-of-an-invitation" })).await;
    browser.open(answer["url"].as_str().unwrap()).await;
    let cookie = browser.set.iter().find(|line| line.starts_with(ATTEMPT_COOKIE)).unwrap().clone();
    for attribute in ["Path=/api/v1/sign-in/provider", "HttpOnly", "SameSite=Lax", "Max-Age=600", "Secure"] {
        assert!(cookie.contains(attribute), "{attribute}: {cookie}");
    }
    let to_provider = browser.visited.iter().find(|url| url.path() == "/auth").unwrap();
    let query = |name: &str| to_provider.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    assert_eq!(query("redirect_uri"), "https://warren.example/api/v1/sign-in/provider/callback");
    for secret in [query("state"), query("nonce"), "secret-of-an-invitation".to_owned()] {
        assert!(!cookie.contains(&secret), "{cookie}");
    }
    // An address ends up in logs and histories.
    for url in &browser.visited {
        assert!(!url.as_str().contains("secret-of-an-invitation"), "{url}");
    }
    let in_address = warren.call("GET", &format!("{BEGIN}?invitation=secret")).send().await;
    assert_eq!((in_address.status, in_address.code()), (400, "invalid_request".to_owned()));
    let long = json!({ "invitation": "x".repeat(300) });
    let long = warren.call("POST", BEGIN).json(&long).send().await;
    assert_eq!((long.status, long.code()), (400, "invalid_request".to_owned()));
}

// F38
#[tokio::test]
async fn who_is_not_let_in_is_told_why_and_what_to_do() {
    let provider = RealProvider::start();
    let warren = warren_with(provider.settings("RS256"), people_of_example()).await;
    let mut browser = Browser::new();
    let page = sign_in(&mut browser, &warren, BEGIN, "unverified").await;
    assert_eq!(page.failure(), Some("sign_in_email_unverified"), "{}", page.url);
    assert!(page.url.fragment().unwrap().contains("&request="), "{}", page.url);

    // Somebody who changes their mind at the provider.
    let mut browser = Browser::new();
    let login = browser.open(&format!("{}{BEGIN}", warren.url)).await;
    let page = browser.open(&format!("{}/abort", login.url)).await;
    assert_eq!(page.failure(), Some("sign_in_denied"), "{}", page.url);

    // Nobody invited them.
    let closed = warren_with(provider.settings("RS256"), NewPeople::default()).await;
    let mut browser = Browser::new();
    let page = sign_in(&mut browser, &closed, BEGIN, "ada").await;
    assert_eq!(page.failure(), Some("not_invited"), "{}", page.url);
    assert_eq!(browser.cookie(SIGN_IN_COOKIE), None);

    // Warren and the provider are not set up for each other.
    let wrong = ProviderSettings { client_secret: ClientSecret::new("wrong"), ..provider.settings("RS256") };
    let misconfigured = warren_with(wrong, people_of_example()).await;
    let page = sign_in(&mut Browser::new(), &misconfigured, BEGIN, "ada").await;
    assert_eq!(page.failure(), Some("sign_in_misconfigured"), "{}", page.url);

    // A clock that is ten minutes slow.
    let slow = Arc::new(ManualClock::at(SystemClock.now().plus_ms(-600_000)));
    let late = Warren::builder()
        .reaches_loopback()
        .clock(slow)
        .sign_in_provider(provider.settings("RS256"), people_of_example(), None)
        .start()
        .await;
    let page = sign_in(&mut Browser::new(), &late, BEGIN, "ada").await;
    assert_eq!(page.failure(), Some("sign_in_clock"), "{}", page.url);
}

// F38
#[tokio::test]
async fn an_invitation_is_taken_by_whom_it_was_made_for() {
    let provider = RealProvider::start();
    let warren = warren_with(provider.settings("RS256"), NewPeople::default()).await;
    let invite = async || {
        let body = json!({ "role": "operator", "email": "ada@example.com" });
        let answer = warren.post("/api/v1/invitations", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let path = answer.json()["path"].as_str().unwrap().to_owned();
        path.strip_prefix("/#invitation=").unwrap().to_owned()
    };
    let secret = invite().await;
    let page = take(&mut Browser::new(), &warren, &secret, "mallory").await;
    assert_eq!(page.failure(), Some("invitation_for_another"), "{}", page.url);

    let mut ada = Browser::new();
    let page = take(&mut ada, &warren, &secret, "ada").await;
    assert_eq!(page.failure(), None, "{}", page.url);
    let (_, me) = ada.fetch(&format!("{}/api/v1/sign-in", warren.url)).await;
    assert_eq!((&me["user"]["name"], &me["org"]["role"]), (&json!("ada"), &json!("operator")), "{me}");

    // From then on without one.
    let page = sign_in(&mut Browser::new(), &warren, BEGIN, "ada").await;
    assert_eq!(page.failure(), None, "{}", page.url);
    let page = take(&mut Browser::new(), &warren, "made-up", "grace").await;
    assert_eq!(page.failure(), Some("invitation_not_found"), "{}", page.url);
}

// F38
#[tokio::test]
async fn without_a_provider_or_while_it_is_away_links_are_the_way() {
    let warren = Warren::start().await;
    for path in [BEGIN, "/api/v1/sign-in/provider/callback?code=a&state=b"] {
        let answer = warren.call("GET", path).send().await;
        assert_eq!((answer.status, answer.code()), (409, "sign_in_provider_off".to_owned()));
    }
    let ways = warren.call("GET", "/api/v1/sign-in/ways").send().await.json();
    assert_eq!(ways, json!({ "link": true, "provider": null }));

    let settings = ProviderSettings {
        issuer: "http://127.0.0.1:1".to_owned(),
        client_id: "warren".to_owned(),
        client_secret: ClientSecret::new("secret"),
        scopes: ProviderSettings::default_scopes(),
        timeout: Duration::from_secs(1),
    };
    let warren = warren_with(settings, people_of_example()).await;
    let invitation = json!({ "invitation": "x" });
    let away = warren.call("POST", BEGIN).json(&invitation).send().await;
    assert_eq!((away.status, away.code()), (503, "sign_in_unavailable".to_owned()), "{}", away.text());
    let page = Browser::new().open(&format!("{}{BEGIN}", warren.url)).await;
    assert_eq!(page.failure(), Some("sign_in_unavailable"), "{}", page.url);
    let ways = warren.call("GET", "/api/v1/sign-in/ways").send().await.json();
    assert_eq!(ways, json!({ "link": true, "provider": { "name": "Example", "path": BEGIN } }));
}
