//! One session and its owner, as long as there is something to do.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use tracing::Instrument as _;
use warren_model::session::{DeltaMark, Phase, Session, Step, StreamEntry, StreamItem};
use warren_model::{AgentDefinition, ErrorCode};
use warren_operations::PlaceTraits;
use warren_rules::sessions::{Effect, Input, OpenSession};
use warren_service::Error;
use warren_store::WriteTx;

use super::history::SharedHistory;
use super::{Engine, asking, calling};
use crate::commit::{self, Change, Changed};
use crate::offers::Offer;

/// What a piece of work tells its owner.
#[derive(Debug)]
pub(super) enum Report {
    /// Pieces of an answer or of a tool's output, to be shown.
    Deltas { effect: Effect, deltas: Vec<StreamItem> },
    /// Something that is to be kept while the work goes on.
    Noted(Box<Input>),
    /// The end of a piece of work: what is left to show, a long result, and what follows.
    Ended { effect: Effect, deltas: Vec<StreamItem>, result: Option<(String, Vec<u8>)>, input: Box<Input> },
}

/// Reports that may wait for the owner before the work has to.
const REPORTS: usize = 64;

pub(super) struct Owner {
    engine: Engine,
    bell: Arc<Notify>,
    open: OpenSession,
    agent: Arc<AgentDefinition>,
    place: Option<PlaceTraits>,
    /// Read when the model is first asked, and kept up to date from then on.
    history: SharedHistory,
    /// Which entries of the stream held which piece of the answer that is being given.
    marks: Vec<DeltaMark>,
    under_way: HashMap<Effect, AbortHandle>,
    reports: mpsc::Receiver<Report>,
    reporter: mpsc::Sender<Report>,
}

impl Owner {
    pub(super) fn new(engine: Engine, bell: Arc<Notify>, changed: Changed) -> Self {
        let (reporter, reports) = mpsc::channel(REPORTS);
        let mut owner = Self {
            engine,
            bell,
            open: changed.open.clone(),
            agent: Arc::clone(&changed.agent),
            place: changed.place,
            history: SharedHistory::default(),
            marks: Vec::new(),
            under_way: HashMap::new(),
            reports,
            reporter,
        };
        owner.reconcile(changed);
        owner
    }

    /// Works until there is nothing more to do, the lease is lost, or Warren stops.
    pub(super) async fn run(mut self) {
        let renew_every = self.engine.0.config.renew_every;
        let mut renew_at = Instant::now() + renew_every;
        while !self.under_way.is_empty() {
            let stopping = self.engine.0.context.stopping().clone();
            let outcome = tokio::select! {
                // When Warren stops, calls end that nobody ended; what they tell then is not true of them.
                biased;
                () = stopping.cancelled() => break,
                () = sleep_until(renew_at) => {
                    renew_at = Instant::now() + renew_every;
                    self.renew().await
                }
                () = self.bell.notified() => self.commit(vec![Input::Time, Input::Continue], Vec::new(), Vec::new()).await,
                Some(report) = self.reports.recv() => self.take(report).await,
            };
            if let Err(error) = outcome {
                self.lost(&error);
                return;
            }
        }
        self.let_go().await;
    }

