//! The one door through which Warren calls others (X6).
//!
//! ```text
//!   Call ──▶ judge the URL ──▶ judge the headers ──▶ look up, once ──▶ judge every address ──▶ connect to these
//!              │ Refused          │ Refused             │ Unreachable     │ Refused              │ NobodyListens, …
//!                                                                                                ▼
//!                     Answer, read under limits ◀── judge the head ◀── NoAnswer ◀── write the request
//! ```
//!
//! - The check at registration, at discovery and at dispatch is this code; there is no second one to disagree with it.
//! - Addresses are judged between the look-up and the connection, within the HTTP client's own resolver, so that there
//!   is no second look-up that could answer differently.
//! - A connection is used again only within the second after its last answer. One that was kept for longer may be closed
//!   by the peer in the moment when it is used: the message would be `unknown` where it could have been `busy`. Servers
//!   keep them for several seconds; that one stops in this very second is as likely as that it stops while it answers.
//! - No proxy of the environment, no redirect, no cookie, no compression, no credential but the one that is bound to the
//!   origin that is called.

mod answer;
mod error;
mod events;
mod relay;
mod request;
mod resolver;
mod streams;

pub use answer::{Answer, Body};
pub use error::{BadAnswer, BadRoots, CallError, Refused};
pub use events::{EventStream, ServerEvent};
pub use relay::{Relay, RelayBody, RelayRequest, Relayed, wants_upgrade};
pub use request::{Call, CallLimits, Credential, HOPS_HEADER, MAX_HOPS, hops_of};
pub use resolver::{Resolver, SystemResolver};
pub use streams::{Forward, Forwarded};

use std::error::Error as StdError;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;
use warren_rules::outbound::{Host, OutboundPolicy, Target, UrlRefusal, judge_url};

use resolver::{Guarded, LookUpError};

/// How long a connection is kept after an answer, and how many to one peer.
const KEPT_FOR: Duration = Duration::from_secs(1);
const KEPT_CONNECTIONS: usize = 32;

/// The connector. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Connector(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    guarded: Guarded,
    /// Trusted besides the machine's own.
    roots: Vec<reqwest::Certificate>,
    /// Made at the first call: without any certificates on the machine there is no TLS, and Warren works without calls.
    plain: OnceLock<Result<reqwest::Client, String>>,
    tls: OnceLock<Result<reqwest::Client, String>>,
}

/// A URL that may be called, as of now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedUrl {
    pub url: Url,
    pub addresses: Vec<IpAddr>,
}

impl Connector {
    pub fn new(policy: OutboundPolicy, resolver: Arc<dyn Resolver>) -> Self {
        Self::made_of(Guarded { policy: Arc::new(policy), resolver }, Vec::new())
    }

    fn made_of(guarded: Guarded, roots: Vec<reqwest::Certificate>) -> Self {
        Self(Arc::new(Inner { guarded, roots, plain: OnceLock::new(), tls: OnceLock::new() }))
    }

