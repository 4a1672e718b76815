//! Asks runtimes whose work shows no progress whether they are there at all (F14).
//!
//! That one is to be asked is a moment in its record, so that a crash in the middle costs one more question. What was
//! found is judged by `rules::probes` against the record as it is then: one that moved meanwhile is left alone.

use async_trait::async_trait;
use serde_json::{Value, json};
use warren_model::{
    DeliveryState, EventKind, Principal, StatusReason, Timestamp, Vitals, Workspace, WorkspaceId,
};
use warren_rules::lifecycle::probes::{Finding, QueueSeen, Verdict, Way, judge, seen_from_queue, way};
use warren_store::{DeliveryQuery, ReadTx, WriteTx};
use warren_workspace::Presence;

use crate::lifecycle::{Moment, Particulars, apply_signal_knowing, event_of};
use crate::{Error, Fleet};

/// How many are asked at the same time.
pub(crate) const AT_ONCE: usize = 8;

/// How a runtime that can be called is asked whether it is there.
#[async_trait]
pub trait Prober: Send + Sync + std::fmt::Debug {
    /// Whether a runtime with this agent card can be asked at all.
    fn can_ask(&self, card: &Value) -> bool;

    /// Asks once, with a short deadline.
    async fn ask(&self, card: &Value) -> Finding;
}

/// For a Warren that calls nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProber;

#[async_trait]
impl Prober for NoProber {
    fn can_ask(&self, _card: &Value) -> bool {
        false
    }

    async fn ask(&self, _card: &Value) -> Finding {
        Finding::Unknown
    }
}

impl Fleet {
    pub(crate) fn probe_in_background(&self, id: WorkspaceId) {
        let fleet = self.clone();
        self.context().spawn(tracing::Span::none(), async move {
            // The semaphore is never closed.
            let _turn = fleet.0.probes.acquire().await;
            if fleet.context().is_stopping() {
                return;
            }
            if let Err(error) = fleet.probe(id).await {
                tracing::warn!(workspace.id = %id, %error, "a runtime could not be probed; it is asked again");
            }
        });
    }

    async fn probe(&self, id: WorkspaceId) -> Result<(), Error> {
        let now = self.clock().now();
        let read = self
            .store()
            .read(move |tx| {
                let Some(row) = tx.workspace(id)? else { return Ok(None) };
                let card = tx.registration(id)?.and_then(|known| known.agent_card);
                let seen = queue_seen(tx, &row, now)?;
                Ok::<_, Error>(Some((row, card, seen)))
            })
            .await?;
        let Some((row, card, seen)) = read else { return Ok(()) };
        let prober = &self.0.parts.prober;
        let card = card.filter(|card| prober.can_ask(card));
        let way = way(row.spec.runtime, card.is_some());
        let finding = match (way, &card) {
            (Way::Card, Some(card)) => prober.ask(card).await,
            (Way::Card, None) => Finding::Unknown,
            (Way::Box, _) => found_in_box(self.registry().look_at(id).await),
            (Way::Claims, _) => seen_from_queue(seen, now),
        };
        let moment = self.moment(&Principal::system("probes"));
        self.write_with_retries(true, move |tx| settle(tx, id, way, finding, &moment)).await
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
    way: Way,
    finding: Finding,
    moment: &Moment,
) -> Result<(), Error> {
    let Some(mut row) = tx.workspace(id)? else { return Ok(()) };
    let known = tx.hold_vitals(id)?;
    let (probe_at, signal, reason) = match judge(row.status, &known, way, finding, moment.now) {
        Verdict::Outdated => return Ok(()),
        Verdict::Stays { reason, ask_again_at } => (ask_again_at, None, reason),
        Verdict::Leads { signal, reason, ask_again_at } => (ask_again_at, Some(signal), reason),
    };
    let vitals = Vitals { probe_at: Some(probe_at), ..known };
    tx.put_vitals(id, &vitals)?;
    let data = json!({ "way": way.as_str(), "found": finding.as_str(), "reason": reason });
    let kind = EventKind::WorkspaceProbed;
    tx.append_event(&event_of(&row, kind, &moment.by, moment.now, data))?;
    match signal {
        Some(signal) => {
            let particulars = Particulars { reason: Some(reason.to_owned()), is_forced: false };
            apply_signal_knowing(tx, &mut row, &vitals, signal, moment, &particulars)?;
        }
        None => row.reason = Some(StatusReason::new(reason)),
    }
    tx.update_workspace(&row, row.version)?;
    Ok(())
}
