//! Puts an answer together from its pieces, under limits, and says which event each piece is.
//!
//! A block begins with its first piece and never goes away again, so that the numbers in the events are the places in the
//! finished answer.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use warren_model::session::{Block, ModelOrigin, ModelRequest, Opaque, StopReason, TokenUsage, Turn};

use crate::{AnswerEvent, AnsweredCall, ModelAnswer, ModelError};

/// As much as one answer may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    pub blocks: usize,
    pub calls: usize,
    /// Of all calls together.
    pub argument_bytes: usize,
    /// Of text, reasoning and opaque content together.
    pub content_bytes: usize,
    pub name_bytes: usize,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self { blocks: 1_000, calls: 256, argument_bytes: 4 << 20, content_bytes: 16 << 20, name_bytes: 256 }
    }
}

#[derive(Debug)]
pub(crate) struct AnswerBuilder {
    limits: AnswerLimits,
    origin: ModelOrigin,
    blocks: Vec<Block>,
    calls: Vec<CallText>,
    /// What was said before: a call's id is unlike those of earlier calls.
    earlier: Vec<Arc<Turn>>,
    taken_ids: HashSet<String>,
    content_bytes: usize,
    argument_bytes: usize,
    pub(crate) notes: Vec<String>,
    pub(crate) resume_token: Option<Value>,
}

#[derive(Debug)]
struct CallText {
    id: String,
    tool: String,
    arguments: String,
}

impl AnswerBuilder {
    pub(crate) fn new(origin: ModelOrigin, request: &ModelRequest, limits: AnswerLimits) -> Self {
        Self {
            limits,
            origin,
            blocks: Vec::new(),
            calls: Vec::new(),
            earlier: request.turns.clone(),
            taken_ids: HashSet::new(),
            content_bytes: 0,
            argument_bytes: 0,
            notes: Vec::new(),
            resume_token: None,
        }
    }

    /// Adds to the text block at `block`, or begins one.
    pub(crate) fn text(&mut self, block: &mut Option<u32>, delta: &str) -> Result<AnswerEvent, ModelError> {
        self.count_content(delta.len())?;
        let at = self.at_or_new(block, || Block::Text { text: String::new() })?;
        if let Some(Block::Text { text }) = self.blocks.get_mut(at as usize) {
            text.push_str(delta);
        }
        Ok(AnswerEvent::Text { block: at, delta: delta.to_owned() })
    }

    pub(crate) fn reasoning(
        &mut self,
        block: &mut Option<u32>,
        delta: &str,
    ) -> Result<AnswerEvent, ModelError> {
        self.count_content(delta.len())?;
        let at = self.at_or_new(block, || Block::Reasoning { text: String::new(), opaque: None })?;
        if let Some(Block::Reasoning { text, .. }) = self.blocks.get_mut(at as usize) {
            text.push_str(delta);
        }
        Ok(AnswerEvent::Reasoning { block: at, delta: delta.to_owned() })
    }

    /// What goes back to the provider for the reasoning block at `block`, byte for byte.
    pub(crate) fn seal_reasoning(&mut self, block: &mut Option<u32>, data: Value) -> Result<(), ModelError> {
        self.count_content(data.to_string().len())?;
        let sealed = Opaque { origin: self.origin.clone(), data };
        let at = self.at_or_new(block, || Block::Reasoning { text: String::new(), opaque: None })?;
        if let Some(Block::Reasoning { opaque, .. }) = self.blocks.get_mut(at as usize) {
            *opaque = Some(sealed);
        }
        Ok(())
    }

    /// A block that only the provider understands.
    pub(crate) fn other(&mut self, data: Value) -> Result<(), ModelError> {
        self.count_content(data.to_string().len())?;
        let opaque = Opaque { origin: self.origin.clone(), data };
        self.at_or_new(&mut None, || Block::Other { opaque }).map(|_| ())
    }

