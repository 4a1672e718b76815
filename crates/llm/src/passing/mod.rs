//! Requests that somebody else wrote for a provider's own API, passed on with Warren's key (A81).
//!
//! ```text
//!   body ──▶ PassedRequest::read ──▶ Models::pass ──▶ outbound, or a script ──▶ PassedBody, piece by piece ──▶ UsageTap
//!              │ what it may not ask for                 │ the key is put in here
//! ```
//!
//! The body goes out as it came, but for the model's name where another one answers: whoever wrote it knows more of the
//! provider than Warren does. Headers do not: only the few that are named here go out, and of those that come back as few.

mod errors;
mod request;
mod unique_keys;
mod usage;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::BodyExt as _;
use serde_json::Value;
use warren_model::session::ModelName;
use warren_outbound::{Answer, Body, CallError};

pub use errors::{ErrorKind, error_body};
pub use request::{PassedRequest, RequestRefusal};
pub use usage::UsageTap;

use crate::providers::{ProviderSettings, Wire};
use crate::server::AnswerBody;
use crate::wires::Endpoint;
use crate::{Advice, ApiKey, ModelError, Models};

/// Of an error, more is not passed on.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// What a request may say about itself.
const REQUEST_HEADERS: [&str; 4] = ["accept", "anthropic-beta", "anthropic-version", "openai-beta"];
/// What an answer may. What it says about the account is Warren's own business.
const ANSWER_HEADERS: [&str; 6] =
    ["content-type", "request-id", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry"];
const MAX_HEADER_BYTES: usize = 1_024;

/// A path of a provider's API that is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedPath {
    /// `POST /v1/messages`
    Messages,
    /// `POST /v1/messages/count_tokens`
    CountTokens,
    /// `POST /v1/responses`
    Responses,
    /// `POST /v1/chat/completions`
    Chat,
    /// `POST /v1beta/models/{model}:generateContent`, or `…:streamGenerateContent`, there with events where `alt=sse` is said.
    Gemini { is_stream: bool, is_sse: bool },
}

/// What a request is for, by its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedTarget {
    pub path: PassedPath,
    /// Where the path names it; otherwise the body does.
    pub model: Option<String>,
}

impl PassedTarget {
    /// Nothing where it is none of the paths that are passed on.
    pub fn of(path: &str, query: &str) -> Option<Self> {
        if let Some(path) = PassedPath::of(path) {
            return Some(Self { path, model: None });
        }
        let rest =
            path.strip_prefix("/v1beta").or_else(|| path.strip_prefix("/v1"))?.strip_prefix("/models/")?;
        let (model, method) = rest.rsplit_once(':')?;
        let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.');
        let is_sound =
            (1..=200).contains(&model.len()) && model.chars().all(is_plain) && !model.starts_with('.');
        let is_stream = match method {
            "generateContent" => false,
            "streamGenerateContent" => true,
            _ => return None,
        };
        let is_sse = is_stream && query.split('&').any(|pair| pair == "alt=sse");
        is_sound
            .then(|| Self { path: PassedPath::Gemini { is_stream, is_sse }, model: Some(model.to_owned()) })
    }
}

impl PassedPath {
    /// By a path that stands for itself.
    fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/messages" => Some(Self::Messages),
            "/v1/messages/count_tokens" => Some(Self::CountTokens),
            // Some programs leave out the version, others say it twice.
            "/v1/responses" | "/responses" => Some(Self::Responses),
            "/v1/chat/completions" | "/chat/completions" => Some(Self::Chat),
            _ => None,
        }
    }

    pub const fn wire(self) -> Wire {
        match self {
            Self::Messages | Self::CountTokens => Wire::Anthropic,
            Self::Responses => Wire::Responses,
            Self::Chat => Wire::Chat,
            Self::Gemini { .. } => Wire::Gemini,
        }
    }

    /// Below the base URL of a provider.
    fn below_base(self, model: &str) -> String {
        match self {
            Self::Messages => "/messages".to_owned(),
            Self::CountTokens => "/messages/count_tokens".to_owned(),
            Self::Responses => "/responses".to_owned(),
            Self::Chat => "/chat/completions".to_owned(),
            Self::Gemini { is_stream: false, .. } => format!("/models/{model}:generateContent"),
            Self::Gemini { is_sse: false, .. } => format!("/models/{model}:streamGenerateContent"),
            Self::Gemini { .. } => format!("/models/{model}:streamGenerateContent?alt=sse"),
        }
    }

    /// Whether an answer costs something.
    pub const fn is_billed(self) -> bool {
        match self {
            Self::Messages | Self::Responses | Self::Chat | Self::Gemini { .. } => true,
            Self::CountTokens => false,
        }
    }
}

/// What comes back, as far as it is passed on.
#[derive(Debug)]
pub struct PassedAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: PassedBody,
}

impl PassedAnswer {
    pub fn is_event_stream(&self) -> bool {
        let of_type = |(name, value): &(String, String)| {
            name == "content-type" && value.to_ascii_lowercase().starts_with("text/event-stream")
        };
        self.headers.iter().any(of_type)
    }
}

/// A body that is read as it comes. Dropping it hangs up.
#[derive(Debug)]
pub struct PassedBody(Source);

#[derive(Debug)]
enum Source {
    Called(Box<Body>),
    Scripted(AnswerBody),
    Whole(Option<Bytes>),
}

