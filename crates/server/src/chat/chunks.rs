//! From the entries of a session's stream to the chunks of one assistant message.
//!
//! A message is always made from the first entry of its run on, so that a reader who comes back gets the same chunks. One
//! who has a part of the message already is shown only what follows ([`ChunkWriter::continued`]).
//!
//! Surprises:
//! - An answer that is begun anew (A63) is `reset-step` for 7: the client forgets what it has of the step. 5 and 6 know
//!   nothing like it and cannot take anything back: the step is ended with a part `data-reset`, and a new one begins, with
//!   new ids. What stands between the last `step-start` and a `data-reset` does not count.
//! - 5 is shown no pieces of arguments. It keeps a message with an unfinished call when it resumes, and would show all
//!   that comes again a second time.
//! - A call that the client has to carry out becomes `tool-input-available` only once it is offered: that chunk is what
//!   makes a client run it. Those of Warren are `providerExecuted`, which keeps clients from running or answering them.
//! - What is only for people to raise (a budget, a circle) is told in a step of its own. Otherwise a client that sends by
//!   itself "when all calls have results" would take the step before for one to be answered, for ever.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use warren_model::session::{Decision, OutcomeKind, StopReason, StreamEntry, StreamItem, Suspension};
use warren_model::{Content, Part};

use super::AiMajor;

/// How much of a running tool's output is shown: its end.
const SHOWN_OUTPUT_BYTES: usize = 4 << 10;

/// How a message ends, for now or for good.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    /// A call waits for somebody, or a person has to allow more.
    Suspended(Suspension),
    Interrupted,
    Completed(Option<StopReason>),
    Failed(String),
}

#[derive(Debug, Clone, Default)]
struct Call {
    tool: String,
    arguments: Value,
    approval_id: Option<String>,
    /// The client knows of it.
    is_begun: bool,
    /// The client has its arguments.
    is_available: bool,
    is_ended: bool,
    output: String,
}

/// Writes the chunks of one message.
#[derive(Debug)]
pub(crate) struct ChunkWriter {
    major: AiMajor,
    message_id: String,
    run: u32,
    /// Tools that the client carries out.
    client_tools: BTreeSet<String>,
    /// Entries up to this one are known to the client.
    known: u64,
    position: u64,
    attempt: u32,
    has_step: bool,
    /// A step was begun in what this reader is shown.
    is_step_shown: bool,
    /// The block that is being told: its kind and id.
    open: Option<(&'static str, String)>,
    calls: BTreeMap<String, Call>,
    ending: Option<Ending>,
    chunks: Vec<Value>,
}

impl ChunkWriter {
    pub(crate) fn new(
        major: AiMajor,
        message_id: String,
        run: u32,
        client_tools: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            major,
            message_id,
            run,
            client_tools: client_tools.into_iter().collect(),
            known: 0,
            position: 0,
            attempt: 0,
            has_step: false,
            is_step_shown: false,
            open: None,
            calls: BTreeMap::new(),
            ending: None,
            chunks: Vec::new(),
        }
    }

    /// The client has the message up to this entry and goes on with it.
    pub(crate) fn continued(self, known: u64) -> Self {
        Self { known, ..self }
    }

    /// The first chunk.
    pub(crate) fn start(&self) -> Value {
        json!({ "type": "start", "messageId": self.message_id, "messageMetadata": { "run": self.run } })
    }

    /// How the message ends if nothing follows. The run itself is over where it is completed or failed.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Takes the next entry of the run.
    pub(crate) fn push(&mut self, entry: &StreamEntry) -> Vec<Value> {
        self.position = entry.sequence;
        self.take(&entry.item);
        let chunks = std::mem::take(&mut self.chunks);
        if entry.sequence <= self.known {
            self.is_step_shown = false;
            return Vec::new();
        }
        chunks
    }

    /// The last chunks. The client sends `sequence` back when it goes on with the message.
    pub(crate) fn finish(&mut self, ending: &Ending) -> Vec<Value> {
        self.close_block();
        if std::mem::take(&mut self.is_step_shown) {
            self.tell(json!({ "type": "finish-step" }));
        }
        let reason = match ending {
            Ending::Suspended(by) if by.is_for_calls() => "tool-calls",
            Ending::Suspended(_) => "other",
            Ending::Interrupted if self.major >= AiMajor::V7 => "interrupted",
            Ending::Interrupted => "other",
            Ending::Completed(finish) => finish.map_or("other", finish_reason),
            Ending::Failed(message) => {
                self.tell(json!({ "type": "error", "errorText": message }));
                "error"
            }
        };
        let metadata = json!({ "run": self.run, "sequence": self.position });
        self.tell(json!({ "type": "finish", "finishReason": reason, "messageMetadata": metadata }));
        std::mem::take(&mut self.chunks)
    }

