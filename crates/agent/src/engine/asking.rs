//! Asking a model for the answer of a step, and showing it as it comes (A10, A62).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use warren_llm::{Advice, AnswerEvent, AnswerStream, ModelAnswer, ModelError, estimate};
use warren_model::session::{Block, ModelName, ModelRequest, StopReason, StreamItem, TokenUsage};
use warren_rules::sessions::{Effect, Input, ModelFailure, ModelTrouble, ReceivedAnswer, request};
use warren_service::Error;
use warren_store::{ReadTx, WriteTx};

use super::history::{History, SharedHistory};
use super::owner::Work;
use crate::models::ModelCaller;
use crate::offers::Offer;
use crate::tools::Tools;

/// Events of an answer that may wait to be packed.
const EVENTS: usize = 256;
const NO_PRICE: &str = "the model has no price in the table: what it costs is counted as 0";
/// Models that answer from a script cost nothing, and need no price.
const SCRIPTED: &str = "scripted";

/// Asks, shows what comes, and ends with the whole answer or with why there is none.
pub(super) async fn ask(work: Work, shared: SharedHistory) {
    let Effect::AskModel { step, attempt, model_index } = work.effect else { return };
    let model = work.agent.models().nth(model_index as usize).cloned();
    let Some(model) = model else { return };
    let (deltas, outcome) = match prepare(&work, &shared, &model).await {
        Ok((request, offer)) => {
            let head = keep_head(&work, &offer, &request).await;
            let mut packer = Packer::new(&work, step, attempt);
            let was_resumed = work.step.resume_token.is_some();
            match packer.receive(&work, &request).await {
                Ok(answer) => (packer.take(), Ok((answer, offer, head))),
                Err(error) => {
                    let (usage, cost_micros) = booked(&work, &request, &error, packer.received_bytes);
                    let failure = ModelFailure { was_resumed, usage, cost_micros, ..failure_of(&error) };
                    (packer.take(), Err(failure))
                }
            }
        }
        Err(failure) => (Vec::new(), Err(failure)),
    };
    let input = match outcome {
        Ok((answer, offer, request_head)) => {
            let answer = ReceivedAnswer { request_head, ..received(&work, &model, answer, &offer.tools) };
            Input::Answered { step, attempt, answer }
        }
        Err(failure) => Input::AskFailed { step, attempt, failure },
    };
    work.end(deltas, None, input).await;
}

/// The request, and what it offers.
async fn prepare(
    work: &Work,
    shared: &SharedHistory,
    model: &ModelName,
) -> Result<(ModelRequest, Arc<Offer>), ModelFailure> {
    let failed = |error: Error| {
        tracing::warn!(%error, "what a model is to be shown could not be read");
        passing("what the model is to be shown could not be read")
    };
    let offer = work.offer().map_err(failed)?;
    let (taken, kept) = shared.take();
    let history = history(work, kept).await.map_err(failed)?;
    let build = |conversation| {
        request::build(request::RequestParts {
            agent: &work.agent,
            model,
            system: offer.system.clone(),
            tools: Arc::clone(&offer.offered),
            conversation,
            asking: &work.step,
            messages: &history.parts,
        })
    };
    let built = history.conversation.as_ref().map_err(Clone::clone).and_then(build);
    shared.put(taken, history);
    let request = built.map_err(|broken| {
        tracing::error!(%broken, "the history of a session cannot be shown to a model");
        ModelFailure { trouble: ModelTrouble::Refused, ..passing("the session's history is damaged") }
    })?;
    Ok((request, offer))
}

/// What the model is asked with is on disk before it is asked. Returns its hash.
async fn keep_head(work: &Work, offer: &Offer, request: &ModelRequest) -> Option<String> {
    let head = offer.head_of(request)?;
    let (org_id, engine) = (work.session.org_id, &work.engine);
    if engine.0.kept_heads.contains(org_id, &head.hash) {
        return Some(head.hash.clone());
    }
    let written = Arc::clone(&head);
    let write = move |tx: &mut dyn WriteTx| {
        tx.put_request_head(org_id, &written.hash, &written.bytes).map_err(Error::from)
    };
    match engine.context().store().write(write).await {
        Ok(()) => {
            engine.0.kept_heads.add(org_id, &head.hash);
            Some(head.hash.clone())
        }
        // The answer counts more than that it can be looked into later.
        Err(error) => {
            tracing::warn!(%error, "what a model is asked with could not be kept");
            None
        }
    }
}

/// The owner's history, read when it is first needed.
async fn history(work: &Work, kept: Option<History>) -> Result<History, Error> {
    let store = work.engine.context().store();
    let Some(mut history) = kept else {
        let (lineage, step) = (work.session.lineage.clone(), work.step.clone());
        let read = move |tx: &mut dyn ReadTx| {
            let mut history = History::read(tx, &lineage)?;
            history.read_messages(tx, &step)?;
            Ok(history)
        };
        return store.read(read).await;
    };
    let missing = history.missing(&work.step);
    if !missing.is_empty() {
        let session_id = work.step.session_id;
        let read =
            move |tx: &mut dyn ReadTx| tx.session_messages_of(session_id, &missing).map_err(Error::from);
        history.add_messages(store.read(read).await?);
    }
    Ok(history)
}

