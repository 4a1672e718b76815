//! Requests that one replica passes on to another of the same Warren (O10).
//!
//! ```text
//!   client ──▶ replica ──RelayRequest──▶ the replica that has the box
//!     ◀── body, as it comes ── Relayed ◀──┘        (or, after 101, bytes both ways)
//! ```
//!
//! Other than a [`Call`](super::Call), it carries what the client sent, its credential included, and hands back what came,
//! as streams. Where replicas are reached the operator has said, so that private networks and this machine may be called;
//! metadata and link-local addresses may not. There is no limit for the answer's head: a command may take an hour. A peer
//! whose machine is gone is noticed by probes of the connection.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, header};
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;
use warren_rules::outbound::{OutboundPolicy, judge_url};

use super::resolver::Guarded;
use super::{CallError, Connector, KEPT_CONNECTIONS, KEPT_FOR, Refused, chain, judge_failure};

/// To look up the name, connect and agree on TLS. Replicas are near each other.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// A connection on which nothing moves is probed after this, so often and as many times.
const PROBE_AFTER: Duration = Duration::from_secs(10);
const PROBE_EVERY: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// Said about one connection, or set by whoever sends.
const HOP_BY_HOP: [HeaderName; 11] = [
    header::CONNECTION,
    header::EXPECT,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Bytes as they come.
pub type RelayBody = Pin<Box<dyn Stream<Item = Result<Bytes, Box<dyn StdError + Send + Sync>>> + Send>>;

/// A request to be passed on.
pub struct RelayRequest {
    pub method: Method,
    /// With its query, as the client sent it.
    pub path: String,
    /// As the client sent them; what is about its connection is left out.
    pub headers: HeaderMap,
    pub body: Option<RelayBody>,
}

impl std::fmt::Debug for RelayRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelayRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The way to other replicas. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Relay(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    guarded: Guarded,
    roots: Vec<reqwest::Certificate>,
    /// Made when the first request is passed on.
    plain: OnceLock<Result<reqwest::Client, String>>,
    tls: OnceLock<Result<reqwest::Client, String>>,
}

/// What the other replica answered. Its body, or the connection, is yet to be used.
#[derive(Debug)]
pub struct Relayed {
    pub status: StatusCode,
    /// Without what is about the connection to the other replica.
    pub headers: HeaderMap,
    response: reqwest::Response,
}

impl Connector {
    /// The way to other replicas, with the names and certificates that this connector trusts.
    pub fn relay(&self) -> Relay {
        let policy = OutboundPolicy::default().with_private_networks().with_loopback();
        let guarded = Guarded { policy: Arc::new(policy), resolver: Arc::clone(&self.0.guarded.resolver) };
        let roots = self.0.roots.clone();
        Relay(Arc::new(Inner { guarded, roots, plain: OnceLock::new(), tls: OnceLock::new() }))
    }
}

impl Relay {
    /// Whether replicas can be reached at such a URL: an origin, without a path.
    pub fn check_url(url: &str) -> Result<(), Refused> {
        let policy = OutboundPolicy::default().with_private_networks().with_loopback();
        let target = judge_url(url, &policy)?;
        if target.url.path() != "/" || target.url.query().is_some() {
            return Err(Refused::Url(warren_rules::outbound::UrlRefusal::NotAUrl));
        }
        Ok(())
    }

    /// Passes a request on, once. An error tells whether any of it may have arrived.
    pub async fn pass_on(&self, origin: &str, request: RelayRequest) -> Result<Relayed, CallError> {
        let url = format!("{}{}", origin.trim_end_matches('/'), request.path);
        let url = judge_url(&url, &self.0.guarded.policy)?.url;
        let is_upgrade = wants_upgrade(&request.headers);
        let mut headers = without_hop_by_hop(&request.headers);
        if is_upgrade {
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        }
        let client = self.client(&url)?;
        let mut built = client.request(request.method, url).headers(headers);
        if let Some(body) = request.body {
            built = built.body(reqwest::Body::wrap_stream(body));
        }
        let response = built.send().await.map_err(|error| judge_failure(&error))?;
        let status = response.status();
        let mut headers = without_hop_by_hop(response.headers());
        if status == StatusCode::SWITCHING_PROTOCOLS {
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        }
        Ok(Relayed { status, headers, response })
    }

    fn client(&self, url: &Url) -> Result<&reqwest::Client, CallError> {
        let is_plain = url.scheme() == "http";
        let slot = if is_plain { &self.0.plain } else { &self.0.tls };
        let made = slot.get_or_init(|| self.build(is_plain).map_err(|error| chain(&error)));
        made.as_ref().map_err(|cause| CallError::Untrusted { cause: cause.clone() })
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door to other replicas")]
    fn build(&self, is_plain: bool) -> reqwest::Result<reqwest::Client> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .dns_resolver(Arc::new(self.0.guarded.clone()))
            .connect_timeout(CONNECT_LIMIT)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .pool_max_idle_per_host(KEPT_CONNECTIONS)
            .pool_idle_timeout(KEPT_FOR)
            .tcp_nodelay(true)
            .tcp_keepalive(PROBE_AFTER)
            .tcp_keepalive_interval(PROBE_EVERY)
            .tcp_keepalive_retries(PROBES)
            .http1_only();
        if is_plain {
            return builder.tls_certs_only([]).build();
        }
        builder.https_only(true).tls_certs_merge(self.0.roots.iter().cloned()).build()
    }
}

impl Relayed {
    /// The body as it comes. An error means that it is not whole.
    pub fn into_stream(self) -> RelayBody {
        Box::pin(self.response.bytes_stream().map(|piece| piece.map_err(Into::into)))
    }

    /// The connection itself, after an answer of 101.
    pub async fn into_connection(self) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send, CallError> {
        self.response.upgrade().await.map_err(|error| CallError::NoAnswer { cause: chain(&error) })
    }
}

/// Whether a request asks for a WebSocket, by its own headers.
pub fn wants_upgrade(headers: &HeaderMap) -> bool {
    let is_websocket =
        headers.get(header::UPGRADE).is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(b"websocket"));
    is_websocket && named_by_connection(headers).any(|name| name.eq_ignore_ascii_case("upgrade"))
}