    fn tell(&mut self, chunk: Value) {
        self.chunks.push(chunk);
    }

    fn take(&mut self, item: &StreamItem) {
        match item {
            StreamItem::RunStarted { .. } | StreamItem::CallStarted { .. } => {}
            StreamItem::MessageDelivered { message_id, parts, client_id, .. } => {
                // The messages that begin a run are before the answer, and the client has them.
                if self.attempt > 0 {
                    let id = client_id.clone().unwrap_or_else(|| message_id.to_string());
                    self.steered(&id, parts);
                }
            }
            StreamItem::StepStarted { attempt, .. } => self.step_started(*attempt),
            StreamItem::StepReset { reason, .. } => self.step_reset(reason),
            StreamItem::TextDelta { step, block, text } => self.block("text", *step, *block, text),
            StreamItem::ReasoningDelta { step, block, text } => self.block("reasoning", *step, *block, text),
            StreamItem::CallDelta { call_id, tool, arguments, .. } => {
                self.call_delta(call_id, tool, arguments);
            }
            StreamItem::StepAnswered { .. } => self.close_block(),
            StreamItem::CallProposed { call_id, tool, arguments, problem, .. } => {
                self.proposed(call_id, tool, arguments, problem.as_deref());
            }
            StreamItem::ApprovalRequested { call_id, approval_id, reason, expires_at, .. } => {
                self.asked(call_id, &approval_id.to_string(), reason, &expires_at.to_string());
            }
            StreamItem::CallDecided { call_id, decision, .. } => self.decided(call_id, decision),
            StreamItem::CallOffered { call_id, arguments, .. } => self.available(call_id, Some(arguments)),
            StreamItem::CallOutput { call_id, text, .. } => self.output(call_id, text),
            StreamItem::CallEnded { call_id, outcome, result, .. } => self.ended(call_id, *outcome, result),
            StreamItem::StepEnded { .. } => self.end_step(),
            StreamItem::StateChanged { names, .. } => {
                self.note("data-state-changed", &json!({ "names": names }));
            }
            StreamItem::Suspended { by, reason } => self.suspended(*by, reason),
            StreamItem::Resumed => self.ending = None,
            // No run is under way then, and the client asked for it: it knows what it shows.
            StreamItem::Rewound { .. } => {}
            StreamItem::Interrupted { .. } => {
                self.close_block();
                self.ending = Some(Ending::Interrupted);
            }
            StreamItem::RunEnded { status, finish, message, .. } => {
                self.end_step();
                self.ending = Some(match (status.as_str(), message) {
                    ("failed", message) => Ending::Failed(message.clone().unwrap_or_default()),
                    ("interrupted", _) => Ending::Interrupted,
                    _ => Ending::Completed(*finish),
                });
            }
        }
    }

    /// Something that passes and is no part of the message.
    fn note(&mut self, kind: &str, data: &Value) {
        self.tell(json!({ "type": kind, "data": data, "transient": true }));
    }

    fn suspended(&mut self, by: Suspension, reason: &str) {
        self.close_block();
        if by == Suspension::Timer {
            return self.note("data-waiting", &json!({ "reason": reason }));
        }
        self.ending = Some(Ending::Suspended(by));
        if !by.is_for_calls() {
            self.end_step();
            self.begin_step();
            self.tell(json!({ "type": "data-suspended", "data": { "by": by.as_str(), "reason": reason } }));
            self.end_step();
        }
    }

    /// A message that came in the middle of a run.
    fn steered(&mut self, id: &str, parts: &[Part]) {
        let parts: Vec<Value> = parts.iter().map(ui_part).collect();
        self.tell(match self.major {
            AiMajor::V7 => json!({ "type": "steering-message", "id": id, "parts": parts }),
            AiMajor::V5 | AiMajor::V6 => {
                json!({ "type": "data-steering-message", "id": id, "data": { "parts": parts } })
            }
        });
    }

    fn step_started(&mut self, attempt: u32) {
        self.attempt = attempt;
        self.ending = None;
        if !self.has_step {
            self.begin_step();
        }
    }

    fn begin_step(&mut self) {
        self.has_step = true;
        self.is_step_shown = true;
        self.tell(json!({ "type": "start-step" }));
    }

    fn end_step(&mut self) {
        self.close_block();
        self.close_unproposed("the model did not ask for it after all");
        self.has_step = false;
        if std::mem::take(&mut self.is_step_shown) {
            self.tell(json!({ "type": "finish-step" }));
        }
    }

