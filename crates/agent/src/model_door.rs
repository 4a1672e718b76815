//! The model door of a box: its programs ask models as if they asked the provider, and have no key (A81).
//!
//! ```text
//!   request ──▶ granted? ──▶ read ──▶ which model ──▶ set aside ──▶ pass on, with the key ──▶ answer, as it comes
//!      │ each in the provider's own words                │                                        │ counted
//!      ▼                                                 ▼                                        ▼
//!   403, 404, 400, 413                             429: nothing left                settled: cost, event (F36, A14)
//! ```
//!
//! - Who asks is known by the box that the bytes came out of. What a program says about itself is not read.
//! - What an answer used is settled when it ends, however it ends: also when the program hangs up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;
use warren_fleet::{Fleet, Reservation};
use warren_llm::passing::{
    ErrorKind, PassedBody, PassedRequest, PassedTarget, RequestRefusal, UsageTap, error_body,
};
use warren_llm::{Advice, ModelError, Wire};
use warren_model::event::WorkspaceModelCalled;
use warren_model::session::{ModelName, TokenUsage};
use warren_model::{ErrorCode, Workspace, WorkspaceId};
use warren_rules::boxes::doors;
use warren_service::{Context, Error};

use crate::models::{ModelCaller, Models};

/// A request body is not longer.
pub const MAX_DOOR_BODY_BYTES: usize = 32 << 20;
/// What an answer may be long where a request does not say.
const USUAL_OUTPUT_TOKENS: u64 = 8_192;

/// What a program of a box asks.
#[derive(Debug)]
pub struct DoorRequest {
    pub is_post: bool,
    pub path: String,
    pub query: String,
    /// In small letters. Those that are not passed on are left out of what goes out.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

#[derive(Debug)]
pub struct DoorAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: DoorBody,
}

/// The body of an answer, in the pieces in which it comes.
#[derive(Debug)]
pub enum DoorBody {
    Whole(Bytes),
    Stream(Box<DoorStream>),
}

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelDoor {
    context: Context,
    fleet: Fleet,
    models: Arc<dyn Models>,
}

impl ModelDoor {
    pub(crate) fn new(context: Context, fleet: Fleet, models: Arc<dyn Models>) -> Self {
        Self { context, fleet, models }
    }

    /// Answers a program of the box of this workspace.
    #[tracing::instrument(name = "agent.model_door.answer", skip_all, fields(workspace.id = %id))]
    pub async fn answer(&self, id: WorkspaceId, request: DoorRequest) -> DoorAnswer {
        let wire = wire_of(&request.path);
        match self.try_answer(id, request).await {
            Ok(answer) => answer,
            Err(refusal) => refusal.answer(wire),
        }
    }

    /// What a program is told that sends more than is taken.
    pub fn too_large(path: &str) -> DoorAnswer {
        let sentence = format!("the request is longer than {MAX_DOOR_BODY_BYTES} bytes");
        let wire = wire_of(path);
        Refusal::new(ErrorKind::TooLarge, sentence).answer(wire)
    }

