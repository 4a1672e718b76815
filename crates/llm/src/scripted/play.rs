//! Finds the turn that answers, cuts it into pieces, and plays it in this process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use warren_model::session::{ModelOrigin, ModelRequest, StopReason, TokenUsage};

use super::script::{Condition, Fault, FaultKind, Script, ScriptTurn};
use super::{Conversation, SeenCall};
use crate::builder::{AnswerBuilder, AnswerLimits, garbled};
use crate::retry::{self, RetryHints};
use crate::timers::Timers;
use crate::{AnswerEvent, AnswerSource, AnswerStream, CallOptions, ModelClient, ModelError};

const CHUNK_CHARACTERS: usize = 24;
/// What a script's own account is called: there is no key.
const ACCOUNT: &str = "scripted";

/// An answer, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) delay: Duration,
    pub(crate) stop_reason: StopReason,
    pub(crate) usage: TokenUsage,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Reasoning(String),
    Text(String),
    Call {
        id: String,
        tool: String,
    },
    /// Of the call before it.
    Arguments(String),
}

/// Plays one script to everybody.
#[derive(Debug)]
pub(crate) struct ScriptPlayer {
    script: Script,
    /// How often the fault of a turn came, by the turn's place.
    faults: Mutex<HashMap<usize, u32>>,
}

impl ScriptPlayer {
    pub(crate) fn new(script: Script) -> Self {
        Self { script, faults: Mutex::new(HashMap::new()) }
    }

    /// Nothing where the script has no answer. How many bytes were asked with is found out where the script does not say what
    /// an answer used.
    pub(crate) fn plan(
        &self,
        conversation: &Conversation,
        asked_bytes: impl FnOnce() -> usize,
    ) -> Option<Plan> {
        let (place, turn) = self.find(conversation)?;
        Some(self.plan_turn(place, turn, conversation, asked_bytes))
    }

    fn find(&self, conversation: &Conversation) -> Option<(usize, &ScriptTurn)> {
        let turns = || self.script.turns.iter().enumerate();
        let fits = |turn: &ScriptTurn| turn.when.as_ref().is_some_and(|when| holds(when, conversation));
        turns()
            .find(|(_, turn)| fits(turn))
            .or_else(|| turns().filter(|(_, turn)| turn.when.is_none()).nth(conversation.answers))
            .or_else(|| self.script.otherwise.as_ref().map(|turn| (usize::MAX, turn)))
    }

    fn plan_turn(
        &self,
        place: usize,
        turn: &ScriptTurn,
        conversation: &Conversation,
        asked_bytes: impl FnOnce() -> usize,
    ) -> Plan {
        let size = turn.chunk_characters.unwrap_or(CHUNK_CHARACTERS).max(1);
        let mut pieces = Vec::new();
        if let Some(reasoning) = &turn.reasoning {
            pieces.extend(cut(&fill_in(reasoning, conversation), size).map(Piece::Reasoning));
        }
        if let Some(text) = &turn.text {
            pieces.extend(cut(&fill_in(text, conversation), size).map(Piece::Text));
        }
        for (at, call) in turn.calls.iter().enumerate() {
            let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{}", conversation.digest(), at + 1));
            pieces.push(Piece::Call { id, tool: call.tool.clone() });
            let arguments = call.raw_arguments.clone();
            let arguments =
                arguments.unwrap_or_else(|| fill_in_value(&call.arguments, conversation).to_string());
            pieces.extend(cut(&arguments, size).map(Piece::Arguments));
        }
        let ends = if turn.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        let bytes: usize = pieces.iter().map(Piece::bytes).sum();
        let usage = turn.usage.map_or_else(
            || TokenUsage {
                input_tokens: crate::estimate::tokens(asked_bytes()),
                output_tokens: crate::estimate::tokens(bytes),
                ..TokenUsage::default()
            },
            TokenUsage::from,
        );
        Plan {
            pieces,
            delay: Duration::from_millis(turn.delay_ms),
            stop_reason: turn.stop.unwrap_or(ends),
            usage,
            fault: turn.fault.clone().filter(|fault| self.is_due(place, fault)),
        }
    }