    /// Takes one report, and whatever else has come meanwhile, into one commit.
    async fn take(&mut self, first: Report) -> Result<(), Error> {
        let (mut inputs, mut deltas, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = Some(first);
        while let Some(report) = next {
            match report {
                // What was dropped may have told something in its last moment. It is no part of what was begun since.
                Report::Deltas { effect, .. } | Report::Ended { effect, .. }
                    if !self.under_way.contains_key(&effect) => {}
                Report::Deltas { deltas: more, .. } => join(&mut deltas, more),
                Report::Noted(input) => inputs.push(*input),
                Report::Ended { effect, deltas: more, result, input } => {
                    self.under_way.remove(&effect);
                    join(&mut deltas, more);
                    results.extend(result);
                    inputs.push(*input);
                }
            }
            next = self.reports.try_recv().ok();
        }
        // The last pieces of an answer that somebody watches do not wait for the commit of the whole.
        let is_watched = !self.marks.is_empty();
        if (inputs.is_empty() && results.is_empty() || is_watched) && self.show(&deltas).await? {
            deltas.clear();
            if inputs.is_empty() && results.is_empty() {
                return Ok(());
            }
        }
        let inputs = inputs.into_iter().map(|input| self.with_marks(input)).collect();
        self.commit(inputs, deltas, results).await
    }

    /// Shows pieces of what is under way. False if the session has changed meanwhile.
    async fn show(&mut self, deltas: &[StreamItem]) -> Result<bool, Error> {
        let Some(step) = self.open.session.open_step else { return Ok(false) };
        if deltas.is_empty() || deltas.iter().any(|item| item.step() != Some(step)) {
            return Ok(false);
        }
        let (now, session, deltas) =
            (self.engine.0.context.now(), self.open.session.clone(), deltas.to_vec());
        let shown = move |tx: &mut dyn WriteTx| commit::show(tx, &session, step, now, &deltas);
        let Some(entries) = self.engine.store().write_few(shown).await? else { return Ok(false) };
        self.engine.0.streams.publish(self.open.session.id, &entries);
        self.mark(&entries);
        Ok(true)
    }

    async fn commit(
        &mut self,
        inputs: Vec<Input>,
        deltas: Vec<StreamItem>,
        results: Vec<(String, Vec<u8>)>,
    ) -> Result<(), Error> {
        let now = self.engine.0.context.now();
        // Work that is not wanted any more may have told something in its last moment.
        let open_step = self.open.session.open_step;
        let deltas = deltas.into_iter().filter(|item| item.step() == open_step).collect();
        let change = Change { deltas, results, ..Change::by_owner(&self.open.session, now, inputs) };
        let surroundings = self.engine.0.surroundings.clone();
        let changed = self
            .engine
            .store()
            .write(move |tx| {
                let changed = commit::apply(tx, &surroundings, &change)?;
                if changed.effects.is_empty() {
                    tx.release_session(changed.open.session.id, changed.open.session.epoch, now)?;
                }
                Ok::<_, Error>(changed)
            })
            .await?;
        self.engine.tell(&changed);
        self.mark(&changed.entries);
        self.open = changed.open.clone();
        self.agent = Arc::clone(&changed.agent);
        self.place = changed.place;
        self.reconcile(changed);
        Ok(())
    }

    /// An answer is told which entries of the stream held its pieces.
    fn with_marks(&mut self, mut input: Input) -> Input {
        if let Input::Answered { answer, .. } = &mut input {
            answer.deltas = std::mem::take(&mut self.marks);
        }
        input
    }

    fn mark(&mut self, entries: &[StreamEntry]) {
        for entry in entries {
            if let StreamItem::TextDelta { block, text, .. }
            | StreamItem::ReasoningDelta { block, text, .. } = &entry.item
            {
                let before =
                    self.marks.iter().rev().find(|mark| mark.block == *block).map_or(0, |mark| mark.end);
                let end = before.saturating_add(u32::try_from(text.len()).unwrap_or(u32::MAX));
                self.marks.push(DeltaMark { sequence: entry.sequence, block: *block, end });
            }
        }
    }

    /// Begins what has to be under way, and drops what has not.
    fn reconcile(&mut self, changed: Changed) {
        self.history.add(&changed.closed);
        let wanted = changed.effects;
        self.under_way.retain(|effect, work| {
            let is_wanted = wanted.contains(effect);
            if !is_wanted {
                work.abort();
            }
            is_wanted
        });
        for effect in wanted {
            if !self.under_way.contains_key(&effect) {
                self.begin(effect);
            }
        }
    }

    fn begin(&mut self, effect: Effect) {
        let work = Work {
            engine: self.engine.clone(),
            session: self.open.session.clone(),
            step: self.open.step.clone().expect("work belongs to the open step"),
            agent: Arc::clone(&self.agent),
            place: self.place,
            effect: effect.clone(),
            reporter: self.reporter.clone(),
        };
        let span = tracing::Span::current();
        let task = match &effect {
            Effect::AskModel { .. } => {
                self.marks.clear();
                let history = self.history.clone();
                self.engine.0.context.spawn(span.clone(), asking::ask(work, history).instrument(span))
            }
            Effect::RunCall { .. } | Effect::ProbeCall { .. } | Effect::AttachCall { .. } => {
                self.engine.0.context.spawn(span.clone(), calling::call(work).instrument(span))
            }
        };
        self.under_way.insert(effect, task.abort_handle());
    }

    async fn renew(&mut self) -> Result<(), Error> {
        let now = self.engine.0.context.now();
        let (id, epoch) = (self.open.session.id, self.open.session.epoch);
        let expires_at = self.engine.lease_end(now);
        let renewed = self
            .engine
            .store()
            .write(move |tx| tx.renew_session_lease(id, epoch, expires_at).map_err(Error::from))
            .await;
        match renewed {
            Ok(true) => self.look_for_changes().await,
            Ok(false) => Err(Error::new(ErrorCode::VersionConflict)),
            // The database may be back before the lease ends; every write asks for the epoch anyway.
            Err(error) => {
                tracing::warn!(%error, "a session's lease could not be renewed; it is tried again");
                Ok(())
            }
        }
    }

    /// Another process may have changed the session, and its bell rings there only.
    async fn look_for_changes(&mut self) -> Result<(), Error> {
        let id = self.open.session.id;
        let session = self.engine.store().read_few(move |tx| tx.session(id).map_err(Error::from)).await?;
        let is_changed = session.is_some_and(|session| session.version != self.open.session.version);
        let is_due = self.open.session.wake_at.is_some_and(|at| at <= self.engine.0.context.now());
        if is_changed || is_due {
            return self.commit(vec![Input::Time, Input::Continue], Vec::new(), Vec::new()).await;
        }
        Ok(())
    }

    /// Somebody else has the session, or the database is away: whatever is under way is dropped. Nothing of it can be
    /// written any more, and whoever has the lease next begins from the rows.
    fn lost(&mut self, error: &Error) {
        for work in self.under_way.values() {
            work.abort();
        }
        // The row is held while it is changed, so that the only conflict there can be is about the lease.
        if error.code == ErrorCode::VersionConflict {
            tracing::info!("a session was stopped or taken over by somebody else");
        } else {
            tracing::warn!(%error, "a session cannot be worked on; it is taken up again when its lease ends");
        }
    }

    /// Warren stops, or there is nothing more to do.
    async fn let_go(&mut self) {
        for work in self.under_way.values() {
            work.abort();
        }
        if self.open.session.phase != Phase::Active || self.under_way.is_empty() {
            return;
        }
        let (id, epoch, now) = (self.open.session.id, self.open.session.epoch, self.engine.0.context.now());
        let released = self
            .engine
            .store()
            .write(move |tx| tx.release_session(id, epoch, now).map_err(Error::from))
            .await;
        if let Err(error) = released {
            tracing::warn!(%error, "a session's lease could not be given back; it ends by itself");
        }
    }
}

/// Adds pieces to those that wait. What came while the database was busy is one entry, so that a database that falls behind
/// has less to write, not more.
fn join(waiting: &mut Vec<StreamItem>, more: Vec<StreamItem>) {
    for item in more {
        match (waiting.last_mut(), item) {
            (
                Some(StreamItem::TextDelta { step, block, text }),
                StreamItem::TextDelta { step: same, block: of, text: more },
            ) if (*step, *block) == (same, of) => text.push_str(&more),
            (
                Some(StreamItem::ReasoningDelta { step, block, text }),
                StreamItem::ReasoningDelta { step: same, block: of, text: more },
            ) if (*step, *block) == (same, of) => text.push_str(&more),
            (_, item) => waiting.push(item),
        }
    }
}

/// One piece of work, with what it needs.
pub(super) struct Work {
    pub(super) engine: Engine,
    pub(super) session: Session,
    pub(super) step: Step,
    pub(super) agent: Arc<AgentDefinition>,
    /// Nothing where the workspace is gone.
    pub(super) place: Option<PlaceTraits>,
    pub(super) effect: Effect,
    reporter: mpsc::Sender<Report>,
}

impl Work {
    /// What the session's model is offered.
    pub(super) fn offer(&self) -> Result<Arc<Offer>, Error> {
        let place = self.place.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        Ok(self.engine.offered(&self.session, &self.agent, place))
    }