    fn step_reset(&mut self, reason: &str) {
        if !self.has_step {
            return;
        }
        if self.major >= AiMajor::V7 {
            self.open = None;
            self.calls.retain(|_, call| call.is_available || call.is_ended);
            return self.tell(json!({ "type": "reset-step" }));
        }
        self.close_block();
        self.close_unproposed("the model is asked again");
        self.tell(json!({ "type": "data-reset", "data": { "reason": reason } }));
        self.end_step();
    }

    /// Calls of which the model only wrote the beginning.
    fn close_unproposed(&mut self, why: &str) {
        let is_half = |(_, call): &(&String, &Call)| call.is_begun && !call.is_available && !call.is_ended;
        let is_asked = |(_, call): &(&String, &Call)| call.approval_id.is_some();
        let half: Vec<_> = self
            .calls
            .iter()
            .filter(is_half)
            .filter(|one| !is_asked(one))
            .map(|(id, _)| id.clone())
            .collect();
        for id in half {
            self.input_error(&id, why);
            self.calls.remove(&id);
        }
    }

    fn block(&mut self, kind: &'static str, step: u32, block: u32, text: &str) {
        let id = format!("{kind}-{step}-{}-{block}", self.attempt);
        if self.open.as_ref().is_none_or(|(_, open)| *open != id) {
            self.close_block();
            self.tell(json!({ "type": format!("{kind}-start"), "id": id }));
            self.open = Some((kind, id.clone()));
        }
        if !text.is_empty() {
            self.tell(json!({ "type": format!("{kind}-delta"), "id": id, "delta": text }));
        }
    }

    fn close_block(&mut self) {
        if let Some((kind, id)) = self.open.take() {
            self.tell(json!({ "type": format!("{kind}-end"), "id": id }));
        }
    }

    /// A chunk about a call, marked by who carries it out.
    fn about(&self, kind: &str, call_id: &str, more: Value) -> Value {
        let mut chunk = Map::new();
        chunk.insert("type".to_owned(), kind.into());
        chunk.insert("toolCallId".to_owned(), call_id.into());
        let is_ours = self.calls.get(call_id).is_none_or(|call| !self.client_tools.contains(&call.tool));
        if is_ours {
            chunk.insert("dynamic".to_owned(), true.into());
            chunk.insert("providerExecuted".to_owned(), true.into());
        }
        if let Value::Object(more) = more {
            chunk.extend(more);
        }
        Value::Object(chunk)
    }

    fn is_of_client(&self, call_id: &str) -> bool {
        self.calls.get(call_id).is_some_and(|call| self.client_tools.contains(&call.tool))
    }

    fn call_delta(&mut self, call_id: &str, tool: &str, arguments: &str) {
        self.close_block();
        if self.major < AiMajor::V6 {
            return;
        }
        let call = self.calls.entry(call_id.to_owned()).or_default();
        tool.clone_into(&mut call.tool);
        self.begin_call(call_id, None);
        if !arguments.is_empty() {
            self.tell(
                json!({ "type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": arguments }),
            );
        }
    }

    /// Makes the call known, without the word that makes a client carry it out.
    fn begin_call(&mut self, call_id: &str, arguments: Option<&Value>) {
        let Some(call) = self.calls.get_mut(call_id).filter(|call| !call.is_begun) else { return };
        call.is_begun = true;
        let tool = call.tool.clone();
        let chunk = self.about("tool-input-start", call_id, json!({ "toolName": tool }));
        self.tell(chunk);
        if let Some(arguments) = arguments {
            let text = arguments.to_string();
            self.tell(json!({ "type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": text }));
        }
    }

    fn proposed(&mut self, call_id: &str, tool: &str, arguments: &Value, problem: Option<&str>) {
        self.close_block();
        let call = self.calls.entry(call_id.to_owned()).or_default();
        tool.clone_into(&mut call.tool);
        call.arguments = arguments.clone();
        match problem {
            Some(problem) => self.input_error(call_id, problem),
            None if self.is_of_client(call_id) => {}
            None => self.available(call_id, None),
        }
    }

    fn input_error(&mut self, call_id: &str, why: &str) {
        let Some(call) = self.calls.get_mut(call_id) else { return };
        (call.is_begun, call.is_available, call.is_ended) = (true, true, true);
        let more = json!({ "toolName": call.tool, "input": call.arguments, "errorText": why });
        let chunk = self.about("tool-input-error", call_id, more);
        self.tell(chunk);
    }

