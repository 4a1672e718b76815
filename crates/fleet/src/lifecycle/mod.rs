//! What people ask of a workspace that is there: pause, resume, hibernate, wake, restart, reset.

mod signals;

pub(crate) use signals::{
    DesiredChange, LOOK_AGAIN_MS, SignalOptions, Signals, TxInputs, apply_desired, apply_signal,
    apply_signal_knowing, event_of,
};

use std::time::Duration;

use warren_model::{
    AuditAction, AuditDetails, Desired, ErrorCode, Mending, Principal, Status, Workspace, WorkspaceId,
};
use warren_rules::lifecycle::Signal;
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_workspace::Registry;

use crate::access::WorkspaceAccess;
use crate::reconciler::Reconciler;
use crate::workspaces::live_row;

/// How long a reset waits for the worker that failed to end.
const RESET_PATIENCE: Duration = Duration::from_secs(5);

/// Changes what is wanted of workspaces. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Lifecycle {
    context: Context,
    access: WorkspaceAccess,
    signals: Signals,
    registry: Registry,
    reconciler: Reconciler,
}

impl Lifecycle {
    pub(crate) fn new(
        context: Context,
        access: WorkspaceAccess,
        signals: Signals,
        registry: Registry,
        reconciler: Reconciler,
    ) -> Self {
        Self { context, access, signals, registry, reconciler }
    }

    /// Puts a workspace and all below it to rest (F7).
    #[tracing::instrument(name = "fleet.lifecycle.pause", skip_all, fields(workspace.id = %id))]
    pub async fn pause(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.change_desired(who, id, DesiredChange::by(Signal::Pause, Desired::Paused)).await
    }

    /// Ends the rest of a workspace and of all below it.
    #[tracing::instrument(name = "fleet.lifecycle.resume", skip_all, fields(workspace.id = %id))]
    pub async fn resume(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.change_desired(who, id, DesiredChange::by(Signal::Resume, Desired::Running)).await
    }

    /// Puts a workspace to sleep; with tasks in flight only by force.
    #[tracing::instrument(name = "fleet.lifecycle.hibernate", skip_all, fields(workspace.id = %id))]
    pub async fn hibernate(
        &self,
        who: &Identity,
        id: WorkspaceId,
        is_forced: bool,
    ) -> Result<Workspace, Error> {
        let change = DesiredChange::by(Signal::Hibernate, Desired::Hibernated).forced(is_forced);
        self.change_desired(who, id, change).await
    }

    #[tracing::instrument(name = "fleet.lifecycle.wake", skip_all, fields(workspace.id = %id))]
    pub async fn wake(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.change_desired(who, id, DesiredChange::by(Signal::Wake, Desired::Running)).await
    }

    /// A message came for a workspace that sleeps; whoever sent it may wake it by that alone (F7). One that is awake, or
    /// that somebody wants to rest, is left as it is.
    #[tracing::instrument(name = "fleet.lifecycle.wake_for_message", skip_all, fields(workspace.id = %id))]
    pub async fn wake_for_message(&self, id: WorkspaceId, by: &Principal) -> Result<(), Error> {
        let inputs = self.signals.inputs(by);
        let changed = self
            .context
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                if row.spec.desired != Desired::Hibernated {
                    return Ok(Vec::new());
                }
                apply_desired(tx, row, DesiredChange::by(Signal::Wake, Desired::Running), &inputs)
            })
            .await?;
        if changed.is_empty() { Ok(()) } else { self.reconciler.run_all(changed).map(drop) }
    }

    /// The box behind a workspace is dead, as somebody found out who called it (X13): the same as silence past the
    /// deadline, without the wait for it.
    #[tracing::instrument(name = "fleet.lifecycle.found_gone", skip_all, fields(workspace.id = %id))]
    pub async fn found_gone(&self, id: WorkspaceId) -> Result<(), Error> {
        self.signals.send(id, Signal::LivenessExpired, &Principal::system("exchange"), None).await.map(drop)
    }

    /// Too much of the work that Warren handed its runtime fails (F13). The ends are counted in the record already; should
    /// this be lost with the process, the next heartbeat leads to the same.
    #[tracing::instrument(name = "fleet.lifecycle.found_failing", skip_all, fields(workspace.id = %id))]
    pub async fn found_failing(&self, id: WorkspaceId) -> Result<(), Error> {
        self.signals.send(id, Signal::WorkFailed, &Principal::system("exchange"), None).await.map(drop)
    }

    /// What was asked of a removed workspace has ended: nothing keeps its rows any more, should they be erased.
    pub fn work_ended(&self, id: WorkspaceId) {
        self.reconciler.run_in_background(id);
    }

    /// Brings a workspace up anew. The generation is raised, so that a change that comes meanwhile is not lost (F3).
    #[tracing::instrument(name = "fleet.lifecycle.restart", skip_all, fields(workspace.id = %id))]
    pub async fn restart(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.access.get(who, Action::WriteWorkspaces, id).await?;
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let restarted = self
            .context
            .write_with_retries(true, move |tx| {
                let mut row = live_row(tx, id)?;
                row.raise_generation();
                row.mending = Mending::default();
                let (action, details) = (AuditAction::WorkspaceRestarted, AuditDetails::None);
                tx.append_audit(&actor.did_to_workspace(inputs.now, action, id, &details))?;
                apply_signal(tx, &mut row, Signal::Restart, &inputs, &SignalOptions::default())?;
                row.version = tx.update_workspace(&row, row.version)?;
                Ok(row)
            })
            .await?;
        // What failed in this process before is to be tried again.
        let _ = self.registry.reset(id);
        self.reconciler.run_in_background(id);
        Ok(restarted)
    }

    /// Has a failed workspace tried again (W14: operators only).
    #[tracing::instrument(name = "fleet.lifecycle.reset", skip_all, fields(workspace.id = %id))]
    pub async fn reset(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        let known = self.access.get(who, Action::OperateOrg, id).await?;
        if known.status == Status::Failed {
            // The worker that failed may not have said so itself yet: its word would come after the reset and undo it.
            let _ = tokio::time::timeout(RESET_PATIENCE, self.reconciler.idle(id)).await;
        }
        // The registry may not have tried it in this process; then it has nothing to forget.
        let _ = self.registry.reset(id);
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let reset = self
            .context
            .write_with_retries(true, move |tx| {
                let known = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                let mut row = known.clone();
                apply_signal(tx, &mut row, Signal::Reset, &inputs, &SignalOptions::default())?;
                if row != known {
                    row.version = tx.update_workspace(&row, row.version)?;
                }
                let details = AuditDetails::WorkspaceReset { from: known.status };
                let action = AuditAction::WorkspaceReset;
                tx.append_audit(&actor.did_to_workspace(inputs.now, action, id, &details))?;
                Ok(row)
            })
            .await?;
        self.reconciler.run_in_background(id);
        Ok(reset)
    }

    async fn change_desired(
        &self,
        who: &Identity,
        id: WorkspaceId,
        change: DesiredChange,
    ) -> Result<Workspace, Error> {
        self.access.get(who, Action::WriteWorkspaces, id).await?;
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let changed = self
            .context
            .write_with_retries(true, move |tx| {
                let row = live_row(tx, id)?;
                let details = AuditDetails::DesiredChanged { desired: change.desired };
                let action = AuditAction::WorkspaceChanged;
                tx.append_audit(&actor.did_to_workspace(inputs.now, action, id, &details))?;
                apply_desired(tx, row, change, &inputs)
            })
            .await?;
        self.reconciler.run_all(changed)
    }
}
