//! A provider on a port of its own. It signs with a key of its own, and says whatever the test has it say.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, StatusCode, header};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use warren_doors::{Clock as _, ManualClock, OsEntropy};
use warren_model::Timestamp;
use warren_oidc::{
    Attempt, AuthorizationAnswer, ClientSecret, Error, Provider, ProviderPerson, ProviderSettings, Reason,
};
use warren_outbound::{Connector, OutboundPolicy};

pub(crate) const CLIENT: &str = "warren";
pub(crate) const SECRET: &str = "s3cr et:/+ü";
pub(crate) const REDIRECT: &str = "https://warren.test/api/v1/sign-in/provider/callback";
pub(crate) const NOW: i64 = 1_800_000_000;

/// A key that signs with ES256.
pub(crate) struct Key {
    pub(crate) id: &'static str,
    pair: EcdsaKeyPair,
}

impl Key {
    pub(crate) fn new(id: &'static str) -> Arc<Self> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Arc::new(Self { id, pair: pair.unwrap() })
    }

    pub(crate) fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    pub(crate) fn jwk(&self) -> Value {
        let point = self.public();
        let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..]));
        json!({ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id, "x": x, "y": y })
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_under(&json!({ "alg": "ES256", "kid": self.id }), claims)
    }

    pub(crate) fn sign_under(&self, header: &Value, claims: &Value) -> String {
        let message = unsigned(header, claims);
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", encoded(header), encoded(claims))
}

/// What a place answers with.
pub(crate) enum Says {
    Json(u16, Value),
    Raw(StatusCode, HeaderMap, Vec<u8>),
    Nothing,
}

impl Says {
    pub(crate) fn ok(value: Value) -> Self {
        Self::Json(200, value)
    }

    pub(crate) fn redirect(to: &str) -> Self {
        let headers = [(header::LOCATION, to.parse().unwrap())].into_iter().collect();
        Self::Raw(StatusCode::FOUND, headers, Vec::new())
    }

    /// A body without end, or as good as.
    pub(crate) fn huge() -> Self {
        let headers = [(header::CONTENT_TYPE, "application/json".parse().unwrap())].into_iter().collect();
        let mut body = b"{\"filler\":\"".to_vec();
        body.resize(3 << 20, b'x');
        body.extend_from_slice(b"\"}");
        Self::Raw(StatusCode::OK, headers, body)
    }

    async fn answer(self) -> Response {
        match self {
            Self::Json(status, value) => {
                (StatusCode::from_u16(status).unwrap(), axum::Json(value)).into_response()
            }
            Self::Raw(status, headers, body) => (status, headers, body).into_response(),
            Self::Nothing => std::future::pending().await,
        }
    }
}

/// What the provider was asked, and what it says next; nothing said is what a good one says.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) discovery: VecDeque<Says>,
    pub(crate) keys: VecDeque<Says>,
    pub(crate) token: VecDeque<Says>,
    pub(crate) userinfo: VecDeque<Says>,
    pub(crate) asked: Vec<&'static str>,
    /// The form and the `Authorization` of the last exchange.
    pub(crate) form: String,
    pub(crate) authorization: Option<String>,
    pub(crate) published: Vec<Value>,
    /// Changes to the discovery document.
    pub(crate) document: Value,
}

type Shared = (String, Arc<Mutex<Script>>);

fn next(shared: &Shared, place: &'static str) -> (Option<Says>, Value, Vec<Value>) {
    let mut script = shared.1.lock().unwrap_or_else(PoisonError::into_inner);
    script.asked.push(place);
    let says = match place {
        "discovery" => script.discovery.pop_front(),
        "keys" => script.keys.pop_front(),
        "token" => script.token.pop_front(),
        _ => script.userinfo.pop_front(),
    };
    (says, script.document.clone(), script.published.clone())
}

async fn discovery(State(shared): State<Shared>) -> Response {
    let (says, changes, _) = next(&shared, "discovery");
    let url = &shared.0;
    let mut document = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/auth?tenant=1"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/jwks"),
        "userinfo_endpoint": format!("{url}/me"),
        "id_token_signing_alg_values_supported": ["ES256", "RS256"],
    });
    for (name, value) in changes.as_object().into_iter().flatten() {
        document[name] = value.clone();
    }
    says.unwrap_or(Says::ok(document)).answer().await
}

async fn keys(State(shared): State<Shared>) -> Response {
    let (says, _, published) = next(&shared, "keys");
    says.unwrap_or(Says::ok(json!({ "keys": published }))).answer().await
}

