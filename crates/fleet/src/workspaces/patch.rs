//! Changing a workspace's row by a patch.

use warren_model::event::WorkspaceSpecChanged;
use warren_model::{
    AuditAction, AuditDetails, Desired, ErrorCode, Mending, PeerPolicy, Status, Workspace, WorkspaceId,
};
use warren_rules::access::audit::relaxations;
use warren_rules::lifecycle::Signal;
use warren_rules::lifecycle::vitals::after_coming_up;
use warren_service::{Action, Actor, Error, Identity};
use warren_store::WriteTx;

use super::ancestry::check_move;
use super::place_patch::PlaceJudge;
use super::{
    PatchWorkspace, Workspaces, check_agent, check_stored_agent, check_version, live_row, require_free_name,
    taken_meanwhile,
};
use crate::lifecycle::{DesiredChange, SignalOptions, TxInputs, apply_desired, apply_signal, event_of};

impl Workspaces {
    /// Changes what the patch names. With `expected_version`, only if that is still the current one.
    #[tracing::instrument(name = "fleet.workspaces.patch", skip_all, fields(workspace.id = %id))]
    pub async fn patch(
        &self,
        who: &Identity,
        id: WorkspaceId,
        patch: PatchWorkspace,
        expected_version: Option<u64>,
    ) -> Result<Workspace, Error> {
        patch.check()?;
        self.access.get(who, Action::WriteWorkspaces, id).await?;
        let judge = match patch.is_about_place() {
            true => Some(PlaceJudge { grant: self.grant_of(who).await?, registry: self.registry.clone() }),
            false => None,
        };
        let is_about_place = judge.is_some();
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let has_doors = patch.doors.is_some();
        let changed = self
            .context
            .write_with_retries(expected_version.is_none(), move |tx| {
                let row = live_row(tx, id)?;
                check_version(&row, expected_version)?;
                apply_patch(tx, row, &patch, judge.as_ref(), &inputs, &actor)
            })
            .await?;
        if is_about_place {
            // What failed in this process before is to be tried again, with what is wanted now.
            let _ = self.registry.reset(id);
        }
        if has_doors && let Some(row) = changed.first() {
            self.reconciler.attend_doors(row).await;
        }
        self.reconciler.run_all(changed)
    }
}

/// Writes the patch and returns the rows that changed, the patched one first.
fn apply_patch(
    tx: &mut dyn WriteTx,
    mut row: Workspace,
    patch: &PatchWorkspace,
    judge: Option<&PlaceJudge>,
    inputs: &TxInputs,
    actor: &Actor,
) -> Result<Vec<Workspace>, Error> {
    let relaxed_before = relaxations(&row.spec.provider);
    let mut fields = apply_fields(tx, &mut row, patch)?;
    let needs_new_box = match judge {
        Some(judge) => judge.apply(&mut row, patch, &inputs.config.ceilings, &mut fields)?,
        None => false,
    };
    let wanted = patch.desired.filter(|desired| *desired != row.spec.desired);
    if wanted == Some(Desired::Removed) {
        let detail = "desired: a workspace is removed with DELETE";
        return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
    }
    if wanted.is_some() {
        fields.push("desired");
    }
    if fields.is_empty() {
        return Ok(vec![row]);
    }
    if fields.contains(&"hibernate_after_seconds") {
        // Others learn of it from the next report of their runtime.
        let known = tx.hold_vitals(row.id)?;
        if let Some(vitals) = after_coming_up(&known, &row.spec, row.status, inputs.now) {
            tx.put_vitals(row.id, &vitals)?;
        }
    }
    row.updated_at = inputs.now;
    if needs_new_box {
        row.raise_generation();
    }
    let generation = row.generation + u64::from(wanted.is_some());
    let fields = fields.into_iter().map(str::to_owned).collect();
    let event = event_of(&row, &inputs.by, inputs.now, WorkspaceSpecChanged { fields, generation });
    let (action, details) = (AuditAction::WorkspaceChanged, AuditDetails::Event(event.data.clone()));
    tx.append_audit(&actor.did_to_workspace(inputs.now, action, row.id, &details))?;
    tx.append_event(&event)?;
    let relaxed = relaxations(&row.spec.provider);
    if !relaxed.is_empty() && relaxed != relaxed_before {
        let details = AuditDetails::IsolationRelaxed { knobs: relaxed, tier: row.spec.tier };
        let action = AuditAction::IsolationRelaxed;
        tx.append_audit(&actor.did_to_workspace(inputs.now, action, row.id, &details))?;
    }
    // One that rests, or is to rest, is opened with what is wanted now when its rest ends.
    let is_resting = matches!(row.status, Status::Paused | Status::Hibernated);
    if needs_new_box && wanted.is_none() && !is_resting {
        row.mending = Mending::default();
        apply_signal(tx, &mut row, Signal::Restart, inputs, &SignalOptions::default())?;
    }
    row.version = tx.update_workspace(&row, row.version).map_err(|error| taken_meanwhile(error, &row))?;
    match wanted {
        Some(desired) => apply_desired(tx, row, DesiredChange::to(desired), inputs),
        None => Ok(vec![row]),
    }
}