    /// Tells pieces that can be shown already.
    pub(super) async fn show(&self, deltas: Vec<StreamItem>) {
        if !deltas.is_empty() {
            let _ = self.reporter.send(Report::Deltas { effect: self.effect.clone(), deltas }).await;
        }
    }

    /// Tells what is to be on disk before the work has ended.
    pub(super) async fn note(&self, input: Input) {
        let _ = self.reporter.send(Report::Noted(Box::new(input))).await;
    }

    pub(super) async fn end(self, deltas: Vec<StreamItem>, result: Option<(String, Vec<u8>)>, input: Input) {
        let report = Report::Ended { effect: self.effect, deltas, result, input: Box::new(input) };
        let _ = self.reporter.send(report).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(step: u32, block: u32, text: &str) -> StreamItem {
        StreamItem::TextDelta { step, block, text: text.to_owned() }
    }

    // A62, P18
    #[test]
    fn pieces_that_wait_together_are_one_entry_and_nothing_is_lost() {
        let reasoning = |text: &str| StreamItem::ReasoningDelta { step: 1, block: 0, text: text.to_owned() };
        let mut waiting = Vec::new();
        join(&mut waiting, vec![reasoning("so "), reasoning("what"), text(1, 1, "one ")]);
        join(&mut waiting, vec![text(1, 1, "two"), text(1, 2, "other"), text(2, 2, "step")]);
        let expected =
            vec![reasoning("so what"), text(1, 1, "one two"), text(1, 2, "other"), text(2, 2, "step")];
        assert_eq!(waiting, expected);
    }
}
