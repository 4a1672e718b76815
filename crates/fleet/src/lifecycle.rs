//! Signals through the one table, and what follows from them in the same transaction.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use warren_model::{
    Desired, ErrorCode, EventKind, Mending, NewEvent, Principal, Runtime, Status, StatusReason, Timestamp,
    TokenKind, Vitals, Workspace, WorkspaceId,
};
use warren_rules::access::Action;
use warren_rules::lifecycle::{self, Decision, Facts, Signal};
pub(crate) use warren_rules::reconcile::LOOK_AGAIN_MS;
use warren_rules::sweeps::Retention;
use warren_rules::vitals::{Expectations, after_change};
use warren_store::{Store, WriteTx};

use crate::tree::{has_paused_ancestor, subtree};
use crate::workspaces::live_row;
use crate::{Error, Fleet, Identity};

/// How often a change that names no version is tried again when somebody else was faster.
const MAX_CONFLICT_RETRIES: usize = 8;

/// What the fleet expects of its workspaces, and its callers of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    pub expectations: Expectations,
    /// A time for provisioning that holds for all (F5).
    pub provision_timeout_ms: Option<i64>,
    pub retention: Retention,
    /// How long the caller of a removal waits to hear how it went. What is not done by then goes on (F8).
    pub removal_patience: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            expectations: Expectations::default(),
            provision_timeout_ms: None,
            retention: Retention::default(),
            removal_patience: Duration::from_secs(10),
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

impl Fleet {
    pub(crate) fn moment(&self, by: &Principal) -> Moment {
        Moment { by: by.clone(), now: self.clock().now(), terms: self.0.parts.terms }
    }

    /// Puts a workspace and all below it to rest, or brings them back (F7).
    pub async fn pause_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.wish(who, id, Desired::Paused, false).await
    }

    pub async fn resume_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let moment = self.moment(&who.principal);
        let changed = self
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                // Whoever resumes what is not paused is told so; a wish for `running` alone would be met already.
                if row.status != Status::Paused {
                    let sentence = lifecycle::Refusal::NotPaused.sentence();
                    return Err(Error::with_detail(ErrorCode::TransitionRefused, sentence));
                }
                follow_wish(tx, row, Desired::Running, false, &moment)
            })
            .await?;
        self.reconcile_all(changed)
    }

    /// Puts a workspace to sleep; with tasks in flight only by force.
    pub async fn hibernate_workspace(
        &self,
        who: &Identity,
        id: WorkspaceId,
        is_forced: bool,
    ) -> Result<Workspace, Error> {
        self.wish(who, id, Desired::Hibernated, is_forced).await
    }

    pub async fn wake_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let moment = self.moment(&who.principal);
        let changed = self
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                if row.status != Status::Hibernated {
                    let sentence = lifecycle::Refusal::NotHibernated.sentence();
                    return Err(Error::with_detail(ErrorCode::TransitionRefused, sentence));
                }
                follow_wish(tx, row, Desired::Running, false, &moment)
            })
            .await?;
        self.reconcile_all(changed)
    }

    /// Brings a workspace up anew. The generation is raised, so that a change that comes meanwhile is not lost (F3).
    pub async fn restart_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let moment = self.moment(&who.principal);
        let restarted = self
            .write_with_retries(true, move |tx| {
                let mut row = live_row(tx, id)?;
                row.generation += 1;
                row.mending = Mending::default();
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
        let row = self.workspace(who, Action::Operate, id).await?;
        // The registry may not have tried it in this process; then it has nothing to forget.
        let _ = self.registry().reset(id);
        let reset = self.signal(row.id, Signal::Reset, &who.principal, None).await?;
        self.reconcile_in_background(id);
        Ok(reset)
    }

    async fn wish(
        &self,
        who: &Identity,
        id: WorkspaceId,
        desired: Desired,
        is_forced: bool,
    ) -> Result<Workspace, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let moment = self.moment(&who.principal);
        let changed = self
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                follow_wish(tx, row, desired, is_forced, &moment)
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
            row.version = tx.update_workspace(&row, row.version)?;
        }
        Ok(row)
    })
    .await
}

async fn write_with_retries<T: Send + 'static>(
    store: &Arc<dyn Store>,
    may_retry: bool,
    work: impl Fn(&mut dyn WriteTx) -> Result<T, Error> + Send + Sync + Clone + 'static,
) -> Result<T, Error> {
    let mut attempts = 0;
    loop {
        let work = work.clone();
        match store.write(move |tx| work(tx)).await {
            Err(error)
                if error.code == ErrorCode::VersionConflict
                    && may_retry
                    && attempts < MAX_CONFLICT_RETRIES =>
            {
                attempts += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Writes a wish into the row and sends the signal towards it. Pausing and resuming reach all below (F7); the others
/// only the workspace itself. Answers with the rows that changed, the asked one first.
pub(crate) fn follow_wish(
    tx: &mut dyn WriteTx,
    root: Workspace,
    desired: Desired,
    is_forced: bool,
    moment: &Moment,
) -> Result<Vec<Workspace>, Error> {
    let reaches_all = match desired {
        Desired::Paused => true,
        Desired::Running => root.status == Status::Paused,
        Desired::Hibernated | Desired::Removed => false,
    };
    let from = root.status;
    let rows = if reaches_all { subtree(tx, root, false)? } else { vec![root] };
    let particulars = Particulars { reason: None, is_forced };
    let mut changed = Vec::new();
    for (position, mut row) in rows.into_iter().enumerate() {
        // Of those below, a resume takes only what is paused.
        if position > 0 && desired == Desired::Running && row.status != from {
            continue;
        }
        let signal = lifecycle::signal_towards(row.status, desired);
        if row.spec.desired != desired || signal.is_some() {
            row.spec.desired = desired;
            row.generation += 1;
            row.updated_at = moment.now;
            if let Some(signal) = signal {
                apply_signal(tx, &mut row, signal, moment, &particulars)?;
            }
            row.version = tx.update_workspace(&row, row.version)?;
        }
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
    let is_put_away =
        matches!(row.status, Status::Paused | Status::Hibernated | Status::Removed | Status::Provisioning);
    // One that runs elsewhere is not started anew by us: it would have no way to get another.
    if is_put_away && row.spec.runtime == Runtime::Resident {
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
