//! A call in the making: what a caller may say, and what it may not.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, header};
use url::{Origin, Url};
use warren_rules::text::json_bounds::JsonBounds;
use zeroize::Zeroizing;

use super::Refused;

/// How many Warrens a message has passed through (sec/A09).
pub const HOPS_HEADER: HeaderName = HeaderName::from_static("warren-hops");
/// As many as it may.
pub const MAX_HOPS: u32 = 8;

/// Set by us, or said about one connection, or about somebody whom the peer has no business to know.
const NOT_FOR_CALLERS: [HeaderName; 20] = [
    header::ACCEPT_ENCODING,
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::COOKIE,
    header::EXPECT,
    header::FORWARDED,
    header::HOST,
    header::ORIGIN,
    header::PROXY_AUTHORIZATION,
    header::REFERER,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::VIA,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("x-real-ip"),
    HOPS_HEADER,
];
const FORBIDDEN_PREFIXES: [&str; 2] = ["x-forwarded-", "x-warren-"];

/// As much as one call may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallLimits {
    /// From the connection to the head of the answer.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub idle: Duration,
    /// From the call to the last byte.
    pub whole: Duration,
    pub header_bytes: usize,
    pub body_bytes: u64,
    /// Of an event stream: one line, and one event.
    pub line_bytes: usize,
    pub json: JsonBounds,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            whole: Duration::from_secs(300),
            header_bytes: 32 << 10,
            body_bytes: 4 << 20,
            line_bytes: 1 << 20,
            json: JsonBounds::default(),
        }
    }
}

/// A secret for one peer, sent to that peer's origin and to no other.
#[derive(Clone)]
pub struct Credential {
    origin: Origin,
    header: HeaderName,
    value: Zeroizing<String>,
}

impl Credential {
    /// For the origin of `url`.
    pub fn bearer(url: &Url, token: &str) -> Self {
        let value = Zeroizing::new(format!("Bearer {token}"));
        Self { origin: url.origin(), header: header::AUTHORIZATION, value }
    }

    /// A user name and a password, as HTTP's own sign-in has it.
    pub fn basic(url: &Url, user: &str, password: &str) -> Self {
        let joined = Zeroizing::new(format!("{user}:{password}"));
        let value = Zeroizing::new(format!("Basic {}", *Zeroizing::new(BASE64.encode(joined.as_bytes()))));
        Self { origin: url.origin(), header: header::AUTHORIZATION, value }
    }

    /// A header of the peer's own choice, such as `X-API-Key`.
    pub fn header(url: &Url, name: HeaderName, value: &str) -> Self {
        Self { origin: url.origin(), header: name, value: Zeroizing::new(value.to_owned()) }
    }

    /// In place of whatever the caller put there, if it is for the origin of `url`.
    pub(super) fn put_into(&self, head: &mut HeaderMap, url: &Url) -> Result<(), Refused> {
        if self.origin != url.origin() {
            return Err(Refused::Credential);
        }
        let mut value = line(&self.header, &self.value)?;
        value.set_sensitive(true);
        head.insert(self.header.clone(), value);
        Ok(())
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let origin = self.origin.ascii_serialization();
        f.debug_struct("Credential")
            .field("origin", &origin)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

/// One request to somebody else.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub url: String,
    /// Checked when the call is made: one line of text each, and none of the headers that are ours to set.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    pub credential: Option<Credential>,
    pub limits: CallLimits,
    /// How many Warrens the message behind it has passed through before this one; see [`hops_of`].
    pub hops: u32,
}

impl Call {
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            credential: None,
            limits: CallLimits::default(),
            hops: 0,
        }
    }

    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::GET, url)
    }

    pub fn post(url: impl Into<String>) -> Self {
        Self::new(Method::POST, url)
    }

    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header(CONTENT_TYPE.as_str(), content_type)
    }

    #[must_use]
    pub fn json(self, body: &serde_json::Value) -> Self {
        self.body("application/json", body.to_string())
    }

    #[must_use]
    pub fn credential(mut self, credential: Option<Credential>) -> Self {
        self.credential = credential;
        self
    }

    #[must_use]
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    #[must_use]
    pub fn hops(mut self, hops: u32) -> Self {
        self.hops = hops;
        self
    }

    /// The headers as they go out to `url`.
    pub(super) fn head(&self, url: &Url) -> Result<HeaderMap, Refused> {
        let mut head = HeaderMap::with_capacity(self.headers.len() + 3);
        for (name, value) in &self.headers {
            let (name, value) = checked(name, value)?;
            head.append(name, value);
        }
        if let Some(credential) = &self.credential {
            credential.put_into(&mut head, url)?;
        }
        if self.hops >= MAX_HOPS {
            return Err(Refused::Hops);
        }
        head.insert(HOPS_HEADER, HeaderValue::from(self.hops + 1));
        head.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(head)
    }
}

fn checked(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Refused> {
    let refused = || Refused::Header(shown(name));
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
    let is_ours = NOT_FOR_CALLERS.contains(&name)
        || FORBIDDEN_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix));
    if is_ours {
        return Err(refused());
    }
    let value = line(&name, value)?;
    Ok((name, value))
}

/// Visible text, spaces and tabs. What is not ASCII goes out as UTF-8.
fn line(name: &HeaderName, value: &str) -> Result<HeaderValue, Refused> {
    let is_line = value.chars().all(|character| character == '\t' || !character.is_control());
    let value =
        Some(value).filter(|_| is_line).and_then(|text| HeaderValue::from_bytes(text.as_bytes()).ok());
    value.ok_or_else(|| Refused::Header(name.to_string()))
}

/// A name that is no name may hold anything; it is told without what could break a line.
fn shown(name: &str) -> String {
    name.chars().filter(|character| !character.is_control()).take(64).collect()
}

/// How many Warrens a request that came in has passed through. A header that does not say so plainly counts as too
/// many: whoever wants to be part of a circle must not get out of the count by spoiling it.
pub fn hops_of(headers: &HeaderMap) -> u32 {
    let mut values = headers.get_all(HOPS_HEADER).iter();
    match (values.next(), values.next()) {
        (None, _) => 0,
        (Some(value), None) => {
            let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|text| text.parse().ok()).unwrap_or(MAX_HOPS)
        }
        (Some(_), Some(_)) => MAX_HOPS,
    }
}