    /// Counts it.
    fn is_due(&self, place: usize, fault: &Fault) -> bool {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let count = faults.entry(place).or_default();
        let is_due = *count < fault.times;
        *count = count.saturating_add(1);
        is_due
    }
}

impl Piece {
    fn bytes(&self) -> usize {
        match self {
            Self::Reasoning(text) | Self::Text(text) | Self::Arguments(text) => text.len(),
            Self::Call { tool, .. } => tool.len(),
        }
    }
}

fn holds(when: &Condition, conversation: &Conversation) -> bool {
    let contains = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
    let was_called = |tool: &String| conversation.calls.iter().any(|call| call.tool == *tool);
    let latest = || {
        let is_meant = |call: &&SeenCall| when.result_of.as_ref().is_none_or(|tool| call.tool == *tool);
        conversation.latest().iter().filter(is_meant)
    };
    when.user_contains
        .as_ref()
        .is_none_or(|text| conversation.answers_since_user == 0 && contains(&conversation.last_user, text))
        && when.system_contains.as_ref().is_none_or(|text| contains(&conversation.system, text))
        && when.result_of.as_ref().is_none_or(|_| latest().next().is_some())
        && when.result_contains.as_ref().is_none_or(|text| latest().any(|call| contains(&call.result, text)))
        && when.result_failed.is_none_or(|failed| latest().any(|call| call.is_error) == failed)
        && when.called.as_ref().is_none_or(was_called)
        && !when.not_called.as_ref().is_some_and(was_called)
        && when.offered.as_ref().is_none_or(|tool| conversation.offered.contains(tool))
        && !when.not_offered.as_ref().is_some_and(|tool| conversation.offered.contains(tool))
        && when.answers.is_none_or(|answers| conversation.answers_since_user == answers)
}

