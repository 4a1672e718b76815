//! Beginning and finishing a sign-in: the authorization code flow with PKCE (RFC 7636), for a client with a secret.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::AUTHORIZATION;
use http::{HeaderName, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use url::Url;
use url::form_urlencoded::Serializer;
use warren_doors::{Clock, Entropy};
use warren_model::Timestamp;
use warren_outbound::{Answer, Call, CallLimits, Connector, Credential};
use zeroize::Zeroizing;

use crate::cache::Cache;
use crate::claims::{self, Expected, ProviderPerson};
use crate::discovery::{self, Metadata, SecretGoes};
use crate::error::{Error, Reason};
use crate::keys::{self, KeySet, UncheckedToken, Verdict};
use crate::settings::ProviderSettings;

/// How long a person may take at the provider.
pub const ATTEMPT_LIFETIME_MS: i64 = 10 * 60 * 1_000;
/// Sign-ins that are finished at the same time. Anybody may begin one.
const MAX_AT_ONCE: usize = 16;
/// Bytes of a body: documents, and tokens with all their groups.
const MAX_BODY: u64 = 256 << 10;

/// A provider by which people sign in. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Provider(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: ProviderSettings,
    connector: Connector,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    metadata: Cache<Metadata>,
    keys: Cache<KeySet>,
    places: Semaphore,
}

/// What discovery found, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    pub authorization_endpoint: String,
    pub keys: usize,
}

/// A sign-in that was begun.
#[derive(Debug)]
pub struct Begun {
    /// Where the browser goes.
    pub url: String,
    pub attempt: Attempt,
}

/// What has to be at hand when the browser comes back. It is secret: the browser keeps it sealed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    state: String,
    nonce: String,
    verifier: String,
    redirect_uri: String,
    begun_at: Timestamp,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").field("begun_at", &self.begun_at).finish_non_exhaustive()
    }
}

/// What the browser brings back, as it stands in the query.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct AuthorizationAnswer {
    pub code: Option<String>,
    pub state: Option<String>,
    pub iss: Option<String>,
    pub error: Option<String>,
}

impl std::fmt::Debug for AuthorizationAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizationAnswer").field("error", &self.error).finish_non_exhaustive()
    }
}

/// What the token endpoint gives.
#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
    access_token: Option<String>,
}

/// What it gives when it refuses.
#[derive(Deserialize, Default)]
struct Refusal {
    #[serde(default)]
    error: String,
}

impl Provider {
    pub fn new(
        settings: ProviderSettings,
        connector: Connector,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self(Arc::new(Inner {
            settings,
            connector,
            clock,
            entropy,
            metadata: Cache::new("discovery"),
            keys: Cache::new("keys"),
            places: Semaphore::new(MAX_AT_ONCE),
        }))
    }

    pub fn issuer(&self) -> &str {
        &self.0.settings.issuer
    }

    /// Asks the provider for all that a sign-in needs.
    pub async fn discover(&self) -> Result<Discovered, Error> {
        let metadata = self.0.metadata().await?;
        let keys = self.0.key_set(&metadata).await?;
        if keys.len() == 0 {
            return Err(Error::new(Reason::UnknownKey, "it publishes no key that Warren can use"));
        }
        let authorization_endpoint = metadata.authorization_endpoint.to_string();
        Ok(Discovered { authorization_endpoint, keys: keys.len() })
    }