/// Puts pieces together: the first is shown at once, the others after a moment or when there are enough.
struct Packer {
    step: u32,
    attempt: u32,
    waiting: Vec<StreamItem>,
    waiting_bytes: usize,
    pack_for: Duration,
    pack_bytes: usize,
    shown_at: Option<Instant>,
    /// The tool of the call that each block begins.
    tools: std::collections::HashMap<u32, (String, String)>,
    calls: u32,
    /// Of the answer, in all.
    received_bytes: usize,
}

impl Packer {
    fn new(work: &Work, step: u32, attempt: u32) -> Self {
        let config = work.engine.0.config;
        Self {
            step,
            attempt,
            waiting: Vec::new(),
            waiting_bytes: 0,
            pack_for: config.pack_for,
            pack_bytes: config.pack_bytes,
            shown_at: None,
            tools: Default::default(),
            calls: 0,
            received_bytes: 0,
        }
    }

    fn take(self) -> Vec<StreamItem> {
        self.waiting
    }

    async fn receive(&mut self, work: &Work, request: &ModelRequest) -> Result<ModelAnswer, ModelError> {
        let caller =
            ModelCaller { org_id: work.session.org_id, workspace_id: Some(work.session.workspace_id) };
        let models = &work.engine.0.surroundings.models;
        let stream = models.start(caller, request, work.step.resume_token.clone()).await?;
        let mut events = read(work, stream);
        loop {
            // Whatever has come already is one piece.
            let next = match events.try_recv() {
                Ok(event) => Some(event),
                Err(mpsc::error::TryRecvError::Disconnected) => None,
                Err(mpsc::error::TryRecvError::Empty) => self.wait(work, &mut events).await,
            };
            match next {
                Some(Ok(AnswerEvent::Done(answer))) => return Ok(*answer),
                Some(Ok(AnswerEvent::Resumable(token))) => {
                    work.note(Input::Resumable { step: self.step, attempt: self.attempt, token }).await;
                }
                Some(Ok(event)) => {
                    self.received_bytes += bytes_of(&event);
                    self.add(event);
                }
                Some(Err(error)) => return Err(error),
                None => return Err(ModelError::truncated()),
            }
            if self.waiting_bytes >= self.pack_bytes {
                self.show(work).await;
            }
        }
    }

    /// Nothing more is there for now: what waits is shown when its moment has come.
    async fn wait(
        &mut self,
        work: &Work,
        events: &mut mpsc::Receiver<Result<AnswerEvent, ModelError>>,
    ) -> Option<Result<AnswerEvent, ModelError>> {
        if !self.waiting.is_empty() {
            // A model that answers at once is given the chance to end before anything is written.
            let due = self
                .shown_at
                .map_or_else(|| Instant::now() + Duration::from_millis(1), |shown| shown + self.pack_for);
            if let Ok(event) = timeout_at(due, events.recv()).await {
                return event;
            }
            self.show(work).await;
        }
        events.recv().await
    }

    async fn show(&mut self, work: &Work) {
        self.waiting_bytes = 0;
        self.shown_at = Some(Instant::now());
        work.show(std::mem::take(&mut self.waiting)).await;
    }

    fn add(&mut self, event: AnswerEvent) {
        let step = self.step;
        let item = match event {
            AnswerEvent::Text { block, delta } => {
                self.waiting_bytes += delta.len();
                if let Some(StreamItem::TextDelta { block: last, text, .. }) = self.waiting.last_mut()
                    && *last == block
                {
                    text.push_str(&delta);
                    return;
                }
                StreamItem::TextDelta { step, block, text: delta }
            }
            AnswerEvent::Reasoning { block, delta } => {
                self.waiting_bytes += delta.len();
                if let Some(StreamItem::ReasoningDelta { block: last, text, .. }) = self.waiting.last_mut()
                    && *last == block
                {
                    text.push_str(&delta);
                    return;
                }
                StreamItem::ReasoningDelta { step, block, text: delta }
            }
            AnswerEvent::CallBegun { block, tool, .. } => {
                // The same name as the rules give it.
                let call_id = format!("call_{step}_{}", self.calls);
                self.calls += 1;
                self.tools.insert(block, (call_id.clone(), tool.clone()));
                StreamItem::CallDelta { step, block, call_id, tool, arguments: String::new() }
            }
            AnswerEvent::CallArguments { block, delta, .. } => {
                self.waiting_bytes += delta.len();
                if let Some(StreamItem::CallDelta { block: last, arguments, .. }) = self.waiting.last_mut()
                    && *last == block
                {
                    arguments.push_str(&delta);
                    return;
                }
                let Some((call_id, tool)) = self.tools.get(&block).cloned() else { return };
                StreamItem::CallDelta { step, block, call_id, tool, arguments: delta }
            }
            AnswerEvent::Resumable(_) | AnswerEvent::Done(_) => return,
        };
        self.waiting.push(item);
    }
}

