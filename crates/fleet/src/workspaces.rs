//! Workspaces: create, read, change, remove. Each change is decided by `rules` inside the transaction that
//! writes it.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::json;
use warren_model::{
    AuditAction, AuditTargetKind, CapabilitySet, Desired, ErrorCode, EventKind, NewEvent, OrgId, Principal,
    ProviderConfig, Runtime, Status, StatusReason, Timestamp, Vitals, Workspace, WorkspaceId, WorkspaceName,
    WorkspaceSpec,
};
use warren_rules::access::{Action, Target};
use warren_rules::audit::relaxations;
use warren_rules::lifecycle::{self, Decision, Facts, Signal, Usability};
use warren_store::{Page, Store, WorkspaceQuery, WriteTx};

use crate::audit::Actor;
use crate::{Error, Fleet, Identity};

/// How deep the tree may be, and so how far a walk towards the root goes.
const MAX_DEPTH: usize = 64;
/// How often a change that names no version is tried again when somebody else was faster.
const MAX_CONFLICT_RETRIES: usize = 8;

#[derive(Debug, Clone, PartialEq)]
pub struct CreateWorkspace {
    pub name: WorkspaceName,
    pub provider: ProviderConfig,
    /// Absent: all that the provider offers.
    pub capabilities: Option<CapabilitySet>,
    pub parent_id: Option<WorkspaceId>,
    pub runtime: Runtime,
}

/// Absent means unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PatchWorkspace {
    pub name: Option<WorkspaceName>,
    pub parent_id: Option<Option<WorkspaceId>>,
    pub desired: Option<Desired>,
}

impl Fleet {
    /// Reads a workspace that the caller may act on; to others it does not exist.
    pub async fn workspace(
        &self,
        who: &Identity,
        action: Action,
        id: WorkspaceId,
    ) -> Result<Workspace, Error> {
        let row = self.store().read(move |tx| tx.workspace(id).map_err(Error::from)).await?;
        let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        if let Err(refusal) = who.may(action, Target::Workspace { id, org_id: row.org_id }) {
            // Told that it does not exist, which it does: somebody reaches for what is not theirs.
            if refusal.code == ErrorCode::WorkspaceNotFound {
                self.audit_refusal(who, AuditTargetKind::Workspace, id.to_string());
            }
            return Err(refusal);
        }
        Ok(row)
    }

    /// As `workspace`, for one that can be used now: the registry knows it and somebody wants it running.
    pub async fn usable_workspace(
        &self,
        who: &Identity,
        action: Action,
        id: WorkspaceId,
    ) -> Result<Workspace, Error> {
        let row = self.workspace(who, action, id).await?;
        match lifecycle::usability(row.status) {
            Usability::Usable => Ok(row),
            Usability::Gone => Err(Error::new(ErrorCode::WorkspaceNotFound)),
            Usability::Resting => {
                let detail = format!("the workspace is {}", row.status);
                Err(Error::with_detail(ErrorCode::WorkspaceNotReady, detail))
            }
            Usability::Failed => {
                let reason = row.reason.as_ref().map_or("", StatusReason::as_str);
                Err(Error::with_detail(ErrorCode::WorkspaceFailed, reason))
            }
        }
    }