    /// The way to the provider, which sends the browser back to `redirect_uri`.
    #[tracing::instrument(name = "oidc.begin", skip_all)]
    pub async fn begin(&self, redirect_uri: &str) -> Result<Begun, Error> {
        let metadata = self.0.metadata().await?;
        let secret = || URL_SAFE_NO_PAD.encode(self.0.entropy.secret());
        let attempt = Attempt {
            state: secret(),
            nonce: secret(),
            verifier: secret(),
            redirect_uri: redirect_uri.to_owned(),
            begun_at: self.0.clock.now(),
        };
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, attempt.verifier.as_bytes()));
        let mut url = metadata.authorization_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.0.settings.client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", &self.0.settings.scope())
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(Begun { url: url.into(), attempt })
    }

    /// Who came back. `attempt` is the one that this very browser kept, or none.
    #[tracing::instrument(name = "oidc.finish", skip_all)]
    pub async fn finish(
        &self,
        attempt: Option<&Attempt>,
        answer: &AuthorizationAnswer,
    ) -> Result<ProviderPerson, Error> {
        let attempt = self.0.check_state(attempt, answer)?;
        let _place = self.0.places.try_acquire().map_err(|_| Error::new(Reason::Busy, "too many at once"))?;
        let metadata = self.0.metadata().await?;
        self.0.check_issuer(&metadata, answer)?;
        if let Some(error) = &answer.error {
            return Err(refusal_in_browser(error));
        }
        let code = answer.code.as_deref().filter(|code| !code.is_empty());
        let code = code.ok_or_else(|| Error::new(Reason::BadAnswer, "the browser brought no code back"))?;
        let tokens = self.0.exchange(&metadata, attempt, code).await?;
        let id_token = tokens.id_token.ok_or_else(|| Error::new(Reason::NoIdToken, "no `id_token`"))?;
        let id_claims = self.0.verify(&metadata, &id_token).await?;
        let expected = Expected {
            issuer: self.issuer(),
            client_id: &self.0.settings.client_id,
            nonce: &attempt.nonce,
            now: self.0.clock.now(),
        };
        let subject = claims::check(&id_claims, expected)?;
        let userinfo = match (&metadata.userinfo_endpoint, &tokens.access_token) {
            (Some(place), Some(token)) if !claims::has_profile(&id_claims) => {
                self.0.userinfo(place, token, &subject).await?
            }
            _ => Map::new(),
        };
        Ok(claims::person(self.issuer(), subject, &[&id_claims, &userinfo]))
    }
}

impl Inner {
    fn check_state<'a>(
        &self,
        attempt: Option<&'a Attempt>,
        answer: &AuthorizationAnswer,
    ) -> Result<&'a Attempt, Error> {
        let attempt = attempt.ok_or_else(|| Error::new(Reason::StateMismatch, "the browser kept nothing"))?;
        if answer.state.as_deref() != Some(attempt.state.as_str()) {
            return Err(Error::new(Reason::StateMismatch, "`state` is not the one that the browser kept"));
        }
        let age = self.clock.now().ms_since(attempt.begun_at);
        if !(-60_000..ATTEMPT_LIFETIME_MS).contains(&age) {
            return Err(Error::new(Reason::AttemptExpired, format!("begun {} s ago", age / 1_000)));
        }
        Ok(attempt)
    }

    /// Against an answer of one provider that is handed to another (RFC 9207).
    fn check_issuer(&self, metadata: &Metadata, answer: &AuthorizationAnswer) -> Result<(), Error> {
        match answer.iss.as_deref() {
            Some(issuer) if issuer == self.settings.issuer => Ok(()),
            None if !metadata.names_itself => Ok(()),
            Some(_) => Err(Error::new(Reason::AnswerIssuer, "`iss` of the answer is another issuer")),
            None => Err(Error::new(Reason::AnswerIssuer, "`iss` of the answer is missing")),
        }
    }

    async fn metadata(&self) -> Result<Arc<Metadata>, Error> {
        let fetch = async {
            let url = discovery::url_of(&self.settings.issuer);
            let document: discovery::Document = self.document("discovery", &url).await?;
            document.check(&self.settings.issuer)
        };
        self.metadata.get(self.clock.now(), |_| true, fetch).await
    }

    async fn key_set(&self, metadata: &Metadata) -> Result<Arc<KeySet>, Error> {
        let is_from_there = |keys: &KeySet| keys.from == metadata.jwks_uri;
        self.keys.get(self.clock.now(), is_from_there, self.fetch_keys(metadata)).await
    }

    async fn fetch_keys(&self, metadata: &Metadata) -> Result<KeySet, Error> {
        let document: keys::Document = self.document("keys", metadata.jwks_uri.as_str()).await?;
        Ok(KeySet::new(metadata.jwks_uri.clone(), document))
    }

    /// The claims of a token that the provider signed. A key that is not known may be new: the keys are fetched once more.
    async fn verify(&self, metadata: &Metadata, token: &str) -> Result<Map<String, Value>, Error> {
        let token = UncheckedToken::read(token)?;
        let mut keys = self.key_set(metadata).await?;
        loop {
            match token.verify(&keys) {
                Verdict::Signed(claims) => return Ok(claims),
                Verdict::NotSigned(error) => return Err(error),
                Verdict::NoKey => {}
            }
            match self.keys.refresh(self.clock.now(), self.fetch_keys(metadata)).await {
                Some(Ok(newer)) => keys = newer,
                Some(Err(error)) => return Err(error),
                None => {
                    let cause =
                        "no key of the provider's fits, and its keys were fetched within the last minute";
                    return Err(Error::new(Reason::UnknownKey, cause));
                }
            }
        }
    }

    fn exchange_call(&self, metadata: &Metadata, attempt: &Attempt, code: &str) -> Call {
        let settings = &self.settings;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("code_verifier", &attempt.verifier);
        let credential = match metadata.secret_goes {
            SecretGoes::InHeader => {
                let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
                let secret = Zeroizing::new(encoded(settings.client_secret.reveal()));
                let pair = Zeroizing::new(format!("{}:{}", encoded(&settings.client_id), *secret));
                let value = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
                Some(Credential::header(&metadata.token_endpoint, AUTHORIZATION, &value))
            }
            SecretGoes::InBody => {
                form.append_pair("client_id", &settings.client_id)
                    .append_pair("client_secret", settings.client_secret.reveal());
                None
            }
        };
        Call::post(metadata.token_endpoint.as_str())
            .body("application/x-www-form-urlencoded", form.finish())
            .credential(credential)
    }

    /// A code becomes tokens. It is used up by this, whatever comes of it.
    async fn exchange(&self, metadata: &Metadata, attempt: &Attempt, code: &str) -> Result<Tokens, Error> {
        let call = self.exchange_call(metadata, attempt, code);
        let answer = self.call("token endpoint", call).await?;
        match answer.status {
            StatusCode::OK => read("token endpoint", answer).await,
            status if status.is_server_error() || answer.is_busy() => {
                Err(Error::new(Reason::ProviderBusy, format!("token endpoint: {}", status.as_u16())))
            }
            status => {
                let refusal = read::<Refusal>("token endpoint", answer).await.unwrap_or_default();
                Err(refusal_of_exchange(status, &refusal.error))
            }
        }
    }

    async fn userinfo(&self, place: &Url, token: &str, subject: &str) -> Result<Map<String, Value>, Error> {
        let call = Call::get(place.as_str()).credential(Some(Credential::bearer(place, token)));
        let answer = self.call("userinfo", call).await?;
        if answer.status != StatusCode::OK {
            return Err(Error::new(Reason::BadAnswer, format!("userinfo: {}", answer.status.as_u16())));
        }
        let claims: Map<String, Value> = read("userinfo", answer).await?;
        if claims::subject(&claims).as_deref() != Some(subject) {
            return Err(Error::new(Reason::UserinfoSubject, "`sub` differs"));
        }
        Ok(claims)
    }

    async fn document<T: DeserializeOwned>(&self, place: &'static str, url: &str) -> Result<T, Error> {
        let answer = self.call(place, Call::get(url)).await?;
        match answer.status {
            StatusCode::OK => read(place, answer).await,
            status if status.is_server_error() || answer.is_busy() => {
                Err(Error::new(Reason::Unreachable, format!("{place}: {}", status.as_u16())))
            }
            status => Err(Error::new(Reason::BadAnswer, format!("{place}: {}", status.as_u16()))),
        }
    }

    async fn call(&self, place: &'static str, call: Call) -> Result<Answer, Error> {
        const ACCEPT: HeaderName = http::header::ACCEPT;
        let timeout = self.settings.timeout;
        let limits = CallLimits {
            first_byte: timeout,
            idle: timeout,
            whole: timeout,
            body_bytes: MAX_BODY,
            ..CallLimits::default()
        };
        let call = call.header(ACCEPT.as_str(), "application/json").limits(limits);
        self.connector.call(call).await.map_err(|error| Error::of_call(place, &error))
    }
}