fn named_by_connection(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = named_by_connection(headers).map(str::to_ascii_lowercase).collect();
    let is_kept =
        |name: &HeaderName| !HOP_BY_HOP.contains(name) && !named.iter().any(|one| one == name.as_str());
    let kept = headers.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect()
    }

    // O10
    #[test]
    fn what_is_about_the_clients_connection_is_not_passed_on() {
        let sent = headers(&[
            ("host", "warren.example"),
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("transfer-encoding", "chunked"),
            ("te", "trailers"),
            ("expect", "100-continue"),
            ("authorization", "Bearer secret"),
            ("cookie", "a=b"),
            ("content-length", "7"),
        ]);
        let passed = without_hop_by_hop(&sent);
        let mut names: Vec<&str> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "content-length", "cookie"]);
    }

    // O10
    #[test]
    fn only_a_websocket_is_upgraded() {
        let asks = |pairs: &[_]| wants_upgrade(&headers(pairs));
        assert!(asks(&[("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket")]));
        assert!(!asks(&[("connection", "keep-alive"), ("upgrade", "websocket")]));
        assert!(!asks(&[("connection", "upgrade"), ("upgrade", "h2c")]));
        assert!(!asks(&[]));
    }

    // O10, X6
    #[test]
    fn a_replica_may_be_on_a_private_network_and_never_at_a_metadata_address() {
        for url in ["http://10.0.0.7:7878", "http://127.0.0.1:7878", "https://warren-b.example"] {
            assert_eq!(Relay::check_url(url), Ok(()), "{url}");
        }
        for url in
            ["http://169.254.169.254", "ftp://10.0.0.7", "http://10.0.0.7/api", "http://a:b@10.0.0.7", "b"]
        {
            assert!(Relay::check_url(url).is_err(), "{url}");
        }
    }
}
