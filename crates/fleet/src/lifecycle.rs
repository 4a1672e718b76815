//! Signals through the one table, and what follows from them in the same transaction.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use warren_model::{
    AuditAction, Desired, ErrorCode, EventKind, Mending, NewEvent, Principal, StatusReason, Timestamp,
    TokenKind, Vitals, Workspace, WorkspaceId,
};
use warren_rules::access::Action;
pub(crate) use warren_rules::lifecycle::reconcile::LOOK_AGAIN_MS;
use warren_rules::lifecycle::sweeps::Retention;
use warren_rules::lifecycle::vitals::{Expectations, after_change};
use warren_rules::lifecycle::{self, Decision, Facts, Signal};
use warren_service::write_with_retries;
use warren_store::{Store, WriteTx};

use crate::Actor;
use crate::tree::{has_paused_ancestor, subtree};
use crate::workspaces::live_row;
use crate::{Error, Fleet, Identity};

/// What the fleet expects of its workspaces, and its callers of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    pub expectations: Expectations,
    /// A time for provisioning that holds for all (F5).
    pub provision_timeout_ms: Option<i64>,
    pub retention: Retention,
    /// How long the caller of a removal waits to hear how it went. What is not done by then goes on (F8).
    pub removal_patience: Duration,
    /// Whether images are looked at without anybody's asking (F52).
    pub watches_images: bool,
    /// Whether sweeps run by themselves, or only when they are asked for.
    pub sweeps_unasked: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            expectations: Expectations::default(),
            provision_timeout_ms: None,
            retention: Retention::default(),
            removal_patience: Duration::from_secs(10),
            watches_images: false,
            sweeps_unasked: true,
        }
    }
}

/// Who signals, when, and under which terms.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) by: Principal,
    pub(crate) now: Timestamp,
    pub(crate) terms: Terms,
}

/// One signal, with what its sender knows beside the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Particulars {
    /// Stands in for the table's own reason.
    pub(crate) reason: Option<String>,
    pub(crate) is_forced: bool,
}

/// What somebody wants of a workspace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    desired: Desired,
    /// The way to it, where somebody names one: it is refused where it does not lead there. Otherwise whichever does.
    by: Option<Signal>,
    is_forced: bool,
}

impl Wish {
    fn by(signal: Signal, desired: Desired) -> Self {
        Self { desired, by: Some(signal), is_forced: false }
    }

    /// However it is reached.
    pub(crate) fn plain(desired: Desired) -> Self {
        Self { desired, by: None, is_forced: false }
    }
}

impl Fleet {
    pub(crate) fn moment(&self, by: &Principal) -> Moment {
        Moment { by: by.clone(), now: self.clock().now(), terms: self.0.parts.terms }
    }