/// Reads an answer in a task of its own, so that packing never cuts a read in half. It ends with its receiver.
fn read(work: &Work, mut stream: AnswerStream) -> mpsc::Receiver<Result<AnswerEvent, ModelError>> {
    let (sender, receiver) = mpsc::channel(EVENTS);
    let reading = async move {
        loop {
            let next = tokio::select! {
                next = stream.next() => next,
                () = sender.closed() => return,
            };
            let Some(event) = next.transpose() else { return };
            let is_last = matches!(event, Ok(AnswerEvent::Done(_)) | Err(_));
            if sender.send(event).await.is_err() || is_last {
                return;
            }
        }
    };
    work.engine.context().spawn(tracing::Span::current(), reading);
    receiver
}

fn received(work: &Work, model: &ModelName, answer: ModelAnswer, tools: &Tools) -> ReceivedAnswer {
    let context = work.engine.context();
    let cost_micros = cost_of(work, model, &answer.usage);
    for note in &answer.notes {
        if work.engine.0.told.is_new(model, note) {
            tracing::info!(%model, "not all that the agent says was sent: {note}");
        }
    }
    let schemas = &work.engine.0.surroundings.schemas;
    let propose = |call| tools.propose(call, context.new_id(), schemas);
    let problem = output_problem(work, &answer);
    ReceivedAnswer {
        request_head: None,
        origin: answer.origin,
        blocks: answer.blocks,
        calls: answer.calls.into_iter().map(propose).collect(),
        stop_reason: answer.stop_reason,
        usage: answer.usage,
        cost_micros,
        deltas: Vec::new(),
        problem,
    }
}

/// Why an answer that is the last does not fit the agent's output schema. One that was cut off or refused says so itself.
fn output_problem(work: &Work, answer: &ModelAnswer) -> Option<String> {
    let schema = work.agent.output_schema.as_ref()?;
    let is_last = answer.calls.is_empty()
        && matches!(answer.stop_reason, StopReason::EndTurn | StopReason::StopSequence | StopReason::Other);
    if !is_last {
        return None;
    }
    let texts = answer.blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Reasoning { .. } | Block::Call { .. } | Block::Other { .. } => None,
    });
    match serde_json::from_str(texts.collect::<String>().trim()) {
        Ok(value) => work.engine.0.surroundings.schemas.problem(schema, &value),
        Err(error) => Some(format!("it is not JSON: {error}")),
    }
}

/// What an answer that broke off cost all the same. Where the provider had not come to count it, it is counted by its length;
/// one of which nothing came has cost nothing.
fn booked(
    work: &Work,
    request: &ModelRequest,
    error: &ModelError,
    received_bytes: usize,
) -> (TokenUsage, u64) {
    let usage = match error.usage {
        Some(usage) => usage,
        None if received_bytes > 0 => estimate::usage_of_broken(request, received_bytes),
        None => TokenUsage::default(),
    };
    (usage, cost_of(work, &request.model, &usage))
}

fn bytes_of(event: &AnswerEvent) -> usize {
    match event {
        AnswerEvent::Text { delta, .. }
        | AnswerEvent::Reasoning { delta, .. }
        | AnswerEvent::CallArguments { delta, .. } => delta.len(),
        AnswerEvent::CallBegun { tool, .. } => tool.len(),
        AnswerEvent::Resumable(_) | AnswerEvent::Done(_) => 0,
    }
}

/// What an answer cost. That a model has no price is told once.
fn cost_of(work: &Work, model: &ModelName, usage: &TokenUsage) -> u64 {
    let engine = &work.engine.0;
    let has_price = engine.surroundings.models.price(model).is_some() || model.provider == SCRIPTED;
    if !has_price && usage.total() > 0 && engine.told.is_new(model, NO_PRICE) {
        tracing::info!(%model, "{NO_PRICE}");
    }
    engine.surroundings.models.cost_micros(model, usage)
}

fn failure_of(error: &ModelError) -> ModelFailure {
    let trouble = match error.advice {
        Advice::Retry { after } => ModelTrouble::Passing {
            after_ms: after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        },
        Advice::Fallback | Advice::Refused { .. } => ModelTrouble::Refused,
        Advice::NoKey | Advice::Unauthorized => ModelTrouble::NotConfigured,
    };
    if let Some(cause) = &error.cause {
        tracing::warn!(cause, "a model did not answer: {}", error.sentence);
    }
    ModelFailure { trouble, ..passing(&error.sentence) }
}

fn passing(message: &str) -> ModelFailure {
    ModelFailure {
        trouble: ModelTrouble::Passing { after_ms: None },
        message: message.to_owned(),
        was_resumed: false,
        usage: TokenUsage::default(),
        cost_micros: 0,
    }
}