    async fn try_answer(&self, id: WorkspaceId, request: DoorRequest) -> Result<DoorAnswer, Refusal> {
        let (_, row) = self.fleet.residents.speaker(id).await?;
        if !doors::has_models(&row.spec) {
            let sentence = "this workspace has no model door; grant it models, such as with \
                            `warren ws set NAME --model-door 'anthropic/*'`";
            return Err(Refusal::new(ErrorKind::Forbidden, sentence));
        }
        if !request.is_post && matches!(request.path.as_str(), "/v1/models" | "/models") {
            return Ok(listed(&row));
        }
        let target = PassedTarget::of(&request.path, &request.query).filter(|_| request.is_post);
        let target = target.ok_or_else(|| {
            let sentence = "the model door has POST /v1/messages, /v1/messages/count_tokens, /v1/responses, \
                            /v1/chat/completions, /v1beta/models/{model}:generateContent and \
                            :streamGenerateContent, and GET /v1/models";
            Refusal::new(ErrorKind::NotFound, sentence)
        })?;
        let path = target.path;
        let passed = PassedRequest::read(target, request.body)?;
        let model = self.choose(&row, &passed)?;
        let reservation = self.reserve(&row, &model, &passed).await?;
        let began = Instant::now();
        let mut account = Account {
            door: self.clone(),
            model: model.clone(),
            reservation: Some(reservation),
            tap: UsageTap::new(path.wire(), passed.is_stream, passed.hides_usage),
            input_bytes: passed.input_bytes,
            status: 0,
            is_billed: false,
            began,
        };
        let caller = ModelCaller { org_id: row.org_id, workspace_id: Some(id) };
        let answer = match self.models.pass(caller, &model, &passed, &request.headers).await {
            Ok(answer) => answer,
            Err(error) => {
                let refusal = Refusal::of_model(&error);
                account.status = refusal.kind.status();
                return Err(refusal);
            }
        };
        account.status = answer.status;
        account.is_billed = path.is_billed() && answer.status < 400;
        if !answer.is_event_stream() {
            account.tap = UsageTap::new(path.wire(), false, false);
        }
        Ok(DoorAnswer {
            status: answer.status,
            headers: answer.headers,
            body: DoorBody::Stream(Box::new(DoorStream { body: Some(answer.body), account })),
        })
    }

    fn choose(&self, row: &Workspace, passed: &PassedRequest) -> Result<ModelName, Refusal> {
        let speaks = |provider: &str| self.models.answers_on(provider, passed.path);
        let granted = &row.spec.doors.models;
        doors::choose_model(granted, &passed.model, speaks).ok_or_else(|| {
            let granted: Vec<_> = granted.iter().map(ToString::to_string).collect();
            let said: String = passed.model.chars().filter(|one| !one.is_control()).take(100).collect();
            let sentence = format!(
                "the model `{said}` is not granted to this workspace on this path; granted is {}",
                granted.join(", ")
            );
            Refusal::new(ErrorKind::Forbidden, sentence)
        })
    }

    async fn reserve(
        &self,
        row: &Workspace,
        model: &ModelName,
        passed: &PassedRequest,
    ) -> Result<Reservation, Refusal> {
        let most = match passed.path.is_billed() {
            true => TokenUsage {
                input_tokens: (passed.input_bytes as u64).div_ceil(4),
                output_tokens: passed.max_output_tokens.unwrap_or(USUAL_OUTPUT_TOKENS),
                ..TokenUsage::default()
            },
            false => TokenUsage::default(),
        };
        let most_micros = self.models.cost_micros(model, &most);
        Ok(self.fleet.budgets.reserve(row, most_micros).await?)
    }
}

/// Of the path; where there is none, most programs understand this one.
fn wire_of(path: &str) -> Wire {
    PassedTarget::of(path, "").map_or(Wire::Anthropic, |target| target.path.wire())
}

/// The models that are granted by name, as OpenAI and Anthropic list theirs.
fn listed(row: &Workspace) -> DoorAnswer {
    let names = row.spec.doors.models.iter().filter_map(|grant| {
        let name = match &grant.answered_by {
            Some(_) => grant.pattern.as_str(),
            None => grant.pattern.split_once('/').map_or(grant.pattern.as_str(), |(_, name)| name),
        };
        (!name.contains('*')).then_some(name)
    });
    let models: Vec<_> = names
        .map(|name| {
            json!({ "id": name, "object": "model", "type": "model", "display_name": name, "created": 0, "owned_by": "warren" })
        })
        .collect();
    let body = json!({ "object": "list", "data": models, "has_more": false });
    DoorAnswer { status: 200, headers: json_headers(), body: DoorBody::Whole(body.to_string().into()) }
}

fn json_headers() -> Vec<(String, String)> {
    vec![("content-type".to_owned(), "application/json".to_owned())]
}

/// Why a program gets no answer.
#[derive(Debug)]
struct Refusal {
    kind: ErrorKind,
    sentence: String,
    retry_after: Option<Duration>,
}

