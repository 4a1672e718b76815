//! What a server remembers: what was asked, and answers that can be read again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::problem::Problem;
use super::responses::Rendered;
use super::{Answer, ServerOptions};
use crate::providers::Wire;
use crate::scripted::{Conversation, Plan, Script, ScriptPlayer};

const MAX_ENTRIES: usize = 1_000;
const MAX_KEPT: usize = 1_000;
const MAX_ENTRY_BYTES: usize = 256 << 10;

pub(super) struct State {
    player: Arc<ScriptPlayer>,
    options: ServerOptions,
    count: AtomicU64,
    journal: Mutex<VecDeque<Value>>,
    kept: Mutex<BTreeMap<String, Rendered>>,
}

/// One line of the journal.
pub(super) struct Entry(Value);

impl Entry {
    pub(super) fn of(
        wire: Wire,
        method: &Method,
        path: &str,
        body: &Value,
        outcome: &Result<Answer, Problem>,
    ) -> Self {
        let (status, error) = match outcome {
            Ok(answer) => (answer.status().as_u16(), None),
            Err(problem) => (problem.status, Some(&problem.message)),
        };
        let is_short = body.to_string().len() <= MAX_ENTRY_BYTES;
        Self(json!({
            "wire": wire.as_str(), "method": method.as_str(), "path": path, "status": status, "error": error,
            "body": if is_short { body.clone() } else { Value::Null },
        }))
    }
}

impl State {
    pub(super) fn new(script: Script, options: ServerOptions) -> Self {
        Self::of_player(Arc::new(ScriptPlayer::new(script)), options)
    }

    pub(super) fn of_player(player: Arc<ScriptPlayer>, options: ServerOptions) -> Self {
        Self { player, options, count: AtomicU64::new(0), journal: Mutex::default(), kept: Mutex::default() }
    }

    pub(super) fn plan(&self, conversation: &Conversation, body: &Value) -> Option<Plan> {
        self.player.plan(conversation, || body.to_string().len())
    }

    pub(super) fn next_id(&self, conversation: &Conversation) -> String {
        format!("{}{}", conversation.digest(), self.count.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn check_key(&self, wire: Wire, headers: &HeaderMap) -> Result<(), Problem> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = text("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let key = match wire {
            Wire::Anthropic => text("x-api-key").or(bearer),
            Wire::Gemini => text("x-goog-api-key").or(bearer),
            Wire::Responses | Wire::Chat | Wire::Scripted => bearer,
        };
        let refused = |message: &str| Err(Problem::new(401, "authentication_error", message));
        match (key.filter(|key| !key.is_empty()), &self.options.key) {
            (None, _) => refused("there is no key: send x-api-key or authorization"),
            (Some(key), Some(expected)) if key != expected => refused("the key is not valid"),
            (Some(_), _) => Ok(()),
        }
    }

    pub(super) fn note(&self, Entry(entry): Entry) {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if journal.len() >= MAX_ENTRIES {
            journal.pop_front();
        }
        journal.push_back(entry);
    }

    pub(super) fn journal(&self) -> Value {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        json!({ "count": journal.len(), "requests": journal.iter().collect::<Vec<_>>() })
    }

    pub(super) fn keep(&self, id: &str, response: &Rendered) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.pop_first();
        }
        kept.insert(format!("resp_{id}"), response.clone());
    }

    pub(super) fn kept(&self, id: &str) -> Option<Rendered> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
}