async fn read<T: DeserializeOwned>(place: &'static str, answer: Answer) -> Result<T, Error> {
    answer.json().await.map_err(|error| Error::of_call(place, &error))
}

/// RFC 6749, section 4.1.2.1, and OpenID Connect Core, section 3.1.2.6.
fn refusal_in_browser(error: &str) -> Error {
    let reason = match error {
        "access_denied"
        | "login_required"
        | "interaction_required"
        | "consent_required"
        | "account_selection_required" => Reason::Denied,
        "server_error" | "temporarily_unavailable" => Reason::ProviderBusy,
        "unauthorized_client" => Reason::ClientRefused,
        _ => Reason::RequestRefused,
    };
    Error::new(reason, format!("the provider answered `{}`", keys::shown(error)))
}

/// RFC 6749, section 5.2.
fn refusal_of_exchange(status: StatusCode, error: &str) -> Error {
    let reason = match error {
        "invalid_client" | "unauthorized_client" => Reason::ClientRefused,
        "invalid_grant" => Reason::CodeRefused,
        "redirect_uri_mismatch" => Reason::RedirectRefused,
        _ if status == StatusCode::UNAUTHORIZED => Reason::ClientRefused,
        _ => Reason::RequestRefused,
    };
    let name = keys::shown(error);
    Error::new(reason, format!("token endpoint: {} `{name}`", status.as_u16()))
}
