//! Asks runtimes whose work shows no progress (F14), or of which nothing was heard (F16), whether they are there at all.
//!
//! That one is to be asked is a moment in its record, so that a crash in the middle costs one more question. What was
//! found is judged by `rules::probes` against the record as it is then: one that moved meanwhile is left alone.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Semaphore;
use warren_model::event::WorkspaceProbed;
use warren_model::{
    DeliveryState, Finding, Principal, ProbeWay, RuntimeReport, StatusReason, Timestamp, Vitals, Workspace,
    WorkspaceId,
};
use warren_rules::lifecycle::Signal;
use warren_rules::lifecycle::probes::{
    AfterAsking, QueueSeen, Verdict, after_asking, judge, seen_from_queue, way,
};
use warren_service::{Context, Error};
use warren_store::{DeliveryQuery, ReadTx, WriteTx};
use warren_workspace::{Presence, Registry};

use crate::lifecycle::{SignalOptions, Signals, TxInputs, apply_signal_knowing, event_of};

/// How many are asked at the same time.
const AT_ONCE: usize = 8;

/// How a runtime that Warren calls is asked whether it is there. Whoever speaks with agents hands it in.
#[async_trait]
pub trait RuntimeProbe: Send + Sync + std::fmt::Debug {
    /// Asks the runtime of a workspace once, with a short deadline. `None`: it is not one that is called.
    async fn probe(&self, workspace: &Workspace, card: Option<Value>) -> Option<Finding>;
}

/// For a Warren that calls nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

#[async_trait]
impl RuntimeProbe for NoProbe {
    async fn probe(&self, _workspace: &Workspace, _card: Option<Value>) -> Option<Finding> {
        None
    }
}

/// Asks runtimes. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Probes {
    context: Context,
    signals: Signals,
    registry: Registry,
    probe: Arc<dyn RuntimeProbe>,
    turns: Arc<Semaphore>,
}