    /// Puts a workspace and all below it to rest (F7).
    pub async fn pause_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.wish(who, id, Wish::by(Signal::Pause, Desired::Paused)).await
    }

    /// Ends the rest of a workspace and of all below it.
    pub async fn resume_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.wish(who, id, Wish::by(Signal::Resume, Desired::Running)).await
    }

    /// Puts a workspace to sleep; with tasks in flight only by force.
    pub async fn hibernate_workspace(
        &self,
        who: &Identity,
        id: WorkspaceId,
        is_forced: bool,
    ) -> Result<Workspace, Error> {
        let wish = Wish { is_forced, ..Wish::by(Signal::Hibernate, Desired::Hibernated) };
        self.wish(who, id, wish).await
    }

    pub async fn wake_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.wish(who, id, Wish::by(Signal::Wake, Desired::Running)).await
    }

    /// A message came for a workspace that sleeps; whoever sent it may wake it by that alone (F7). One that is awake, or
    /// that somebody wants to rest, is left as it is.
    pub async fn wake_for_message(&self, id: WorkspaceId, by: &Principal) -> Result<(), Error> {
        let moment = self.moment(by);
        let changed = self
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                if row.spec.desired != Desired::Hibernated {
                    return Ok(Vec::new());
                }
                follow_wish(tx, row, Wish::by(Signal::Wake, Desired::Running), &moment)
            })
            .await?;
        if changed.is_empty() { Ok(()) } else { self.reconcile_all(changed).map(drop) }
    }

    /// The box behind a workspace is dead, as somebody found out who called it (X13): the same as silence past the
    /// deadline, without the wait for it.
    pub async fn found_gone(&self, id: WorkspaceId) -> Result<(), Error> {
        self.signal(id, Signal::LivenessExpired, &Principal::system("exchange"), None).await.map(drop)
    }

    /// Too much of the work that Warren handed its runtime fails (F13). The ends are counted in the record already; should
    /// this be lost with the process, the next heartbeat leads to the same.
    pub async fn found_failing(&self, id: WorkspaceId) -> Result<(), Error> {
        self.signal(id, Signal::WorkFailed, &Principal::system("exchange"), None).await.map(drop)
    }

    /// How long work may show no progress, where a workspace says nothing itself.
    pub fn idle_timeout_ms(&self) -> i64 {
        self.0.parts.terms.expectations.idle_timeout_ms
    }

    /// Brings a workspace up anew. The generation is raised, so that a change that comes meanwhile is not lost (F3).
    pub async fn restart_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let (moment, actor) = (self.moment(&who.principal), Actor::of(who));
        let restarted = self
            .write_with_retries(true, move |tx| {
                let mut row = live_row(tx, id)?;
                row.raise_generation();
                row.mending = Mending::default();
                let (action, details) = (AuditAction::WorkspaceRestarted, json!({}));
                tx.append_audit(&actor.did_to_workspace(moment.now, action, id, details))?;
                apply_signal(tx, &mut row, Signal::Restart, &moment, &Particulars::default())?;
                row.version = tx.update_workspace(&row, row.version)?;
                Ok(row)
            })
            .await?;
        // What failed in this process before is to be tried again.
        let _ = self.registry().reset(id);
        self.reconcile_in_background(id);
        Ok(restarted)
    }

    /// Has a failed workspace tried again (W14: operators only).
    pub async fn reset_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.workspace(who, Action::Operate, id).await?;
        // The registry may not have tried it in this process; then it has nothing to forget.
        let _ = self.registry().reset(id);
        let (moment, actor) = (self.moment(&who.principal), Actor::of(who));
        let reset = self
            .write_with_retries(true, move |tx| {
                let known = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                let mut row = known.clone();
                apply_signal(tx, &mut row, Signal::Reset, &moment, &Particulars::default())?;
                if row != known {
                    row.version = tx.update_workspace(&row, row.version)?;
                }
                let (action, details) =
                    (AuditAction::WorkspaceReset, json!({ "from": known.status.as_str() }));
                tx.append_audit(&actor.did_to_workspace(moment.now, action, id, details))?;
                Ok(row)
            })
            .await?;
        self.reconcile_in_background(id);
        Ok(reset)
    }

    async fn wish(&self, who: &Identity, id: WorkspaceId, wish: Wish) -> Result<Workspace, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let (moment, actor) = (self.moment(&who.principal), Actor::of(who));
        let changed = self
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                let details = json!({ "fields": ["desired"], "desired": wish.desired.as_str() });
                let action = AuditAction::WorkspaceChanged;
                tx.append_audit(&actor.did_to_workspace(moment.now, action, id, details))?;
                follow_wish(tx, row, wish, &moment)
            })
            .await?;
        self.reconcile_all(changed)
    }

    /// Sees to all that changed; the first of them is the one that was asked about.
    pub(crate) fn reconcile_all(&self, changed: Vec<Workspace>) -> Result<Workspace, Error> {
        for row in &changed {
            self.reconcile_in_background(row.id);
        }
        changed.into_iter().next().ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))
    }

    /// Sends one signal through the table and writes what follows. `reason` stands in for the table's own.
    pub(crate) async fn signal(
        &self,
        id: WorkspaceId,
        signal: Signal,
        by: &Principal,
        reason: Option<String>,
    ) -> Result<Workspace, Error> {
        send_signal(self.store(), self.moment(by), id, signal, reason).await
    }

    /// Runs a transaction; where the caller named no version, a lost race is decided anew.
    pub(crate) async fn write_with_retries<T: Send + 'static>(
        &self,
        may_retry: bool,
        work: impl Fn(&mut dyn WriteTx) -> Result<T, Error> + Send + Sync + Clone + 'static,
    ) -> Result<T, Error> {
        write_with_retries(self.store(), may_retry, work).await
    }
}

/// As [`Fleet::signal`], for those who have no fleet yet.
pub(crate) async fn send_signal(
    store: &Arc<dyn Store>,
    moment: Moment,
    id: WorkspaceId,
    signal: Signal,
    reason: Option<String>,
) -> Result<Workspace, Error> {
    let particulars = Particulars { reason, is_forced: false };
    write_with_retries(store, true, move |tx| {
        let known = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        let mut row = known.clone();
        apply_signal(tx, &mut row, signal, &moment, &particulars)?;
        if row != known {
            row.version = tx.change_workspace(&known, &row)?;
        }
        Ok(row)
    })
    .await
}

