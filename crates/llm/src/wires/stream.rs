//! Sends a request and reads its events under two idle timers; takes up again what was cut, where the provider can.

use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderName, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::Url;
use warren_model::truncate_utf8;
use warren_outbound::{Answer, Call, CallError, CallLimits, Connector, Credential, EventStream, Refused};

use super::{Life, WireReader, text};
use crate::client::ApiKey;
use crate::providers::Wire;
use crate::retry::{self, RetryHints};
use crate::{Advice, AnswerEvent, AnswerSource, AnswerStream, ModelError, Timers};

const MAX_ANSWER_BYTES: u64 = 64 << 20;
const MAX_EVENT_BYTES: usize = 16 << 20;
const MAX_ERROR_BYTES: usize = 64 << 10;
const MAX_SENTENCE_BYTES: usize = 400;
/// How often one stream is taken up again before its error is told.
const MAX_REATTACHES: u32 = 3;

/// Where a provider is, and how it is spoken to.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) connector: Connector,
    pub(crate) provider: String,
    pub(crate) wire: Wire,
    pub(crate) base_url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) key: Option<ApiKey>,
    pub(crate) timers: Timers,
}

/// Sends `body`, or takes up the answer that `resume` names.
pub(crate) async fn start(
    endpoint: Endpoint,
    body: &Value,
    reader: Box<dyn WireReader>,
    resume: Option<String>,
) -> Result<AnswerStream, ModelError> {
    let begun = Instant::now();
    let call = match resume {
        Some(response_id) => endpoint.reattach(&response_id, None)?,
        None => endpoint.call(Call::post(endpoint.url(endpoint.wire.path())).json(body))?,
    };
    let events = endpoint.events(call).await?;
    let deadline = begun + endpoint.timers.first_byte;
    Ok(AnswerStream::new(WireStream {
        endpoint,
        events,
        reader,
        ready: VecDeque::new(),
        deadline,
        pings: 0,
        reattaches: 0,
        has_begun: false,
        is_over: false,
    }))
}

impl Endpoint {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url.trim_end_matches('/'))
    }

    fn reattach(&self, response_id: &str, after: Option<u64>) -> Result<Call, ModelError> {
        let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-');
        if response_id.is_empty() || response_id.len() > 256 || !response_id.chars().all(is_plain) {
            return Err(ModelError::retry("the answer cannot be taken up again"));
        }
        let mut url = self.url(&format!("{}/{response_id}?stream=true", self.wire.path()));
        if let Some(after) = after {
            url.push_str(&format!("&starting_after={after}"));
        }
        self.call(Call::get(url))
    }

    fn call(&self, call: Call) -> Result<Call, ModelError> {
        let idle = self.timers.first_byte.max(self.timers.between) + Duration::from_secs(1);
        let limits = CallLimits {
            first_byte: self.timers.first_byte,
            idle,
            whole: self.timers.whole,
            body_bytes: MAX_ANSWER_BYTES,
            line_bytes: MAX_EVENT_BYTES,
            ..CallLimits::default()
        };
        let mut call = call.limits(limits);
        if !self.headers.iter().any(|(name, _)| name == "accept") {
            call = call.header("accept", "text/event-stream");
        }
        for (name, value) in &self.headers {
            call = call.header(name, value);
        }
        let Some(key) = &self.key else { return Ok(call) };
        let url = Url::parse(&call.url)
            .map_err(|_| ModelError::refused(format!("the base URL of `{}` is no URL", self.provider)))?;
        let credential = match self.wire {
            Wire::Anthropic => Credential::header(&url, HeaderName::from_static("x-api-key"), key.expose()),
            Wire::Gemini => Credential::header(&url, HeaderName::from_static("x-goog-api-key"), key.expose()),
            Wire::Responses | Wire::Chat | Wire::Scripted => Credential::bearer(&url, key.expose()),
        };
        Ok(call.credential(Some(credential)))
    }

    /// Sends a body that somebody else wrote, and returns whatever comes back.
    #[cfg(feature = "server")]
    pub(crate) async fn pass(&self, path: &str, body: bytes::Bytes) -> Result<Answer, ModelError> {
        let call = self.call(Call::post(self.url(path)).body("application/json", body))?;
        self.connector.call(call).await.map_err(|error| self.call_error(&error))
    }

    async fn events(&self, call: Call) -> Result<EventStream, ModelError> {
        let answer = self.connector.call(call).await.map_err(|error| self.call_error(&error))?;
        if answer.status != StatusCode::OK {
            return Err(self.status_error(answer).await);
        }
        answer.events().map_err(|error| {
            let sentence = format!("{} did not answer with a stream of events", self.provider);
            ModelError::new(Advice::Fallback, sentence).because(error.to_string())
        })
    }

    fn call_error(&self, error: &CallError) -> ModelError {
        let provider = &self.provider;
        let made = match error {
            CallError::Refused(Refused::Url(refusal)) => {
                ModelError::refused(format!("{provider} is not called: its URL {}", refusal.public()))
            }
            CallError::Refused(refused) => {
                ModelError::refused(format!("{provider} is not called: {refused}"))
            }
            CallError::NobodyListens { .. } | CallError::Unreachable { .. } => {
                ModelError::retry(format!("{provider} cannot be reached"))
            }
            CallError::Untrusted { .. } => {
                let sentence = format!("there is no trusted connection to {provider}");
                ModelError::new(Advice::Fallback, sentence)
            }
            CallError::NoAnswer { .. } => {
                ModelError::retry(format!("{provider} did not answer, or broke off its answer"))
            }
            CallError::BadAnswer(_) => {
                ModelError::retry(format!("the answer of {provider} could not be read"))
            }
        };
        made.because(self.without_key(&error.to_string()))
    }

    async fn status_error(&self, answer: Answer) -> ModelError {
        let status = answer.status.as_u16();
        let hints = RetryHints::of(&answer.headers);
        let (kind, message) = read_error(answer).await;
        let advice = retry::judge(status, hints, &kind, &message);
        let provider = &self.provider;
        let said = self.public_words(&message);
        let sentence = match advice {
            Advice::Unauthorized => format!("{provider} does not take the key"),
            Advice::Retry { .. } | Advice::Fallback | Advice::Refused { .. } | Advice::NoKey
                if said.is_empty() =>
            {
                format!("{provider} answered {status}")
            }
            Advice::Retry { .. } | Advice::Fallback | Advice::Refused { .. } | Advice::NoKey => {
                format!("{provider} answered {status}: {said}")
            }
        };
        ModelError { status: Some(status), ..ModelError::new(advice, sentence) }
    }

    /// The provider's own sentence, as far as it may be shown.
    fn public_words(&self, message: &str) -> String {
        let words: String = message.chars().filter(|one| !one.is_control()).collect();
        truncate_utf8(&self.without_key(&words), MAX_SENTENCE_BYTES).to_owned()
    }

    pub(crate) fn without_key(&self, words: &str) -> String {
        match &self.key {
            Some(key) if !key.expose().is_empty() => words.replace(key.expose(), "…"),
            Some(_) | None => words.to_owned(),
        }
    }
}

