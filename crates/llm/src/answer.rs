//! What a model answers: pieces as they come, and the whole at the end.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;
use warren_model::session::{Block, ModelOrigin, StopReason, TokenUsage};

use crate::ModelError;

/// A piece of an answer. `block` is its place among the answer's blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerEvent {
    /// From now on a cut answer can be taken up again with this token ([`crate::CallOptions::resume`]). Comes before
    /// anything else, from providers that can do so (A12).
    Resumable(Value),
    Text {
        block: u32,
        delta: String,
    },
    /// What of its reasoning may be shown.
    Reasoning {
        block: u32,
        delta: String,
    },
    CallBegun {
        block: u32,
        call_id: String,
        tool: String,
    },
    /// A piece of the JSON text of a call's arguments.
    CallArguments {
        block: u32,
        call_id: String,
        delta: String,
    },
    /// The whole answer. Nothing comes after it.
    Done(Box<ModelAnswer>),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    pub origin: ModelOrigin,
    /// `Block::Call` names a place in `calls`.
    pub blocks: Vec<Block>,
    pub calls: Vec<AnsweredCall>,
    pub stop_reason: StopReason,
    pub usage: TokenUsage,
    pub resume_token: Option<Value>,
    /// What the caller asked for and was not sent, because the model refuses it: a sentence each.
    pub notes: Vec<String>,
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweredCall {
    /// Unlike every other id of the request and the answer.
    pub id: String,
    pub tool: String,
    /// The text itself, where it is no JSON object.
    pub arguments: Result<Value, String>,
}

impl ModelAnswer {
    /// Everything that it says, without reasoning.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Reasoning { .. } | Block::Call { .. } | Block::Other { .. } => None,
        });
        texts.collect()
    }
}

/// An answer that is being given. Dropping it hangs up.
pub struct AnswerStream(Box<dyn AnswerSource>);

impl AnswerStream {
    pub fn new(source: impl AnswerSource + 'static) -> Self {
        Self(Box::new(source))
    }

    /// The next piece; nothing after [`AnswerEvent::Done`]. After an error there is nothing more to read.
    pub async fn next(&mut self) -> Result<Option<AnswerEvent>, ModelError> {
        self.0.next().await
    }

    /// Reads on to the end.
    pub async fn answer(mut self) -> Result<ModelAnswer, ModelError> {
        loop {
            match self.next().await? {
                Some(AnswerEvent::Done(answer)) => return Ok(*answer),
                Some(_) => {}
                None => return Err(ModelError::truncated()),
            }
        }
    }
}

impl fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerStream")
    }
}

/// Where the pieces of an answer come from.
#[async_trait]
pub trait AnswerSource: Send {
    /// As [`AnswerStream::next`].
    async fn next(&mut self) -> Result<Option<AnswerEvent>, ModelError>;
}