    fn available(&mut self, call_id: &str, arguments: Option<&Value>) {
        let Some(call) = self.calls.get_mut(call_id) else { return };
        (call.is_begun, call.is_available) = (true, true);
        if let Some(arguments) = arguments {
            call.arguments = arguments.clone();
        }
        let more = json!({ "toolName": call.tool, "input": call.arguments });
        let chunk = self.about("tool-input-available", call_id, more);
        self.tell(chunk);
    }

    fn asked(&mut self, call_id: &str, approval_id: &str, reason: &str, expires_at: &str) {
        let Some(call) = self.calls.get_mut(call_id) else { return };
        call.approval_id = Some(approval_id.to_owned());
        let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
        if self.major < AiMajor::V6 {
            let data = json!({
                "approvalId": approval_id, "toolCallId": call_id, "toolName": tool, "input": arguments,
                "reason": reason, "expiresAt": expires_at,
            });
            return self.tell(json!({ "type": "data-approval-request", "id": approval_id, "data": data }));
        }
        self.begin_call(call_id, Some(&arguments));
        self.tell(json!({
            "type": "tool-approval-request", "approvalId": approval_id, "toolCallId": call_id, "reason": reason,
        }));
    }

    fn decided(&mut self, call_id: &str, decision: &Decision) {
        let Some(approval_id) = self.calls.get(call_id).and_then(|call| call.approval_id.clone()) else {
            return;
        };
        let (approved, reason, edited) = match decision {
            Decision::Allowed => (true, None, None),
            Decision::Approved { arguments, note, .. } => (true, note.clone(), arguments.clone()),
            Decision::Denied { reason, .. } => (false, Some(reason.clone()), None),
        };
        if let Some(arguments) = edited.filter(|_| !self.is_of_client(call_id)) {
            self.available(call_id, Some(&arguments));
        }
        let mut told = json!({ "approvalId": approval_id, "approved": approved });
        if let Some(reason) = reason {
            told["reason"] = reason.into();
        }
        if self.major >= AiMajor::V7 {
            told["type"] = "tool-approval-response".into();
            return self.tell(told);
        }
        told["toolCallId"] = call_id.into();
        self.tell(json!({ "type": "data-approval-response", "id": approval_id, "data": told }));
    }

    fn output(&mut self, call_id: &str, text: &str) {
        let Some(call) = self.calls.get_mut(call_id).filter(|call| call.is_available && !call.is_ended)
        else {
            return;
        };
        call.output.push_str(text);
        if call.output.len() > SHOWN_OUTPUT_BYTES {
            let from = call.output.ceil_char_boundary(call.output.len() - SHOWN_OUTPUT_BYTES);
            call.output.drain(..from);
        }
        let more = json!({ "output": call.output, "preliminary": true });
        let chunk = self.about("tool-output-available", call_id, more);
        self.tell(chunk);
    }

    fn ended(&mut self, call_id: &str, outcome: OutcomeKind, result: &Value) {
        let Some(call) = self.calls.get(call_id).filter(|call| !call.is_ended) else { return };
        let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
        if !call.is_available {
            // It was denied before anybody was to carry it out.
            if self.major < AiMajor::V6 {
                return self.input_error(call_id, &text);
            }
            let arguments = call.arguments.clone();
            self.begin_call(call_id, Some(&arguments));
        }
        if let Some(call) = self.calls.get_mut(call_id) {
            (call.is_ended, call.is_available) = (true, true);
            call.output = String::new();
        }
        let chunk = match outcome {
            OutcomeKind::Done => self.about("tool-output-available", call_id, json!({ "output": result })),
            OutcomeKind::Denied if self.major >= AiMajor::V6 => {
                json!({ "type": "tool-output-denied", "toolCallId": call_id })
            }
            OutcomeKind::Failed | OutcomeKind::Denied | OutcomeKind::Unknown => {
                self.about("tool-output-error", call_id, json!({ "errorText": text }))
            }
        };
        self.tell(chunk);
    }
}

fn finish_reason(finish: StopReason) -> &'static str {
    match finish {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        StopReason::Refusal | StopReason::ContentFilter => "content-filter",
        StopReason::ToolUse => "tool-calls",
        StopReason::PauseTurn | StopReason::Other => "other",
    }
}

/// A part of a user's message as clients write it.
fn ui_part(part: &Part) -> Value {
    let media_type = part.media_type.as_deref().unwrap_or("application/octet-stream");
    match &part.content {
        Content::Text(text) => json!({ "type": "text", "text": text }),
        Content::Raw(raw) => {
            let url = format!("data:{media_type};base64,{raw}");
            json!({ "type": "file", "mediaType": media_type, "url": url })
        }
        Content::Url(url) => json!({ "type": "file", "mediaType": media_type, "url": url }),
        Content::Data(data) => json!({ "type": "text", "text": data.to_string() }),
    }
}
