//! Signals through the one table, and what follows from them in the same transaction.
//!
//! A signal is written here and carried out elsewhere: whoever wrote a row asks the reconciler to look at it. So every
//! service can send signals, and none of them needs the reconciler for it.

use warren_model::event::{WorkspaceRemoved, WorkspaceStatusChanged};
use warren_model::{
    Desired, ErrorCode, EventData, EventKind, NewEvent, Principal, Status, Timestamp, TokenKind, Vitals,
    Workspace, WorkspaceId,
};
pub(crate) use warren_rules::lifecycle::reconcile::LOOK_AGAIN_MS;
use warren_rules::lifecycle::vitals::{after_change, after_coming_up};
use warren_rules::lifecycle::{self, Decision, Facts, Signal};
use warren_service::{Context, Error};
use warren_store::WriteTx;

use crate::Config;
use crate::workspaces::ancestry::{has_paused_ancestor, subtree};

/// Who acts, when, and under which configuration of the fleet.
pub(crate) type TxInputs = warren_service::TxInputs<Config>;

/// What the sender of a signal knows beside the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignalOptions {
    /// Stands in for the table's own reason.
    pub(crate) reason: Option<String>,
    pub(crate) is_forced: bool,
}

/// The state that somebody wants a workspace to be in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DesiredChange {
    pub(crate) desired: Desired,
    /// The signal that leads there, where the caller names one: it is refused where it does not. Otherwise whichever does.
    by: Option<Signal>,
    is_forced: bool,
}

impl DesiredChange {
    pub(crate) fn by(signal: Signal, desired: Desired) -> Self {
        Self { desired, by: Some(signal), is_forced: false }
    }

    /// However it is reached.
    pub(crate) fn to(desired: Desired) -> Self {
        Self { desired, by: None, is_forced: false }
    }

    pub(crate) fn forced(self, is_forced: bool) -> Self {
        Self { is_forced, ..self }
    }
}

/// Sends signals. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    context: Context,
    config: Config,
}

impl Signals {
    pub(crate) fn new(context: Context, config: Config) -> Self {
        Self { context, config }
    }

    /// What a transaction that changes statuses is told.
    pub(crate) fn inputs(&self, by: &Principal) -> TxInputs {
        self.context.inputs(by, self.config)
    }

    /// Sends one signal through the table and writes what follows. `reason` stands in for the table's own.
    pub(crate) async fn send(
        &self,
        id: WorkspaceId,
        signal: Signal,
        by: &Principal,
        reason: Option<String>,
    ) -> Result<Workspace, Error> {
        let (inputs, options) = (self.inputs(by), SignalOptions { reason, is_forced: false });
        self.context
            .write_with_retries(true, move |tx| {
                let known = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                let mut row = known.clone();
                apply_signal(tx, &mut row, signal, &inputs, &options)?;
                if row != known {
                    row.version = tx.change_workspace(&known, &row)?;
                }
                Ok(row)
            })
            .await
    }
}

/// Writes a desired state into the row and sends the signal towards it; some states reach all workspaces below. Returns
/// the rows that changed, the asked one first.
pub(crate) fn apply_desired(
    tx: &mut dyn WriteTx,
    root: Workspace,
    change: DesiredChange,
    inputs: &TxInputs,
) -> Result<Vec<Workspace>, Error> {
    let DesiredChange { desired, by, is_forced } = change;
    let (root_id, from) = (root.id, root.status);
    let rows = if lifecycle::reaches_below(from, desired) { subtree(tx, root, false)? } else { vec![root] };
    let options = SignalOptions { reason: None, is_forced };
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
        row.updated_at = inputs.now;
        if let Some(signal) = signal {
            apply_signal(tx, &mut row, signal, inputs, &options)?;
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

/// Asks the table and puts its answer into the row, with the event. Refusals become errors.
pub(crate) fn apply_signal(
    tx: &mut dyn WriteTx,
    row: &mut Workspace,
    signal: Signal,
    inputs: &TxInputs,
    options: &SignalOptions,
) -> Result<(), Error> {
    let known = tx.vitals(row.id)?;
    apply_signal_knowing(tx, row, &known, signal, inputs, options)
}

/// As `apply_signal`, where the runtime's record was read already.
pub(crate) fn apply_signal_knowing(
    tx: &mut dyn WriteTx,
    row: &mut Workspace,
    known: &Vitals,
    signal: Signal,
    inputs: &TxInputs,
    options: &SignalOptions,
) -> Result<(), Error> {
    let mut facts = Facts::of(row, known, inputs.now);
    facts.is_forced = options.is_forced;
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
    let reason = options.reason.as_deref();
    lifecycle::enter(row, change, reason, inputs.config.provision_timeout_ms, inputs.now);
    follow_change(tx, row, known, inputs)?;
    tx.append_event(&event_of(row, &inputs.by, inputs.now, status_change(change.event, row, from)))?;
    Ok(())
}

/// What a status means for the runtime: one that was put away is not expected to report, and its credentials end.
fn follow_change(
    tx: &mut dyn WriteTx,
    row: &Workspace,
    known: &Vitals,
    inputs: &TxInputs,
) -> Result<(), Error> {
    let next = after_change(row.spec.runtime, row.status, known)
        .or_else(|| after_coming_up(known, &row.spec, row.status, inputs.now));
    if let Some(vitals) = next {
        tx.put_vitals(row.id, &vitals)?;
    }
    if lifecycle::ends_credentials(row.spec.runtime, row.status) {
        tx.revoke_tokens_of(row.id, TokenKind::Runner, inputs.now)?;
        tx.revoke_tokens_of(row.id, TokenKind::Join, inputs.now)?;
    }
    Ok(())
}

fn status_change(kind: EventKind, row: &Workspace, from: Status) -> EventData {
    let (to, generation) = (row.status, row.generation);
    let reason = row.reason.as_ref().map(|reason| reason.as_str().to_owned());
    match kind {
        EventKind::WorkspaceRemoved => WorkspaceRemoved { from, to, reason, generation }.into(),
        _ => WorkspaceStatusChanged { from, to, reason, generation }.into(),
    }
}

/// An event about a workspace.
pub(crate) fn event_of(
    row: &Workspace,
    by: &Principal,
    at: Timestamp,
    data: impl Into<EventData>,
) -> NewEvent {
    let (org_id, workspace_id) = (row.org_id, Some(row.id));
    NewEvent { at, org_id, workspace_id, principal: by.clone(), data: data.into() }
}
