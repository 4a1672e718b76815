//! What a script looks at: the same whether it came as a request of ours or over a wire.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use warren_model::Content;
use warren_model::session::{ModelRequest, Turn};

use crate::turns::result_text;

/// A conversation so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Conversation {
    pub(crate) system: String,
    /// Names of the tools that are offered.
    pub(crate) offered: Vec<String>,
    /// What the user said last.
    pub(crate) last_user: String,
    /// How many answers there are.
    pub(crate) answers: usize,
    /// How many of them came after the user's last words.
    pub(crate) answers_since_user: usize,
    /// Calls of all answers with their results.
    pub(crate) calls: Vec<SeenCall>,
    /// How many of `calls`, from the end, are the last answer's.
    pub(crate) latest_calls: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SeenCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// Of earlier answers than the last one with calls, nobody asks for it, and it may be empty.
    pub(crate) result: String,
    pub(crate) is_error: bool,
}

impl Conversation {
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let mut conversation = Self {
            system: request.system.clone(),
            offered: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            ..Self::default()
        };
        let has_calls =
            |turn: &Arc<Turn>| matches!(&**turn, Turn::Assistant { calls, .. } if !calls.is_empty());
        let last_with_calls = request.turns.iter().rposition(has_calls).unwrap_or(0);
        for (at, turn) in request.turns.iter().enumerate() {
            match &**turn {
                Turn::User(parts) => {
                    let texts = parts.iter().filter_map(|part| match &part.content {
                        Content::Text(text) => Some(text.as_str()),
                        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
                    });
                    conversation.user_says(&texts.collect::<Vec<_>>().join("\n"));
                }
                Turn::Assistant { calls, .. } => {
                    let calls = calls.iter().map(|call| {
                        let seen =
                            SeenCall { id: call.id.clone(), tool: call.tool.clone(), ..SeenCall::default() };
                        if at < last_with_calls {
                            return seen;
                        }
                        let result = result_text(&call.outcome);
                        SeenCall { result: result.text, is_error: result.is_error, ..seen }
                    });
                    conversation.answered(calls.collect());
                }
            }
        }
        conversation
    }

    pub(crate) fn user_says(&mut self, text: &str) {
        text.clone_into(&mut self.last_user);
        self.answers_since_user = 0;
    }

    pub(crate) fn answered(&mut self, mut calls: Vec<SeenCall>) {
        self.answers += 1;
        self.answers_since_user += 1;
        self.latest_calls = calls.len();
        self.calls.append(&mut calls);
    }

    pub(crate) fn latest(&self) -> &[SeenCall] {
        &self.calls[self.calls.len() - self.latest_calls..]
    }

    /// Tells this conversation from every other, and from itself a turn later.
    pub(crate) fn digest(&self) -> String {
        // A script has no enemies: what counts is that a long conversation costs little. An earlier result is part of the id
        // of the call that followed it.
        let mut hasher = DefaultHasher::new();
        (&self.system, &self.last_user, self.answers).hash(&mut hasher);
        for call in &self.calls {
            (&call.id, &call.tool).hash(&mut hasher);
        }
        for call in self.latest() {
            call.result.hash(&mut hasher);
        }
        let mut text = format!("{:016x}", hasher.finish());
        text.truncate(12);
        text
    }
}