impl Probes {
    pub(crate) fn new(
        context: Context,
        signals: Signals,
        registry: Registry,
        probe: Arc<dyn RuntimeProbe>,
    ) -> Self {
        Self { context, signals, registry, probe, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    pub(crate) fn run_in_background(&self, id: WorkspaceId) {
        let probes = self.clone();
        let span = tracing::info_span!("fleet.probes.run", workspace.id = %id);
        self.in_turn(span, id, async move { probes.run(id).await });
    }

    /// Nothing was heard from a runtime that may be one that Warren calls: it is called.
    pub(crate) fn look_for_in_background(&self, id: WorkspaceId) {
        let probes = self.clone();
        let span = tracing::info_span!("fleet.probes.look_for", workspace.id = %id);
        self.in_turn(span, id, async move { probes.look_for(id).await });
    }

    fn in_turn(
        &self,
        span: tracing::Span,
        id: WorkspaceId,
        work: impl Future<Output = Result<(), Error>> + Send + 'static,
    ) {
        let (context, turns) = (self.context.clone(), Arc::clone(&self.turns));
        self.context.spawn(span, async move {
            // The semaphore is never closed.
            let _turn = turns.acquire().await;
            if context.is_stopping() {
                return;
            }
            if let Err(error) = work.await {
                tracing::warn!(workspace.id = %id, %error, "a runtime could not be probed; it is asked again");
            }
        });
    }

    async fn look_for(&self, id: WorkspaceId) -> Result<(), Error> {
        let asked_at = self.context.now();
        let read = self
            .context
            .store()
            .read(move |tx| {
                let Some(row) = tx.workspace(id)? else { return Ok(None) };
                let card = tx.registration(id)?.and_then(|known| known.agent_card);
                Ok::<_, Error>(Some((row, card)))
            })
            .await?;
        let Some((row, card)) = read else { return Ok(()) };
        let found = self.probe.probe(&row, card).await;
        let inputs = self.signals.inputs(&Principal::system("probes"));
        self.context
            .write_with_retries(true, move |tx| settle_looked_for(tx, id, asked_at, found, &inputs))
            .await
    }

    async fn run(&self, id: WorkspaceId) -> Result<(), Error> {
        let now = self.context.now();
        let read = self
            .context
            .store()
            .read(move |tx| {
                let Some(row) = tx.workspace(id)? else { return Ok(None) };
                let card = tx.registration(id)?.and_then(|known| known.agent_card);
                let seen = queue_seen(tx, &row, now)?;
                Ok::<_, Error>(Some((row, card, seen)))
            })
            .await?;
        let Some((row, card, seen)) = read else { return Ok(()) };
        let answer = self.probe.probe(&row, card).await;
        let way = way(row.spec.runtime, answer.is_some());
        let finding = match way {
            ProbeWay::Card => answer.unwrap_or(Finding::Unknown),
            ProbeWay::Box => found_in_box(self.registry.check_presence(id).await),
            ProbeWay::Claims => seen_from_queue(seen, now),
        };
        let inputs = self.signals.inputs(&Principal::system("probes"));
        self.context.write_with_retries(true, move |tx| settle(tx, id, way, finding, &inputs)).await
    }
}

/// A box that cannot be looked at may be open on another machine.
fn found_in_box(presence: Presence) -> Finding {
    match presence {
        Presence::Here => Finding::Answers,
        Presence::Gone(_) => Finding::Silent,
        Presence::Unknown => Finding::Unknown,
    }
}

fn queue_seen(tx: &mut dyn ReadTx, row: &Workspace, now: Timestamp) -> Result<QueueSeen, Error> {
    let mut oldest = |state| {
        let query = DeliveryQuery { workspace_id: row.id, state, after: None, limit: 1 };
        tx.deliveries(&query).map(|page| page.rows.into_iter().next())
    };
    let (claimed, waiting) = (oldest(DeliveryState::Claimed)?, oldest(DeliveryState::Queued)?);
    Ok(QueueSeen {
        holds_claim: claimed.is_some_and(|one| one.lease_until.is_some_and(|until| until > now)),
        waits_since: waiting.map(|one| one.created_at.max(one.not_before)),
    })
}

/// Writes down what was found, with its event, and what follows from it.
fn settle(
    tx: &mut dyn WriteTx,
    id: WorkspaceId,
    way: ProbeWay,
    finding: Finding,
    inputs: &TxInputs,
) -> Result<(), Error> {
    let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
    let known = tx.hold_vitals(id)?;
    let (probe_at, signal, reason) = match judge(row.status, &known, way, finding, inputs.now) {
        Verdict::Outdated => return Ok(()),
        Verdict::Stays { reason, ask_again_at } => (ask_again_at, None, reason),
        Verdict::Leads { signal, reason, ask_again_at } => (ask_again_at, Some(signal), reason),
    };
    let vitals = Vitals { probe_at: Some(probe_at), ..known };
    tx.put_vitals(id, &vitals)?;
    let data = WorkspaceProbed { way, found: finding, reason: reason.to_owned() };
    tx.append_event(&event_of(&row, &inputs.by, inputs.now, data))?;
    match signal {
        Some(signal) => {
            let options = SignalOptions { reason: Some(reason.to_owned()), is_forced: false };
            apply_signal_knowing(tx, &mut row, &vitals, signal, inputs, &options)?;
        }
        None => row.reason = Some(StatusReason::new(reason)),
    }
    tx.update_workspace(&row, row.version)?;
    Ok(())
}

/// Writes down whether a runtime of which nothing was heard answered.
fn settle_looked_for(
    tx: &mut dyn WriteTx,
    id: WorkspaceId,
    asked_at: Timestamp,
    found: Option<Finding>,
    inputs: &TxInputs,
) -> Result<(), Error> {
    let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
    let known = tx.hold_vitals(id)?;
    let ask_again_at = match after_asking(row.status, &known, asked_at, found, inputs.now) {
        AfterAsking::Outdated => return Ok(()),
        AfterAsking::Alive => return super::hear(tx, row, &RuntimeReport::default(), inputs).map(drop),
        AfterAsking::Silent { ask_again_at } => ask_again_at,
    };
    let (before, options) = (row.clone(), SignalOptions::default());
    apply_signal_knowing(tx, &mut row, &known, Signal::LivenessExpired, inputs, &options)?;
    tx.put_vitals(id, &Vitals { liveness_deadline: ask_again_at, ..known })?;
    if row != before {
        tx.change_workspace(&before, &row)?;
    }
    Ok(())
}