    pub async fn workspaces(
        &self,
        who: &Identity,
        mut query: WorkspaceQuery,
    ) -> Result<Page<Workspace, WorkspaceId>, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        query.org_id = who.visible_org();
        query.limit = query.limit.clamp(1, self.limits().max_page_size);
        self.store().read(move |tx| tx.workspaces(&query).map_err(Error::from)).await
    }

    /// Accepts a workspace. The answer is durable; opening the place goes on in the background.
    pub async fn create_workspace(&self, who: &Identity, wish: CreateWorkspace) -> Result<Workspace, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let offered = self.registry().offered(wish.provider.kind())?;
        let capabilities = wish.capabilities.unwrap_or(offered);
        self.registry().check(&wish.provider, capabilities)?;
        let now = self.clock().now();
        let workspace = Workspace {
            id: self.entropy().id(now),
            org_id: who.token.org_id,
            parent_id: wish.parent_id,
            name: wish.name,
            spec: WorkspaceSpec {
                desired: Desired::Running,
                runtime: wish.runtime,
                provider: wish.provider,
                capabilities,
            },
            generation: 1,
            observed_generation: 0,
            version: 1,
            status: Status::Provisioning,
            reason: None,
            reference: None,
            vitals: Vitals::default(),
            created_at: now,
            updated_at: now,
            provisioning_started_at: Some(now),
            removed_at: None,
        };
        let (row, by, actor) = (workspace.clone(), who.principal.clone(), Actor::of(who));
        let max = u64::from(self.limits().max_workspaces_per_org);
        self.store()
            .write(move |tx| {
                if tx.count_workspaces(row.org_id)? >= max {
                    return Err(Error::new(ErrorCode::WorkspaceLimit));
                }
                if let Some(parent_id) = row.parent_id {
                    check_parent(tx, row.id, row.org_id, parent_id)?;
                }
                tx.insert_workspace(&row)?;
                let data = json!({
                    "name": row.name.as_str(),
                    "provider": row.spec.provider.kind().as_str(),
                    "status": row.status.as_str(),
                });
                tx.append_event(&event_of(&row, EventKind::WorkspaceCreated, &by, now, data.clone()))?;
                tx.append_audit(&actor.did_to_workspace(now, AuditAction::WorkspaceCreated, row.id, data))?;
                let relaxed = relaxations(&row.spec.provider);
                if !relaxed.is_empty() {
                    let details = json!({ "knobs": relaxed });
                    let action = AuditAction::IsolationRelaxed;
                    tx.append_audit(&actor.did_to_workspace(now, action, row.id, details))?;
                }
                Ok(())
            })
            .await?;
        // Usable from the moment it is acknowledged: whoever comes first opens it. What cannot be declared fails in
        // the background, with its reason.
        let _ = self.declare(&workspace);
        self.reconcile_in_background(workspace.id);
        Ok(workspace)
    }

    /// Changes what the patch names. With `expected_version`, only if that is still the current one.
    pub async fn patch_workspace(
        &self,
        who: &Identity,
        id: WorkspaceId,
        patch: PatchWorkspace,
        expected_version: Option<u64>,
    ) -> Result<Workspace, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let now = self.clock().now();
        let (by, actor) = (who.principal.clone(), Actor::of(who));
        let changed = self
            .write_with_retries(expected_version.is_none(), move |tx| {
                let mut row = live_row(tx, id)?;
                check_version(&row, expected_version)?;
                let fields = apply_patch(tx, &mut row, &patch, &by, now)?;
                if fields.is_empty() {
                    return Ok(row);
                }
                row.updated_at = now;
                let data = json!({ "fields": fields, "generation": row.generation });
                tx.append_event(&event_of(&row, EventKind::WorkspaceSpecChanged, &by, now, data.clone()))?;
                tx.append_audit(&actor.did_to_workspace(now, AuditAction::WorkspaceChanged, id, data))?;
                row.version = tx.update_workspace(&row, row.version)?;
                Ok(row)
            })
            .await?;
        self.reconcile_in_background(id);
        Ok(changed)
    }

    /// Has a failed workspace tried again (W14: operators only).
    pub async fn reset_workspace(&self, who: &Identity, id: WorkspaceId) -> Result<Workspace, Error> {
        self.workspace(who, Action::Operate, id).await?;
        // The registry may not have tried it in this process; then it has nothing to forget.
        let _ = self.registry().reset(id);
        let (by, actor, now) = (who.principal.clone(), Actor::of(who), self.clock().now());
        let reset = self
            .write_with_retries(true, move |tx| {
                let known = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                let mut row = known.clone();
                apply_signal(tx, &mut row, Signal::Reset, &by, now, None)?;
                if row != known {
                    row.version = tx.update_workspace(&row, row.version)?;
                }
                let details = json!({ "from": known.status.as_str() });
                tx.append_audit(&actor.did_to_workspace(now, AuditAction::WorkspaceReset, id, details))?;
                Ok(row)
            })
            .await?;
        self.reconcile_in_background(id);
        Ok(reset)
    }

    /// Removes a workspace and all below it. The intent is durable when this answers; stopping and deleting files
    /// goes on in the background, also after a crash. Removing twice is fine.
    pub async fn remove_workspace(
        &self,
        who: &Identity,
        id: WorkspaceId,
        expected_version: Option<u64>,
    ) -> Result<Workspace, Error> {
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let now = self.clock().now();
        let (by, actor) = (who.principal.clone(), Actor::of(who));
        let removed = self
            .write_with_retries(expected_version.is_none(), move |tx| {
                let root = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
                check_version(&root, expected_version)?;
                let mut removed = Vec::new();
                for mut row in subtree(tx, root)? {
                    if row.status != Status::Removed {
                        row.spec.desired = Desired::Removed;
                        row.generation += 1;
                        apply_signal(tx, &mut row, Signal::Remove, &by, now, None)?;
                        row.version = tx.update_workspace(&row, row.version)?;
                        let secrets = tx.delete_secrets_of(row.id)?;
                        let details = json!({ "name": row.name.as_str(), "secrets": secrets });
                        let action = AuditAction::WorkspaceRemoved;
                        tx.append_audit(&actor.did_to_workspace(now, action, row.id, details))?;
                    }
                    removed.push(row);
                }
                Ok(removed)
            })
            .await?;
        for row in &removed {
            self.reconcile_in_background(row.id);
        }
        removed.into_iter().next().ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))
    }

    /// Sends one signal through the table and writes what follows. `reason` stands in for the table's own.
    pub(crate) async fn signal(
        &self,
        id: WorkspaceId,
        signal: Signal,
        by: &Principal,
        reason: Option<String>,
    ) -> Result<Workspace, Error> {
        send_signal(self.store(), self.clock().now(), id, signal, by, reason).await
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
    now: Timestamp,
    id: WorkspaceId,
    signal: Signal,
    by: &Principal,
    reason: Option<String>,
) -> Result<Workspace, Error> {
    let by = by.clone();
    write_with_retries(store, true, move |tx| {
        let known = tx.workspace(id)?.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        let mut row = known.clone();
        if matches!(signal, Signal::PlaceReady | Signal::PlaceFailed) {
            row.observed_generation = row.generation;
        }
        apply_signal(tx, &mut row, signal, &by, now, reason.as_deref())?;
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

fn check_version(row: &Workspace, expected: Option<u64>) -> Result<(), Error> {
    match expected {
        Some(version) if version != row.version => {
            let detail = format!("the current version is {}", row.version);
            Err(Error::with_detail(ErrorCode::PreconditionFailed, detail))
        }
        _ => Ok(()),
    }
}

pub(crate) fn live_row(tx: &mut dyn WriteTx, id: WorkspaceId) -> Result<Workspace, Error> {
    let row = tx.workspace(id)?.filter(|row| row.status != Status::Removed);
    row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))
}

/// Puts the patch into the row and answers with the names of the fields that really changed.
fn apply_patch(
    tx: &mut dyn WriteTx,
    row: &mut Workspace,
    patch: &PatchWorkspace,
    by: &Principal,
    now: Timestamp,
) -> Result<Vec<&'static str>, Error> {
    let mut fields = Vec::new();
    if let Some(name) = patch.name.as_ref().filter(|name| **name != row.name) {
        row.name = name.clone();
        fields.push("name");
    }
    if let Some(parent_id) = patch.parent_id.filter(|parent_id| *parent_id != row.parent_id) {
        if let Some(parent_id) = parent_id {
            check_parent(tx, row.id, row.org_id, parent_id)?;
        }
        row.parent_id = parent_id;
        fields.push("parent_id");
    }
    if let Some(desired) = patch.desired.filter(|desired| *desired != row.spec.desired) {
        if desired == Desired::Removed {
            let detail = "desired: a workspace is removed with DELETE";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        row.spec.desired = desired;
        row.generation += 1;
        if let Some(signal) = lifecycle::signal_towards(row.status, desired) {
            apply_signal(tx, row, signal, by, now, None)?;
        }
        fields.push("desired");
    }
    Ok(fields)
}

/// Asks the table and puts the answer into the row, with its event. Refusals become errors.
fn apply_signal(
    tx: &mut dyn WriteTx,
    row: &mut Workspace,
    signal: Signal,
    by: &Principal,
    now: Timestamp,
    reason: Option<&str>,
) -> Result<(), Error> {
    let mut facts = Facts::of(row);
    facts.has_paused_ancestor = has_paused_ancestor(tx, row)?;
    let change = match lifecycle::transition(row.status, signal, &facts) {
        Decision::Change(change) => change,
        Decision::Stay => return Ok(()),
        Decision::Refuse(refusal) => {
            return Err(Error::with_detail(ErrorCode::TransitionRefused, refusal.sentence()));
        }
    };
    let from = row.status;
    row.status = change.to;
    row.reason = change.reason.map(|fixed| StatusReason::new(reason.unwrap_or(fixed)));
    row.updated_at = now;
    match change.to {
        Status::Provisioning => row.provisioning_started_at = Some(now),
        Status::Removed => row.removed_at = Some(now),
        Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated => {}
    }
    let data = json!({
        "from": from.as_str(),
        "to": row.status.as_str(),
        "reason": row.reason.as_ref().map(StatusReason::as_str),
        "generation": row.generation,
    });
    tx.append_event(&event_of(row, change.event, by, now, data))?;
    Ok(())
}

fn has_paused_ancestor(tx: &mut dyn WriteTx, row: &Workspace) -> Result<bool, Error> {
    let mut next = row.parent_id;
    for _ in 0..MAX_DEPTH {
        let Some(ancestor) = next.map(|id| tx.workspace(id)).transpose()?.flatten() else {
            return Ok(false);
        };
        if ancestor.status == Status::Paused {
            return Ok(true);
        }
        next = ancestor.parent_id;
    }
    Ok(false)
}

/// A parent must be a living workspace of the same org, and not the workspace itself or one below it.
fn check_parent(
    tx: &mut dyn WriteTx,
    id: WorkspaceId,
    org_id: OrgId,
    parent_id: WorkspaceId,
) -> Result<(), Error> {
    let mut next = Some(parent_id);
    for depth in 0..=MAX_DEPTH {
        let Some(ancestor_id) = next else { return Ok(()) };
        if ancestor_id == id {
            return Err(Error::new(ErrorCode::ParentCycle));
        }
        if depth == MAX_DEPTH {
            break;
        }
        let ancestor = tx.workspace(ancestor_id)?;
        let ancestor = match ancestor {
            Some(row) if row.org_id == org_id && (depth > 0 || row.status != Status::Removed) => row,
            _ => return Err(Error::new(ErrorCode::ParentNotFound)),
        };
        next = ancestor.parent_id;
    }
    let detail = format!("parent_id: the tree would be deeper than {MAX_DEPTH}");
    Err(Error::with_detail(ErrorCode::InvalidRequest, detail))
}

/// The row and all below it, parents first.
fn subtree(tx: &mut dyn WriteTx, root: Workspace) -> Result<Vec<Workspace>, Error> {
    let mut rows = Vec::new();
    let mut queue = VecDeque::from([root]);
    while let Some(row) = queue.pop_front() {
        let mut query = WorkspaceQuery { parent_id: Some(row.id), ..WorkspaceQuery::all(500) };
        loop {
            let page = tx.workspaces(&query)?;
            queue.extend(page.rows);
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

fn event_of(
    row: &Workspace,
    kind: EventKind,
    by: &Principal,
    at: Timestamp,
    data: serde_json::Value,
) -> NewEvent {
    NewEvent { at, kind, org_id: row.org_id, workspace_id: Some(row.id), principal: by.clone(), data }
}