    /// The same, and it also trusts whoever these certificates, in PEM, vouch for: the authority of a company, mostly.
    pub fn trusting(&self, pem: &[u8]) -> Result<Self, BadRoots> {
        let mut store = rustls::RootCertStore::empty();
        let mut roots = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| BadRoots::NoPem(error.to_string()))?;
            store.add(certificate.clone()).map_err(|error| BadRoots::NoRoot(error.to_string()))?;
            let root = reqwest::Certificate::from_der(&certificate);
            roots.push(root.map_err(|error| BadRoots::NoRoot(error.to_string()))?);
        }
        if roots.is_empty() {
            return Err(BadRoots::Empty);
        }
        Ok(Self::made_of(self.0.guarded.clone(), roots))
    }

    /// The same names and certificates, under another policy: what Warren's operator calls is not what a box may reach.
    #[must_use]
    pub fn under(&self, policy: OutboundPolicy) -> Self {
        let resolver = Arc::clone(&self.0.guarded.resolver);
        Self::made_of(Guarded { policy: Arc::new(policy), resolver }, self.0.roots.clone())
    }

    /// With the names of this machine.
    pub fn with_system_names(policy: OutboundPolicy) -> Self {
        Self::new(policy, Arc::new(SystemResolver))
    }

    pub fn policy(&self) -> &OutboundPolicy {
        &self.0.guarded.policy
    }

    /// Judges a URL by its text alone: for what is kept and never called.
    pub fn check_text(&self, url: &str) -> Result<Url, Refused> {
        Ok(judge_url(url, self.policy())?.url)
    }

    /// Judges a URL and everything that its name leads to, without calling it.
    pub async fn check(&self, url: &str) -> Result<CheckedUrl, Refused> {
        let Target { url, host } = judge_url(url, self.policy())?;
        let addresses = match host {
            Host::Address(address) => vec![address],
            Host::Loopback(addresses) => addresses,
            Host::Name(name) => self.look_up(&name).await?,
        };
        Ok(CheckedUrl { url, addresses })
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, UrlRefusal> {
        match timeout(self.connect_timeout(), self.0.guarded.look_up(name)).await {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(LookUpError::Refused(refusal))) => Err(refusal),
            Ok(Err(LookUpError::Failed(error))) => {
                tracing::debug!(%error, host.name = name, "a name could not be looked up");
                Err(UrlRefusal::NoAddress)
            }
            Err(_) => Err(UrlRefusal::NoAddress),
        }
    }

    /// Calls somebody. An answer of any status but a redirect is an [`Answer`]; its body is yet to be read.
    pub async fn call(&self, call: Call) -> Result<Answer, CallError> {
        let outcome = self.attempt(&call).await;
        if let Err(error) = &outcome {
            let origin = Url::parse(&call.url).map(|url| url.origin().ascii_serialization());
            let origin = origin.unwrap_or_else(|_| "none".to_owned());
            tracing::info!(peer.origin = origin, %error, "a call to a peer failed");
        }
        outcome
    }

    async fn attempt(&self, call: &Call) -> Result<Answer, CallError> {
        let Target { url, host: _ } = judge_url(&call.url, self.policy())?;
        let head = call.head(&url)?;
        let client = self.client(url.scheme())?;
        let begun = Instant::now();
        let end = begun + call.limits.whole;
        let request = client.request(call.method.clone(), url).headers(head).body(call.body.clone());
        // Connecting has its own, shorter end, so that whoever meets this one was connected.
        let until = end.min(begun + self.connect_timeout() + call.limits.first_byte);
        let response = match timeout_at(until, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(judge_failure(&error)),
            Err(_) => {
                let cause = format!("no answer within {:?}", until - begun);
                return Err(CallError::NoAnswer { cause });
            }
        };
        Ok(Answer::of(response, call.limits, end)?)
    }

    fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.policy().connect_timeout_ms)
    }

    fn client(&self, scheme: &str) -> Result<&reqwest::Client, CallError> {
        let (slot, is_plain) = if scheme == "http" { (&self.0.plain, true) } else { (&self.0.tls, false) };
        let made = slot.get_or_init(|| self.build(is_plain).map_err(|error| chain(&error)));
        made.as_ref().map_err(|cause| CallError::Untrusted { cause: cause.clone() })
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    fn build(&self, is_plain: bool) -> reqwest::Result<reqwest::Client> {
        // Whoever comes second finds one installed; both are the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .dns_resolver(Arc::new(self.0.guarded.clone()))
            .connect_timeout(self.connect_timeout())
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .pool_max_idle_per_host(KEPT_CONNECTIONS)
            .pool_idle_timeout(KEPT_FOR)
            .tcp_nodelay(true)
            .http1_only()
            .user_agent(concat!("warren/", env!("CARGO_PKG_VERSION")));
        // Plain HTTP needs no certificates of the machine.
        if is_plain {
            return builder.tls_certs_only([]).build();
        }
        builder.https_only(true).tls_certs_merge(self.0.roots.iter().cloned()).build()
    }
}

/// What a failed attempt means, above all whether anything was sent.
fn judge_failure(error: &reqwest::Error) -> CallError {
    let cause = chain(error);
    if !error.is_connect() {
        return CallError::NoAnswer { cause };
    }
    if let Some(LookUpError::Refused(refusal)) = in_chain::<LookUpError>(error) {
        return refusal.clone().into();
    }
    if in_chain::<rustls::Error>(error).is_some() {
        return CallError::Untrusted { cause };
    }
    let kind = in_chain::<io::Error>(error).map(io::Error::kind);
    if kind == Some(io::ErrorKind::ConnectionRefused) {
        return CallError::NobodyListens { cause };
    }
    CallError::Unreachable { cause }
}

/// The first cause of a type. An I/O error hides what it was made from one level deeper.
fn in_chain<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let hidden = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) = hidden.and_then(|inner| in_chain::<T>(inner)) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// All causes in one line, without the URL, whose query may hold a secret.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut told: Vec<String> = Vec::new();
    let mut next = error.source().or(Some(error));
    while let Some(error) = next {
        told.push(error.to_string());
        next = error.source();
    }
    told.dedup();
    told.join(": ")
}