/// The same in every text of a value.
fn fill_in_value(value: &Value, conversation: &Conversation) -> Value {
    match value {
        Value::String(text) => Value::String(fill_in(text, conversation)),
        Value::Array(items) => items.iter().map(|item| fill_in_value(item, conversation)).collect(),
        Value::Object(fields) => {
            let filled =
                |(name, value): (&String, &Value)| (name.clone(), fill_in_value(value, conversation));
            Value::Object(fields.iter().map(filled).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn fill_in(text: &str, conversation: &Conversation) -> String {
    let result = conversation.calls.last().map_or("", |call| call.result.as_str());
    // What is filled in is not looked at again.
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{last_user}") {
            filled.push_str(&conversation.last_user);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{last_result}") {
            filled.push_str(result);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{conversation}") {
            filled.push_str(&conversation.digest());
            rest = after;
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled.push_str(rest);
    filled
}

fn cut(text: &str, size: usize) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(size).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

/// A scripted model in this process.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    player: Arc<ScriptPlayer>,
    timers: Timers,
    limits: AnswerLimits,
}

impl ScriptedModel {
    /// The same script, for whoever asks it as one asks a provider.
    #[cfg(feature = "server")]
    pub(crate) fn on_wires(&self) -> crate::server::WireScript {
        crate::server::WireScript::new(Arc::clone(&self.player))
    }

    pub fn new(script: Script) -> Self {
        let player = Arc::new(ScriptPlayer::new(script));
        Self { player, timers: Timers::default(), limits: AnswerLimits::default() }
    }

    /// With other times than the usual ones, for a script whose faults are silent.
    #[must_use]
    pub fn with_timers(mut self, timers: Timers) -> Self {
        self.timers = timers;
        self
    }
}

#[async_trait]
impl ModelClient for ScriptedModel {
    async fn start(&self, request: &ModelRequest, _options: CallOptions) -> Result<AnswerStream, ModelError> {
        let conversation = Conversation::of(request);
        let plan = self.player.plan(&conversation, || crate::estimate::request_bytes(request));
        let plan = plan.ok_or_else(|| ModelError::refused("the script has no answer to this"))?;
        match &plan.fault {
            Some(fault) if fault.kind == FaultKind::Status => return Err(status_error(fault)),
            Some(fault) if fault.kind == FaultKind::Never => {
                sleep(self.timers.first_byte).await;
                return Err(ModelError::retry("the model did not begin to answer in time"));
            }
            Some(_) | None => {}
        }
        let origin = ModelOrigin { model: request.model.clone(), account: ACCOUNT.to_owned() };
        Ok(AnswerStream::new(Playing {
            builder: AnswerBuilder::new(origin, request, self.limits),
            pieces: plan.pieces.iter().cloned().collect(),
            plan,
            timers: self.timers,
            sent: 0,
            block: Open::None,
            is_done: false,
        }))
    }
}

fn status_error(fault: &Fault) -> ModelError {
    let hints = RetryHints {
        should_retry: fault.should_retry,
        after: fault.retry_after_ms.map(Duration::from_millis),
    };
    let kind = fault.error.as_deref().unwrap_or_default();
    let advice = retry::judge(fault.status, hints, kind, "");
    let reason = StatusCode::from_u16(fault.status).ok().and_then(|status| status.canonical_reason());
    let sentence = format!("the model answered {} {}", fault.status, reason.unwrap_or("(scripted)"));
    ModelError { status: Some(fault.status), ..ModelError::new(advice, sentence) }
}

/// The block that pieces are added to.
#[derive(Debug)]
enum Open {
    None,
    Reasoning(Option<u32>),
    Text(Option<u32>),
    Call(u32),
}

struct Playing {
    builder: AnswerBuilder,
    plan: Plan,
    pieces: VecDeque<Piece>,
    timers: Timers,
    sent: usize,
    block: Open,
    is_done: bool,
}

impl Playing {
    async fn fault(&self, fault: &Fault) -> ModelError {
        match fault.kind {
            FaultKind::Status | FaultKind::Never | FaultKind::Error => {
                let kind = fault.error.as_deref().unwrap_or("overloaded_error");
                let advice = retry::judge_in_stream(kind, "");
                ModelError::new(advice, format!("the model broke off its answer: {kind}"))
            }
            FaultKind::Cut | FaultKind::Truncated => ModelError::truncated(),
            FaultKind::Garbage => garbled("scripted garbage"),
            FaultKind::Pings | FaultKind::Silence => {
                let quiet = if self.sent == 0 { self.timers.first_byte } else { self.timers.between };
                // Nothing will come; the wait is what a wire's reader would have waited.
                let _ = timeout(quiet, std::future::pending::<()>()).await;
                ModelError::retry("the model fell silent in the middle of its answer")
            }
        }
    }

    fn play(&mut self, piece: Piece) -> Result<AnswerEvent, ModelError> {
        match piece {
            Piece::Reasoning(delta) => {
                if !matches!(self.block, Open::Reasoning(_)) {
                    self.block = Open::Reasoning(None);
                }
                let Open::Reasoning(block) = &mut self.block else { return Err(garbled("no block")) };
                self.builder.reasoning(block, &delta)
            }
            Piece::Text(delta) => {
                if !matches!(self.block, Open::Text(_)) {
                    self.block = Open::Text(None);
                }
                let Open::Text(block) = &mut self.block else { return Err(garbled("no block")) };
                self.builder.text(block, &delta)
            }
            Piece::Call { id, tool } => {
                let (block, event) = self.builder.begin_call(&id, &tool)?;
                self.block = Open::Call(block);
                Ok(event)
            }
            Piece::Arguments(delta) => match self.block {
                Open::Call(block) => self.builder.arguments(block, &delta),
                Open::None | Open::Reasoning(_) | Open::Text(_) => Err(garbled("arguments without a call")),
            },
        }
    }
}

#[async_trait]
impl AnswerSource for Playing {
    async fn next(&mut self) -> Result<Option<AnswerEvent>, ModelError> {
        if self.is_done {
            return Ok(None);
        }
        if let Some(fault) = self.plan.fault.clone()
            && (self.sent >= fault.after_chunks || self.pieces.is_empty())
        {
            self.is_done = true;
            return Err(self.fault(&fault).await);
        }
        let Some(piece) = self.pieces.pop_front() else {
            self.is_done = true;
            return Ok(Some(self.builder.finish(self.plan.stop_reason, self.plan.usage)));
        };
        if !self.plan.delay.is_zero() {
            sleep(self.plan.delay).await;
        }
        self.sent += 1;
        self.play(piece).map(Some)
    }
}