/// The type and the sentence of an error, in the shape of any of the wires.
async fn read_error(answer: Answer) -> (String, String) {
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ERROR_BYTES
        && let Ok(Some(chunk)) = body.chunk().await
    {
        bytes.extend_from_slice(&chunk);
    }
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    error_of(&value)
}

pub(super) fn error_of(value: &Value) -> (String, String) {
    let error = value.get("error").unwrap_or(value);
    if let Some(words) = error.as_str() {
        return (String::new(), words.to_owned());
    }
    let kind = match text(error, "code") {
        "" => text(error, "type"),
        code => code,
    };
    (kind.to_owned(), text(error, "message").to_owned())
}

/// What a provider says in mid-stream about why it stops.
pub(super) fn stream_error(kind: &str, message: &str) -> ModelError {
    let advice = retry::judge_in_stream(kind, message);
    let words: String = message.chars().filter(|one| !one.is_control()).collect();
    let kind: String = kind.chars().filter(|one| !one.is_control()).collect();
    let said = truncate_utf8(&words, MAX_SENTENCE_BYTES);
    let sentence = match advice {
        Advice::Unauthorized => "the provider does not take the key".to_owned(),
        Advice::Retry { .. } | Advice::Fallback | Advice::Refused { .. } | Advice::NoKey => {
            format!("the model broke off its answer: {} {said}", truncate_utf8(&kind, 100))
                .trim_end()
                .to_owned()
        }
    };
    ModelError::new(advice, sentence)
}

struct WireStream {
    endpoint: Endpoint,
    events: EventStream,
    reader: Box<dyn WireReader>,
    ready: VecDeque<AnswerEvent>,
    /// Silence until then is the end.
    deadline: Instant,
    /// In a row.
    pings: u32,
    reattaches: u32,
    has_begun: bool,
    is_over: bool,
}

impl WireStream {
    async fn read(&mut self) -> Result<(), ModelError> {
        let event = match timeout_at(self.deadline, self.events.next()).await {
            Ok(Ok(Some(event))) => event,
            Ok(Ok(None)) => {
                return match self.reader.at_end() {
                    Some(event) => {
                        self.ready.push_back(event);
                        Ok(())
                    }
                    None => self.reattach(ModelError::truncated()).await,
                };
            }
            Ok(Err(error)) => {
                let error = self.endpoint.call_error(&error);
                return self.reattach(error).await;
            }
            Err(_) => {
                let words = if self.has_begun { "fell silent in the middle of" } else { "did not begin" };
                let error = ModelError::retry(format!("{} {words} its answer", self.endpoint.provider));
                return self.reattach(error).await;
            }
        };
        match self.reader.event(&event, &mut self.ready)? {
            Life::Content => {
                self.has_begun = true;
                self.pings = 0;
                self.deadline = Instant::now() + self.endpoint.timers.between;
            }
            Life::Ping => {
                self.pings += 1;
                if self.pings <= self.endpoint.timers.pings && self.has_begun {
                    self.deadline = Instant::now() + self.endpoint.timers.between;
                }
            }
        }
        Ok(())
    }

    /// Reads on from the last event, or says `error`.
    async fn reattach(&mut self, error: ModelError) -> Result<(), ModelError> {
        let Some(point) = self.reader.resume_point() else { return Err(error) };
        if self.reattaches >= MAX_REATTACHES {
            return Err(error);
        }
        self.reattaches += 1;
        tracing::debug!(provider = self.endpoint.provider, "an answer that was cut is taken up again");
        let call = self.endpoint.reattach(&point.response_id, Some(point.sequence))?;
        self.events = self.endpoint.events(call).await?;
        self.deadline = Instant::now() + self.endpoint.timers.between;
        Ok(())
    }
}

#[async_trait]
impl AnswerSource for WireStream {
    async fn next(&mut self) -> Result<Option<AnswerEvent>, ModelError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if matches!(event, AnswerEvent::Done(_)) {
                    self.is_over = true;
                    self.ready.clear();
                }
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            if let Err(error) = self.read().await {
                self.is_over = true;
                return Err(ModelError { usage: self.reader.usage(), ..error });
            }
        }
    }
}
