//! The typed client: one method per route, over one connection pool.
//!
//! ```text
//!   Client ── request ──▶ send ──▶ 2xx: typed answer
//!                               └─▶ else: Error::Problem (RFC 9457), matched by `code`
//! ```
//!
//! Streams (events, commands, files) are never buffered whole. The routes that only a browser uses (signing in and
//! out with a cookie, events over a WebSocket) have no method here. Proxies named in the environment are not used, and
//! redirects are not followed: a token must not travel to an address that nobody wrote down.

mod approvals;
mod audit;
mod chat;
mod commands;
mod error;
mod events;
mod exchange;
mod files;
mod frames;
mod identity;
mod image_logins;
mod mcp;
mod memory;
mod people;
mod platform;
mod processes;
mod runtimes;
mod schedules;
mod secrets;
mod sessions;
mod templates;
mod terminal;
mod tool_rules;
mod webhooks;
mod workspaces;

pub use audit::AuditQuery;
pub use chat::UploadFile;
pub use error::Error;
pub use events::EventQuery;
pub use files::{ByteRange, FileBytes, PathContents};
pub use frames::Frames;
pub use mcp::{McpAgreement, McpAnswer};
pub use people::RemoveUser;
pub use reqwest::Url;
pub use sessions::{FollowSession, SessionQuery};
pub use terminal::{Terminal, TerminalInput, TerminalMessage, TerminalOutput, TerminalQuery};
pub use workspaces::WorkspaceQuery;

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;

use crate::{PROBLEM_JSON, Problem};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For answers that are one document. Streams have no end to wait for; TCP keep-alives notice a dead peer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const SLOW_ANSWER_TIMEOUT: Duration = Duration::from_secs(900);
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// No URL, so that a request to it is never sent.
const NO_ADDRESS: &str = "";
/// Of an answer that is no problem document, this much is quoted.
const QUOTED_CHARACTERS: usize = 200;

/// A server and the token to speak to it with. Cloning is cheap and shares the connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
}

impl Client {
    /// `url` is the server's address, such as `http://127.0.0.1:7878`; without a token only public routes answer.
    pub fn new(url: &str, token: Option<&str>) -> Result<Self, Error> {
        let base = parse_base(url)?;
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let mut value =
                HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| Error::InvalidToken)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { http: build_http(headers)?, base })
    }

    /// The server's address.
    pub fn url(&self) -> &Url {
        &self.base
    }

    /// A request to `/api/v1/…`; the segments are encoded here, so that an id cannot change the route.
    fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        self.request_to(method, &["api", "v1"], segments)
    }

    /// What no path can hold fails when it is sent, as [`Error::Unsendable`], and reaches nobody.
    fn request_to(&self, method: Method, prefix: &[&str], segments: &[&str]) -> RequestBuilder {
        if !segments.iter().all(|segment| is_sendable(segment)) {
            return self.http.request(method, NO_ADDRESS);
        }
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(prefix).extend(segments);
        }
        self.http.request(method, url)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = request.send().await.map_err(|error| Error::from_send(&self.base, error))?;
        if response.status().is_success() { Ok(response) } else { Err(failure(response).await) }
    }

    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        let response = self.send(request.timeout(ANSWER_TIMEOUT)).await?;
        read_json(response).await
    }

    /// For what opens workspaces, and reads or writes many files, before it answers.
    async fn slow_answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        let response = self.send(request.timeout(SLOW_ANSWER_TIMEOUT)).await?;
        read_json(response).await
    }

    async fn no_answer(&self, request: RequestBuilder) -> Result<(), Error> {
        self.send(request.timeout(ANSWER_TIMEOUT)).await.map(drop)
    }
}

/// `.` and `..` are left out of a path however they are written, and line breaks too: `DELETE …/queue/..` would be
/// `DELETE …/queue`, another route.
fn is_sendable(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..") && !segment.chars().any(char::is_control)
}

/// The address only: the token stays out of logs.
impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("url", &self.base.as_str()).finish_non_exhaustive()
    }
}

fn parse_base(url: &str) -> Result<Url, Error> {
    let invalid = |reason: &str| Error::InvalidUrl { url: url.to_owned(), reason: reason.to_owned() };
    let base = Url::parse(url).map_err(|error| invalid(&error.to_string()))?;
    if !matches!(base.scheme(), "http" | "https") {
        return Err(invalid("it must begin with http:// or https://"));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(invalid("it must not hold a user name or password"));
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(invalid("it must not have a query or fragment"));
    }
    Ok(base)
}

#[expect(clippy::disallowed_methods, reason = "this is the door")]
fn build_http(headers: HeaderMap) -> Result<reqwest::Client, Error> {
    // Whoever comes second finds one installed; both are the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .default_headers(headers)
        .user_agent(concat!("warren-client/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(KEEP_ALIVE)
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|error| Error::BadAnswer { detail: format!("the HTTP client could not be set up: {error}") })
}

async fn read_json<T: DeserializeOwned>(response: Response) -> Result<T, Error> {
    let status = response.status();
    let bytes = response.bytes().await.map_err(Error::from_body)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::BadAnswer { detail: format!("status {status}: {error}") })
}

/// Turns an answer that is no success into the problem it states, or says that it states none.
async fn failure(response: Response) -> Error {
    let status = response.status();
    let is_problem = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with(PROBLEM_JSON));
    let bytes = match response.bytes().await {
        Ok(bytes) => bytes,
        Err(error) => return Error::from_body(error),
    };
    if is_problem && let Ok(problem) = serde_json::from_slice::<Problem>(&bytes) {
        return Error::Problem(Box::new(problem));
    }
    let text = String::from_utf8_lossy(&bytes);
    let quoted: String = text.chars().take(QUOTED_CHARACTERS).collect();
    Error::BadAnswer { detail: format!("status {status} without a problem document: {quoted:?}") }
}