async fn token(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let (says, ..) = next(&shared, "token");
    {
        let mut script = shared.1.lock().unwrap_or_else(PoisonError::into_inner);
        script.form = String::from_utf8_lossy(&body).into_owned();
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        script.authorization = sent.map(str::to_owned);
    }
    says.unwrap_or(Says::Json(400, json!({ "error": "invalid_grant" }))).answer().await
}

async fn userinfo(State(shared): State<Shared>) -> Response {
    let (says, ..) = next(&shared, "userinfo");
    says.unwrap_or(Says::Json(401, json!({}))).answer().await
}

/// The provider and a Warren that signs in by it. Ends with its value.
pub(crate) struct Lab {
    pub(crate) issuer: String,
    pub(crate) key: Arc<Key>,
    pub(crate) provider: Provider,
    pub(crate) clock: Arc<ManualClock>,
    script: Arc<Mutex<Script>>,
    server: JoinHandle<()>,
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Lab {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let key = Key::new("key-1");
        let script = Arc::new(Mutex::new(Script { published: vec![key.jwk()], ..Script::default() }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks", get(keys))
            .route("/token", post(token))
            .route("/me", get(userinfo))
            .with_state((issuer.clone(), Arc::clone(&script)));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(NOW * 1_000_000)));
        let provider =
            Provider::new(settings(&issuer), connector(), Arc::clone(&clock) as _, Arc::new(OsEntropy));
        Self { issuer, key, provider, clock, script, server }
    }

    pub(crate) fn script<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn asked(&self, place: &str) -> usize {
        self.script(|script| script.asked.iter().filter(|one| **one == place).count())
    }

    pub(crate) async fn begin(&self) -> Sent {
        let begun = self.provider.begin(REDIRECT).await.unwrap();
        Sent::new(&begun.url, begun.attempt)
    }

    /// The claims of a good token, with this changed; `null` takes a claim away.
    pub(crate) fn claims(&self, sent: &Sent, change: &Value) -> Value {
        let now = self.clock.now().as_micros() / 1_000_000;
        let mut claims = json!({
            "iss": self.issuer, "aud": CLIENT, "nonce": sent.query("nonce"), "sub": "248289761001",
            "iat": now, "exp": now + 300, "email": "ada@example.com", "email_verified": true,
            "name": "Ada Lovelace", "preferred_username": "ada",
        });
        for (name, value) in change.as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            } else {
                claims[name] = value.clone();
            }
        }
        claims
    }

    /// A whole sign-in in which the token endpoint gives this token.
    pub(crate) async fn sign_in_with(
        &self,
        token: impl FnOnce(&Sent) -> String,
    ) -> Result<ProviderPerson, Error> {
        let sent = self.begin().await;
        let tokens = json!({ "id_token": token(&sent), "access_token": "at-secret", "token_type": "Bearer" });
        self.script(|script| script.token.push_back(Says::ok(tokens)));
        self.provider.finish(Some(&sent.attempt), &sent.answer()).await
    }

    /// The same with claims that are changed, and a good signature.
    pub(crate) async fn sign_in(&self, change: Value) -> Result<ProviderPerson, Reason> {
        let outcome = self.sign_in_with(|sent| self.key.sign(&self.claims(sent, &change))).await;
        outcome.map_err(|error| error.reason())
    }
}

/// A browser that was sent to the provider.
pub(crate) struct Sent {
    pub(crate) url: url::Url,
    pub(crate) attempt: Attempt,
}

impl Sent {
    fn new(url: &str, attempt: Attempt) -> Self {
        Self { url: url.parse().unwrap(), attempt }
    }

    pub(crate) fn query(&self, name: &str) -> String {
        let found = self.url.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned()).unwrap_or_default()
    }

    /// What it brings back from a good provider.
    pub(crate) fn answer(&self) -> AuthorizationAnswer {
        let (code, state) = (Some("code-secret".to_owned()), Some(self.query("state")));
        AuthorizationAnswer { code, state, ..AuthorizationAnswer::default() }
    }
}

pub(crate) fn connector() -> Connector {
    let policy = OutboundPolicy { allow_private: Vec::new(), connect_timeout_ms: 1_000 };
    Connector::with_system_names(policy.with_loopback())
}

pub(crate) fn settings(issuer: &str) -> ProviderSettings {
    ProviderSettings {
        issuer: issuer.to_owned(),
        client_id: CLIENT.to_owned(),
        client_secret: ClientSecret::new(SECRET),
        scopes: ProviderSettings::default_scopes(),
        timeout: Duration::from_millis(700),
    }
}