    pub(crate) fn begin_call(&mut self, id: &str, tool: &str) -> Result<(u32, AnswerEvent), ModelError> {
        if self.calls.len() >= self.limits.calls {
            return Err(too_much("tool calls", self.limits.calls));
        }
        if id.len() > self.limits.name_bytes || tool.len() > self.limits.name_bytes {
            return Err(too_much("bytes of a tool call's name", self.limits.name_bytes));
        }
        let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        let block = self.at_or_new(&mut None, || Block::Call { index })?;
        let id = self.unlike_any(id);
        self.calls.push(CallText { id: id.clone(), tool: tool.to_owned(), arguments: String::new() });
        Ok((block, AnswerEvent::CallBegun { block, call_id: id, tool: tool.to_owned() }))
    }

    pub(crate) fn arguments(&mut self, block: u32, delta: &str) -> Result<AnswerEvent, ModelError> {
        self.argument_bytes += delta.len();
        if self.argument_bytes > self.limits.argument_bytes {
            return Err(too_much("bytes of arguments", self.limits.argument_bytes));
        }
        let call = self.call_at(block).ok_or_else(|| garbled("arguments without a call"))?;
        call.arguments.push_str(delta);
        Ok(AnswerEvent::CallArguments { block, call_id: call.id.clone(), delta: delta.to_owned() })
    }

    /// The arguments as they are told whole at the end; what is new in them.
    pub(crate) fn whole_arguments(
        &mut self,
        block: u32,
        whole: &str,
    ) -> Result<Option<AnswerEvent>, ModelError> {
        let call = self.call_at(block).ok_or_else(|| garbled("arguments without a call"))?;
        match whole.strip_prefix(call.arguments.as_str()) {
            Some("") | None => Ok(None),
            Some(rest) => self.arguments(block, rest).map(Some),
        }
    }

    pub(crate) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(crate) fn finish(&mut self, stop_reason: StopReason, usage: TokenUsage) -> AnswerEvent {
        let calls = std::mem::take(&mut self.calls).into_iter().map(|call| AnsweredCall {
            id: call.id,
            tool: call.tool,
            arguments: read_arguments(call.arguments),
        });
        AnswerEvent::Done(Box::new(ModelAnswer {
            origin: self.origin.clone(),
            blocks: std::mem::take(&mut self.blocks),
            calls: calls.collect(),
            stop_reason,
            usage,
            resume_token: self.resume_token.clone(),
            notes: std::mem::take(&mut self.notes),
        }))
    }

    fn at_or_new(&mut self, block: &mut Option<u32>, new: impl FnOnce() -> Block) -> Result<u32, ModelError> {
        if let Some(at) = block {
            return Ok(*at);
        }
        if self.blocks.len() >= self.limits.blocks {
            return Err(too_much("blocks", self.limits.blocks));
        }
        let at = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        self.blocks.push(new());
        *block = Some(at);
        Ok(at)
    }

    fn call_at(&mut self, block: u32) -> Option<&mut CallText> {
        match self.blocks.get(block as usize)? {
            Block::Call { index } => self.calls.get_mut(*index as usize),
            Block::Text { .. } | Block::Reasoning { .. } | Block::Other { .. } => None,
        }
    }

    fn count_content(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.content_bytes += bytes;
        if self.content_bytes > self.limits.content_bytes {
            return Err(too_much("bytes", self.limits.content_bytes));
        }
        Ok(())
    }

    /// Compatible servers name calls by their place, in every answer anew.
    fn unlike_any(&mut self, id: &str) -> String {
        let id = if id.is_empty() { "call" } else { id };
        let mut made = id.to_owned();
        let mut number = 2;
        while self.was_named(&made) || !self.taken_ids.insert(made.clone()) {
            made = format!("{id}_{number}");
            number += 1;
        }
        made
    }

    fn was_named(&self, id: &str) -> bool {
        self.earlier.iter().any(|turn| match &**turn {
            Turn::User(_) => false,
            Turn::Assistant { calls, .. } => calls.iter().any(|call| call.id == id),
        })
    }
}

/// A tool without arguments is called with no text at all by some.
fn read_arguments(text: String) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) | Err(_) => Err(text),
    }
}

/// The model sent something that its wire does not have.
pub(crate) fn garbled(what: &str) -> ModelError {
    ModelError::retry("the model's answer could not be read").because(what)
}

fn too_much(what: &str, limit: usize) -> ModelError {
    ModelError::retry(format!("the model's answer has more than {limit} {what}"))
}
