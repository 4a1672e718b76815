//! What a model is shown of a session, kept by its owner between two questions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use warren_model::session::{Lineage, SessionMessage, Step};
use warren_model::{SessionId, SessionMessageId};
use warren_rules::sessions::request::MessageParts;
use warren_service::Error;
use warren_store::ReadTx;

/// Closed steps in their order, and what was said in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) steps: Vec<Step>,
    pub(crate) parts: MessageParts,
}

impl History {
    /// Reads the steps of a lineage with their messages, which may be those of the session that it was branched from.
    pub(crate) fn read(tx: &mut dyn ReadTx, lineage: &Lineage) -> Result<Self, Error> {
        let steps = tx.steps_of(lineage)?;
        let mut by_session: HashMap<SessionId, Vec<SessionMessageId>> = HashMap::new();
        for step in &steps {
            by_session.entry(step.session_id).or_default().extend(&step.messages);
        }
        let mut parts = MessageParts::new();
        for (session_id, ids) in by_session {
            parts
                .extend(tx.session_messages_of(session_id, &ids)?.into_iter().map(|one| (one.id, one.parts)));
        }
        Ok(Self { steps, parts })
    }

    /// Adds the messages of a step that are not known yet.
    pub(crate) fn read_messages(&mut self, tx: &mut dyn ReadTx, step: &Step) -> Result<(), Error> {
        let missing = self.missing(step);
        if !missing.is_empty() {
            self.add_messages(tx.session_messages_of(step.session_id, &missing)?);
        }
        Ok(())
    }

    /// Messages of a step that are not known yet.
    pub(super) fn missing(&self, step: &Step) -> Vec<SessionMessageId> {
        step.messages.iter().filter(|id| !self.parts.contains_key(*id)).copied().collect()
    }

    pub(super) fn add_messages(&mut self, messages: Vec<SessionMessage>) {
        self.parts.extend(messages.into_iter().map(|one| (one.id, one.parts)));
    }
}

/// The history of one owner. Only one question is asked at a time, so that nobody waits for it.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedHistory(Arc<Mutex<Option<History>>>);

impl SharedHistory {
    /// Adds steps that were closed, if it was read before.
    pub(super) fn add(&self, closed: Vec<Step>) {
        if let Some(history) = &mut *self.lock() {
            history.steps.extend(closed);
        }
    }

    pub(super) fn take(&self) -> Option<History> {
        self.lock().take()
    }

    pub(super) fn put(&self, history: History) {
        *self.lock() = Some(history);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<History>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