/// Puts what describes a workspace into its row; nothing of it needs to be brought about. Returns the names of
/// the fields that really changed. What it is given has a judge of its own.
fn apply_fields(
    tx: &mut dyn WriteTx,
    row: &mut Workspace,
    patch: &PatchWorkspace,
) -> Result<Vec<&'static str>, Error> {
    let mut fields = Vec::new();
    if let Some(parent_id) = patch.parent_id.filter(|parent_id| *parent_id != row.parent_id) {
        if let Some(parent_id) = parent_id {
            check_move(tx, row.id, row.org_id, parent_id)?;
        }
        row.parent_id = parent_id;
        fields.push("parent_id");
    }
    let spec = &mut row.spec;
    put(&mut row.name, patch.name.as_ref(), "name", &mut fields);
    put(&mut spec.role, patch.role.as_ref(), "role", &mut fields);
    let asked = patch.provision_timeout_seconds.as_ref();
    put(&mut spec.provision_timeout_seconds, asked, "provision_timeout_seconds", &mut fields);
    let asked = patch.hibernate_after_seconds.as_ref();
    put(&mut spec.hibernate_after_seconds, asked, "hibernate_after_seconds", &mut fields);
    let asked = patch.max_concurrent_tasks.as_ref();
    put(&mut spec.max_concurrent_tasks, asked, "max_concurrent_tasks", &mut fields);
    put(&mut spec.agent.command, patch.command.as_ref(), "command", &mut fields);
    put(&mut spec.agent.name, patch.agent.as_ref(), "agent", &mut fields);
    put(&mut spec.agent.model, patch.model.as_ref(), "model", &mut fields);
    let mut prompts = spec.agent.prompts.clone();
    for (name, text) in &patch.prompts {
        match text {
            Some(text) => prompts.insert(name.clone(), text.clone()),
            None => prompts.remove(name),
        };
    }
    put(&mut spec.agent.prompts, Some(&prompts), "prompts", &mut fields);
    let peers = patch.peers.clone().map(|policy| policy.filter(|policy| *policy != PeerPolicy::default()));
    put(&mut spec.peers, peers.as_ref(), "peers", &mut fields);
    put(&mut spec.doors, patch.doors.as_ref(), "doors", &mut fields);
    if fields.contains(&"name") {
        require_free_name(tx, row)?;
    }
    let spec = &row.spec;
    if ["command", "agent", "model", "prompts", "doors"].iter().any(|name| fields.contains(name)) {
        check_agent(spec)?;
    }
    if fields.contains(&"agent") {
        check_stored_agent(tx, row)?;
    }
    Ok(fields)
}

pub(super) fn put<T: Clone + PartialEq>(
    field: &mut T,
    asked: Option<&T>,
    name: &'static str,
    changed: &mut Vec<&'static str>,
) {
    if let Some(asked) = asked.filter(|asked| *asked != field) {
        field.clone_from(asked);
        changed.push(name);
    }
}
