//! What a model is shown of a session, kept by its owner between two questions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use warren_model::session::{Lineage, SessionMessage, Step};
use warren_model::{SessionId, SessionMessageId};
use warren_rules::sessions::request::{BrokenHistory, Conversation, MessageParts};
use warren_service::Error;
use warren_store::ReadTx;

/// What was said in closed steps, and the messages of the step that asks.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) conversation: Result<Conversation, BrokenHistory>,
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
        Ok(Self { conversation: Conversation::of(&steps, &parts), parts: MessageParts::new() })
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

    /// Adds a step that was closed. False where it does not follow from what is known, and has to be read.
    fn add(&mut self, step: &Step) -> bool {
        let Ok(conversation) = &mut self.conversation else { return false };
        let is_added = conversation.add(step, &self.parts).is_ok();
        for id in &step.messages {
            self.parts.remove(id);
        }
        is_added
    }
}

/// The history of one owner. Only one question is asked at a time, so that nobody waits for it.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedHistory(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    history: Option<History>,
    /// Steps that were closed so far. What was taken before the last of them is out of date.
    closed: u64,
}

/// A history that was taken, with the moment at which it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken(u64);

impl SharedHistory {
    /// Adds steps that were closed, if it was read before.
    pub(super) fn add(&self, closed: &[Step]) {
        let mut kept = self.lock();
        kept.closed += closed.len() as u64;
        let is_whole = |history: &mut History| closed.iter().all(|step| history.add(step));
        kept.history = kept.history.take().and_then(|mut history| is_whole(&mut history).then_some(history));
    }

    /// Nothing where it has to be read.
    pub(super) fn take(&self) -> (Taken, Option<History>) {
        let mut kept = self.lock();
        (Taken(kept.closed), kept.history.take())
    }

    /// Puts it back, unless a step was closed meanwhile: then it is read anew.
    pub(super) fn put(&self, taken: Taken, history: History) {
        let mut kept = self.lock();
        if kept.closed == taken.0 {
            kept.history = Some(history);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