impl Refusal {
    fn new(kind: ErrorKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into(), retry_after: None }
    }

    fn of_model(error: &ModelError) -> Self {
        if let Some(cause) = &error.cause {
            tracing::warn!(cause, "a model did not answer a box: {}", error.sentence);
        }
        let (kind, retry_after) = match error.advice {
            Advice::NoKey | Advice::Unauthorized => (ErrorKind::Unauthorized, None),
            Advice::Retry { after } => (ErrorKind::Unavailable, after),
            Advice::Fallback => (ErrorKind::Unavailable, None),
            Advice::Refused { .. } => (ErrorKind::Forbidden, None),
        };
        Self { retry_after, ..Self::new(kind, error.sentence.clone()) }
    }

    fn answer(self, wire: Wire) -> DoorAnswer {
        let mut headers = json_headers();
        if let Some(after) = self.retry_after {
            headers.push(("retry-after".to_owned(), after.as_secs().max(1).to_string()));
        }
        // What does not pass by itself is not worth another try.
        if !matches!(self.kind, ErrorKind::Unavailable) {
            headers.push(("x-should-retry".to_owned(), "false".to_owned()));
        }
        let body = error_body(wire, self.kind, &format!("Warren: {}", self.sentence));
        DoorAnswer { status: self.kind.status(), headers, body: DoorBody::Whole(body.into()) }
    }
}

impl From<RequestRefusal> for Refusal {
    fn from(refusal: RequestRefusal) -> Self {
        Self::new(refusal.kind, refusal.sentence)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let detail = error.detail.clone().unwrap_or_default();
        match error.code {
            ErrorCode::BudgetExhausted => {
                let sentence = format!("the budget of this workspace is used up: {detail}");
                Self::new(ErrorKind::Exhausted, sentence)
            }
            code => {
                tracing::warn!(%error, "a box could not ask a model");
                Self::new(ErrorKind::Unavailable, code.entry().sentence)
            }
        }
    }
}

/// An answer on its way. Dropped before its end, it hangs up on the provider; what it used by then is settled.
#[derive(Debug)]
pub struct DoorStream {
    body: Option<PassedBody>,
    account: Account,
}

impl DoorStream {
    /// The next piece; nothing at the end. An error says that the answer was broken off.
    pub async fn next(&mut self) -> Option<Result<Bytes, std::io::Error>> {
        loop {
            let piece = self.body.as_mut()?.chunk().await;
            match piece {
                Ok(Some(piece)) => {
                    let passed = self.account.tap.push(&piece);
                    if !passed.is_empty() {
                        return Some(Ok(passed));
                    }
                }
                Ok(None) => {
                    self.body = None;
                    let rest = self.account.tap.finish();
                    self.account.settle();
                    return (!rest.is_empty()).then_some(Ok(rest));
                }
                Err(error) => {
                    self.body = None;
                    self.account.settle();
                    if let Some(cause) = &error.cause {
                        tracing::info!(cause, "the answer of a model to a box was broken off");
                    }
                    return Some(Err(std::io::Error::other(error.sentence)));
                }
            }
        }
    }
}

/// What a call used, settled once.
#[derive(Debug)]
struct Account {
    door: ModelDoor,
    model: ModelName,
    /// Absent once it is settled.
    reservation: Option<Reservation>,
    tap: UsageTap,
    input_bytes: usize,
    status: u16,
    is_billed: bool,
    began: Instant,
}

impl Account {
    fn settle(&mut self) {
        let Some(reservation) = self.reservation.take() else { return };
        let (usage, is_counted) = match self.is_billed {
            true => self.tap.usage(self.input_bytes),
            false => (TokenUsage::default(), true),
        };
        let called = WorkspaceModelCalled {
            model: self.model.to_string(),
            status: u32::from(self.status),
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            output_tokens: usage.output_tokens,
            cost_micros: self.door.models.cost_micros(&self.model, &usage),
            counted: is_counted,
            duration_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        let fleet = self.door.fleet.clone();
        self.door.context.spawn(tracing::info_span!("agent.model_door.settle"), async move {
            if let Err(error) = fleet.budgets.settle(reservation, called).await {
                tracing::error!(%error, "what a box spent on a model could not be written down");
            }
        });
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.settle();
    }
}