/// Writes a wish into the row and sends the signal towards it; some wishes reach all below. Answers with the rows that
/// changed, the asked one first.
pub(crate) fn follow_wish(
    tx: &mut dyn WriteTx,
    root: Workspace,
    wish: Wish,
    moment: &Moment,
) -> Result<Vec<Workspace>, Error> {
    let Wish { desired, by, is_forced } = wish;
    let (root_id, from) = (root.id, root.status);
    let rows = if lifecycle::reaches_below(from, desired) { subtree(tx, root, false)? } else { vec![root] };
    let particulars = Particulars { reason: None, is_forced };
    let mut changed = Vec::new();
    for mut row in rows {
        let is_root = row.id == root_id;
        if !is_root && !lifecycle::is_reached(row.status, from, desired) {
            continue;
        }
        let signal = by.filter(|_| is_root).or_else(|| lifecycle::signal_towards(row.status, desired));
        let known = row.clone();
        row.spec.desired = desired;
        row.raise_generation();
        row.updated_at = moment.now;
        if let Some(signal) = signal {
            apply_signal(tx, &mut row, signal, moment, &particulars)?;
        }
        if (row.status, row.spec.desired) == (known.status, known.spec.desired) {
            // It was so already.
            changed.push(known);
            continue;
        }
        row.version = tx.update_workspace(&row, row.version)?;
        changed.push(row);
    }
    Ok(changed)
}

/// Asks the table and puts the answer into the row, with its event. Refusals become errors.
pub(crate) fn apply_signal(
    tx: &mut dyn WriteTx,
    row: &mut Workspace,
    signal: Signal,
    moment: &Moment,
    particulars: &Particulars,
) -> Result<(), Error> {
    let known = tx.vitals(row.id)?;
    apply_signal_knowing(tx, row, &known, signal, moment, particulars)
}

/// As `apply_signal`, where the runtime's record was read already.
pub(crate) fn apply_signal_knowing(
    tx: &mut dyn WriteTx,
    row: &mut Workspace,
    known: &Vitals,
    signal: Signal,
    moment: &Moment,
    particulars: &Particulars,
) -> Result<(), Error> {
    let mut facts = Facts::of(row, known, moment.now);
    facts.is_forced = particulars.is_forced;
    if matches!(signal, Signal::Resume | Signal::Wake) {
        facts.has_paused_ancestor = has_paused_ancestor(tx, row)?;
    }
    let change = match lifecycle::transition(row.status, signal, &facts) {
        Decision::Change(change) => change,
        Decision::Stay => return Ok(()),
        Decision::Refuse(refusal) => {
            return Err(Error::with_detail(ErrorCode::TransitionRefused, refusal.sentence()));
        }
    };
    let from = row.status;
    let reason = particulars.reason.as_deref();
    lifecycle::enter(row, change, reason, moment.terms.provision_timeout_ms, moment.now);
    follow_change(tx, row, known, moment)?;
    let data = json!({
        "from": from.as_str(),
        "to": row.status.as_str(),
        "reason": row.reason.as_ref().map(StatusReason::as_str),
        "generation": row.generation,
    });
    tx.append_event(&event_of(row, change.event, &moment.by, moment.now, data))?;
    Ok(())
}

/// What a status means for the runtime: one that was put away is not expected to report, and its credential ends.
fn follow_change(
    tx: &mut dyn WriteTx,
    row: &Workspace,
    known: &Vitals,
    moment: &Moment,
) -> Result<(), Error> {
    if let Some(vitals) = after_change(row.spec.runtime, row.status, known) {
        tx.put_vitals(row.id, &vitals)?;
    }
    if lifecycle::ends_credentials(row.spec.runtime, row.status) {
        tx.revoke_tokens_of(row.id, TokenKind::Runner, moment.now)?;
        tx.revoke_tokens_of(row.id, TokenKind::Join, moment.now)?;
    }
    Ok(())
}

pub(crate) fn event_of(
    row: &Workspace,
    kind: EventKind,
    by: &Principal,
    at: Timestamp,
    data: serde_json::Value,
) -> NewEvent {
    NewEvent { at, kind, org_id: row.org_id, workspace_id: Some(row.id), principal: by.clone(), data }
}