impl PassedBody {
    /// The next piece; nothing at the end. An error says that it was broken off, and no more.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        match &mut self.0 {
            Source::Whole(bytes) => Ok(bytes.take().filter(|bytes| !bytes.is_empty())),
            Source::Called(body) => body.chunk().await.map_err(|error| broken_off(&error)),
            Source::Scripted(body) => loop {
                match body.frame().await {
                    None => return Ok(None),
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                        Ok(_) | Err(_) => {}
                    },
                    Some(Err(error)) => return Err(ModelError::truncated().because(error.to_string())),
                }
            },
        }
    }
}

fn broken_off(error: &CallError) -> ModelError {
    ModelError::truncated().because(error.to_string())
}

impl Models {
    /// Whether a provider answers on the wire of this path. One that is known by another name for another wire does, if
    /// both are in the same place and take the same key.
    pub fn answers_on(&self, provider: &str, path: PassedPath) -> bool {
        self.settings_on(provider, path).is_some()
    }

    fn settings_on(&self, provider: &str, path: PassedPath) -> Option<&ProviderSettings> {
        let named = self.providers().get(provider)?;
        if named.wire == path.wire() || named.wire == Wire::Scripted {
            return Some(named);
        }
        let is_same = |other: &&ProviderSettings| {
            other.wire == path.wire() && other.base_url == named.base_url && other.key == named.key
        };
        self.providers().0.values().find(is_same)
    }

    /// Passes a request on to the model that answers it. What the provider says against it is an answer too.
    pub async fn pass(
        &self,
        model: &ModelName,
        request: &PassedRequest,
        headers: &[(String, String)],
        key: Option<ApiKey>,
    ) -> Result<PassedAnswer, ModelError> {
        let path = request.path;
        let settings = self.settings_on(&model.provider, path).ok_or_else(|| {
            ModelError::refused(format!("the provider `{}` does not answer on this path", model.provider))
        })?;
        let headers = headers.iter().filter(|(name, value)| is_passed(&REQUEST_HEADERS, name, value));
        if settings.wire == Wire::Scripted {
            return self.answer_by_script(model, request, headers).await;
        }
        if let Some(name) = settings.key.as_ref().filter(|_| key.is_none()) {
            let sentence = format!(
                "there is no key for {}: set the secret or the environment variable `{name}` at Warren",
                model.provider
            );
            return Err(ModelError::new(Advice::NoKey, sentence));
        }
        let mut sent: Vec<_> =
            settings.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        sent.extend(headers.cloned());
        if settings.wire == Wire::Anthropic && !sent.iter().any(|(name, _)| name == "anthropic-version") {
            sent.push(("anthropic-version".to_owned(), settings.api_version().to_owned()));
        }
        let endpoint = Endpoint {
            connector: self.connector().clone(),
            provider: model.provider.clone(),
            wire: settings.wire,
            base_url: settings.base_url.clone(),
            headers: sent,
            key,
            timers: self.timers(),
        };
        let answer = endpoint.pass(&path.below_base(&model.model), request.body_for(&model.model)).await?;
        passed(&endpoint, path, answer).await
    }

    async fn answer_by_script(
        &self,
        model: &ModelName,
        request: &PassedRequest,
        headers: impl Iterator<Item = &(String, String)>,
    ) -> Result<PassedAnswer, ModelError> {
        let script = self.scripted_server(&model.model)?;
        let mut head = HeaderMap::new();
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                head.insert(name, value);
            }
        }
        let body: Value = serde_json::from_slice(&request.body_for(&model.model)).unwrap_or_default();
        let answer = script.answer(request.path, &request.model, head, &body).await;
        let (parts, body) = answer.into_parts();
        let headers = answer_headers(&parts.headers);
        Ok(PassedAnswer { status: parts.status.as_u16(), headers, body: PassedBody(Source::Scripted(body)) })
    }
}

async fn passed(endpoint: &Endpoint, path: PassedPath, answer: Answer) -> Result<PassedAnswer, ModelError> {
    let (status, headers) = (answer.status.as_u16(), answer_headers(&answer.headers));
    // What it says about the key is not for those who must not have it.
    if matches!(status, 401 | 403) {
        let sentence = format!("{} does not take the key that Warren has for it", endpoint.provider);
        let body = error_body(path.wire(), ErrorKind::Unauthorized, &sentence);
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        return Ok(PassedAnswer { status, headers, body: PassedBody(Source::Whole(Some(body.into()))) });
    }
    let mut body = answer.into_body();
    if status < 400 {
        return Ok(PassedAnswer { status, headers, body: PassedBody(Source::Called(Box::new(body))) });
    }
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ERROR_BYTES
        && let Ok(Some(piece)) = body.chunk().await
    {
        bytes.extend_from_slice(&piece);
    }
    let words = endpoint.without_key(&String::from_utf8_lossy(&bytes));
    Ok(PassedAnswer { status, headers, body: PassedBody(Source::Whole(Some(words.into()))) })
}

fn is_passed(allowed: &[&str], name: &str, value: &str) -> bool {
    allowed.contains(&name) && value.len() <= MAX_HEADER_BYTES
}

fn answer_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = value.to_str().ok()?;
        is_passed(&ANSWER_HEADERS, name.as_str(), value).then(|| (name.to_string(), value.to_owned()))
    };
    headers.iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests;
