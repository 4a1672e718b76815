//! Workspaces: create, read, change, remove. Each change is decided by `rules` inside the transaction that
//! writes it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use warren_model::{
    AgentSpec, AuditAction, AuditTargetKind, CapabilitySet, Desired, ErrorCode, EventKind, Mending, OrgId,
    Principal, ProviderConfig, Runtime, Status, StatusReason, TemplateStamp, Tier, Vitals, Workspace,
    WorkspaceId, WorkspaceName, WorkspaceSpec,
};
use warren_rules::access::audit::relaxations;
use warren_rules::access::{Action, Target};
use warren_rules::lifecycle::{self, Usability};
use warren_rules::{boxes::tier, lifecycle::residents};
use warren_store::{Page, WorkspaceQuery, WriteTx};

use crate::Actor;
use crate::lifecycle::{LOOK_AGAIN_MS, Moment, Wish, event_of, follow_wish};
use crate::tree::{check_move, check_parent};
use crate::{Error, Fleet, Identity, schedules};

const MAX_ROLE_CHARACTERS: usize = 100;
/// The longest time that a spec may name.
const MAX_SECONDS: u32 = 365 * 24 * 3_600;

#[derive(Debug, Clone, PartialEq)]
pub struct CreateWorkspace {
    pub name: WorkspaceName,
    pub provider: ProviderConfig,
    /// Absent: all that the provider offers.
    pub capabilities: Option<CapabilitySet>,
    pub parent_id: Option<WorkspaceId>,
    pub runtime: Runtime,
    /// Absent: the least that the config needs.
    pub tier: Option<Tier>,
    pub traits: Traits,
    pub agent: AgentSpec,
    /// What it is made from.
    pub template: Option<TemplateStamp>,
}

/// What may be said of a workspace beside its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traits {
    pub role: Option<String>,
    pub provision_timeout_seconds: Option<u32>,
    pub hibernate_after_seconds: Option<u32>,
    pub max_concurrent_tasks: Option<u32>,
}

impl Traits {
    fn check(&self) -> Result<(), Error> {
        let invalid = |detail: &str| Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        if let Some(role) = &self.role {
            let length = role.chars().count();
            if !(1..=MAX_ROLE_CHARACTERS).contains(&length) || role.chars().any(char::is_control) {
                return invalid("role: 1 to 100 characters without control characters");
            }
        }
        let is_time = |seconds: Option<u32>| seconds.is_none_or(|time| (1..=MAX_SECONDS).contains(&time));
        if !is_time(self.provision_timeout_seconds) {
            return invalid("provision_timeout_seconds: expected 1 to 31536000");
        }
        if !is_time(self.hibernate_after_seconds) {
            return invalid("hibernate_after_seconds: expected 1 to 31536000");
        }
        if self.max_concurrent_tasks.is_some_and(|count| !(1..=1_000).contains(&count)) {
            return invalid("max_concurrent_tasks: expected 1 to 1000");
        }
        Ok(())
    }
}

/// Absent means unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PatchWorkspace {
    pub name: Option<WorkspaceName>,
    pub parent_id: Option<Option<WorkspaceId>>,
    pub desired: Option<Desired>,
    /// An inner `None` takes the word back.
    pub role: Option<Option<String>>,
    pub provision_timeout_seconds: Option<Option<u32>>,
    pub hibernate_after_seconds: Option<Option<u32>>,
    pub max_concurrent_tasks: Option<Option<u32>>,
    /// The program of a resident agent; empty: none. Counts from the next start of its runner on.
    pub command: Option<Vec<String>>,
}

impl PatchWorkspace {
    fn check(&self) -> Result<(), Error> {
        let traits = Traits {
            role: self.role.clone().flatten(),
            provision_timeout_seconds: self.provision_timeout_seconds.flatten(),
            hibernate_after_seconds: self.hibernate_after_seconds.flatten(),
            max_concurrent_tasks: self.max_concurrent_tasks.flatten(),
        };
        traits.check()
    }
}

impl Fleet {
    /// Reads a workspace that the caller may act on; to others it does not exist.
    pub async fn workspace(
        &self,
        who: &Identity,
        action: Action,
        id: WorkspaceId,
    ) -> Result<Workspace, Error> {
        let row = self.store().glance(move |tx| tx.workspace(id).map_err(Error::from)).await?;
        let row = row.ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        if let Err(refusal) = who.may(action, Target::Workspace { id, org_id: row.org_id }) {
            // Told that it does not exist, which it does: somebody reaches for what is not theirs.
            if refusal.code == ErrorCode::WorkspaceNotFound {
                self.audit_refusal(who, AuditTargetKind::Workspace, &id.to_string());
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
        Self::check_usable(&row)?;
        self.reach(&row).await?;
        Ok(row)
    }

    /// Whether its files and commands can be reached now.
    pub(crate) fn check_usable(row: &Workspace) -> Result<(), Error> {
        match lifecycle::usability(row.status) {
            Usability::Usable => Ok(()),
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
        let page = self.store().read(move |tx| tx.workspaces(&query).map_err(Error::from)).await?;
        Ok(self.context().listed(page))
    }

    /// A list with what the runtimes reported. A workspace whose reports cannot be read is named like one that cannot be
    /// read itself: shown without them, it would look as if it had never said a word.
    pub async fn workspaces_with_vitals(
        &self,
        who: &Identity,
        query: WorkspaceQuery,
    ) -> Result<(Page<Workspace, WorkspaceId>, BTreeMap<WorkspaceId, Vitals>), Error> {
        let mut page = self.workspaces(who, query).await?;
        let ids: Vec<_> = page.rows.iter().map(|row| row.id).collect();
        let mut found = self.store().read(move |tx| tx.vitals_of(&ids).map_err(Error::from)).await?;
        if !found.unreadable.is_empty() {
            let lost: BTreeSet<_> = found.unreadable.iter().map(|vitals| vitals.id.clone()).collect();
            page.rows.retain(|row| !lost.contains(&row.id.to_string()));
            page.unreadable.extend_from_slice(&found.unreadable);
            self.context().tell_unreadable(&std::mem::take(&mut found.unreadable));
        }
        Ok((page, found.rows.into_iter().collect()))
    }

    /// What the runtimes of these workspaces reported; those that never did are not in it.
    pub async fn vitals_of(&self, workspaces: &[Workspace]) -> Result<BTreeMap<WorkspaceId, Vitals>, Error> {
        let ids: Vec<_> = workspaces.iter().map(|row| row.id).collect();
        let found = self.store().read(move |tx| tx.vitals_of(&ids).map_err(Error::from)).await?;
        Ok(self.context().readable(found).into_iter().collect())
    }

    /// The budget from the start of provisioning to the first sign of life (F5).
    pub fn provision_timeout_ms(&self, workspace: &Workspace) -> i64 {
        lifecycle::provision_timeout_ms(&workspace.spec, self.0.parts.terms.provision_timeout_ms)
    }

    /// Accepts a workspace. The answer is durable; opening the place goes on in the background.
    pub async fn create_workspace(&self, who: &Identity, wish: CreateWorkspace) -> Result<Workspace, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let workspace = self.draft_workspace(who, who.token.org_id, wish)?;
        let (row, by, actor) = (workspace.clone(), who.principal.clone(), Actor::of(who));
        let max = u64::from(self.limits().max_workspaces_per_org);
        let max_schedules = u64::from(self.limits().max_schedules_per_org);
        self.store()
            .write(move |tx| {
                if tx.count_workspaces(row.org_id)? >= max {
                    return Err(Error::new(ErrorCode::WorkspaceLimit));
                }
                if let Some(parent_id) = row.parent_id {
                    check_parent(tx, row.id, row.org_id, parent_id)?;
                }
                insert_drafted(tx, &row, &by, &actor, max_schedules)
            })
            .await?;
        self.take_up_drafted(&workspace);
        Ok(workspace)
    }

    /// A workspace as it would be made: whatever can be refused without a look at the others is refused here.
    pub(crate) fn draft_workspace(
        &self,
        who: &Identity,
        org_id: OrgId,
        wish: CreateWorkspace,
    ) -> Result<Workspace, Error> {
        let offered = self.registry().offered(wish.provider.kind())?;
        let capabilities = wish.capabilities.unwrap_or(offered);
        self.registry().check(&wish.provider, capabilities)?;
        wish.traits.check()?;
        schedules::check(&wish.agent.schedules, self.clock().now(), self.limits())?;
        let tier = tier::decide(wish.tier, &wish.provider, who.is_operator()).map_err(|refusal| {
            let code = match refusal {
                tier::Refusal::TooLow { .. } => ErrorCode::InvalidRequest,
                tier::Refusal::OperatorsOnly { .. } => ErrorCode::Forbidden,
            };
            Error::with_detail(code, refusal.sentence())
        })?;
        let now = self.clock().now();
        let mut workspace = Workspace {
            id: self.entropy().id(now),
            org_id,
            parent_id: wish.parent_id,
            name: wish.name,
            spec: WorkspaceSpec {
                runtime: wish.runtime,
                tier,
                role: wish.traits.role,
                provision_timeout_seconds: wish.traits.provision_timeout_seconds,
                hibernate_after_seconds: wish.traits.hibernate_after_seconds,
                max_concurrent_tasks: wish.traits.max_concurrent_tasks,
                agent: wish.agent,
                template: wish.template,
                ..WorkspaceSpec::new(wish.provider, capabilities)
            },
            generation: 1,
            observed_generation: 0,
            secrets_since: None,
            version: 1,
            status: Status::Provisioning,
            reason: None,
            reference: None,
            created_at: now,
            updated_at: now,
            provisioning_started_at: Some(now),
            provision_deadline: None,
            mending: Mending { attempts: 0, next_at: Some(now.plus_ms(LOOK_AGAIN_MS)) },
            removed_at: None,
            is_purged: false,
        };
        check_agent(&workspace.spec)?;
        workspace.provision_deadline = Some(now.plus_ms(self.provision_timeout_ms(&workspace)));
        Ok(workspace)
    }

    /// Usable from the moment it is acknowledged: whoever comes first opens it. What cannot be declared fails in the
    /// background, with its reason.
    pub(crate) fn take_up_drafted(&self, workspace: &Workspace) {
        let _ = self.declare(workspace);
        self.reconcile_in_background(workspace.id);
    }

    /// Changes what the patch names. With `expected_version`, only if that is still the current one.
    pub async fn patch_workspace(
        &self,
        who: &Identity,
        id: WorkspaceId,
        patch: PatchWorkspace,
        expected_version: Option<u64>,
    ) -> Result<Workspace, Error> {
        patch.check()?;
        self.workspace(who, Action::WriteWorkspaces, id).await?;
        let (moment, actor) = (self.moment(&who.principal), Actor::of(who));
        let changed = self
            .write_with_retries(expected_version.is_none(), move |tx| {
                let row = live_row(tx, id)?;
                check_version(&row, expected_version)?;
                apply_patch(tx, row, &patch, &moment, &actor)
            })
            .await?;
        self.reconcile_all(changed)
    }
}

/// Writes a workspace that was drafted, with the event and the audit entries that tell of it.
pub(crate) fn insert_drafted(
    tx: &mut dyn WriteTx,
    row: &Workspace,
    by: &Principal,
    actor: &Actor,
    max_schedules: u64,
) -> Result<(), Error> {
    tx.insert_workspace(row)?;
    schedules::insert(tx, row, by, max_schedules)?;
    let data = json!({
        "name": row.name.as_str(),
        "provider": row.spec.provider.kind().as_str(),
        "status": row.status.as_str(),
        "tier": row.spec.tier.as_str(),
        "template": row.spec.template.as_ref().map(|stamp| stamp.name.as_str()),
    });
    let now = row.created_at;
    tx.append_event(&event_of(row, EventKind::WorkspaceCreated, by, now, data.clone()))?;
    tx.append_audit(&actor.did_to_workspace(now, AuditAction::WorkspaceCreated, row.id, data))?;
    let relaxed = relaxations(&row.spec.provider);
    if !relaxed.is_empty() {
        let details = json!({ "knobs": relaxed, "tier": row.spec.tier.as_str() });
        let action = AuditAction::IsolationRelaxed;
        tx.append_audit(&actor.did_to_workspace(now, action, row.id, details))?;
    }
    Ok(())
}

pub(crate) fn check_version(row: &Workspace, expected: Option<u64>) -> Result<(), Error> {
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

/// Writes the patch and answers with the rows that changed, the patched one first.
fn apply_patch(
    tx: &mut dyn WriteTx,
    mut row: Workspace,
    patch: &PatchWorkspace,
    moment: &Moment,
    actor: &Actor,
) -> Result<Vec<Workspace>, Error> {
    let mut fields = apply_fields(tx, &mut row, patch)?;
    let wished = patch.desired.filter(|desired| *desired != row.spec.desired);
    if wished == Some(Desired::Removed) {
        let detail = "desired: a workspace is removed with DELETE";
        return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
    }
    if wished.is_some() {
        fields.push("desired");
    }
    if fields.is_empty() {
        return Ok(vec![row]);
    }
    row.updated_at = moment.now;
    let generation = row.generation + u64::from(wished.is_some());
    let data = json!({ "fields": fields, "generation": generation });
    tx.append_audit(&actor.did_to_workspace(
        moment.now,
        AuditAction::WorkspaceChanged,
        row.id,
        data.clone(),
    ))?;
    tx.append_event(&event_of(&row, EventKind::WorkspaceSpecChanged, &moment.by, moment.now, data))?;
    row.version = tx.update_workspace(&row, row.version)?;
    match wished {
        Some(desired) => follow_wish(tx, row, Wish::plain(desired), moment),
        None => Ok(vec![row]),
    }
}

fn check_agent(spec: &WorkspaceSpec) -> Result<(), Error> {
    if let Some(problem) = spec.agent.problem() {
        return Err(Error::with_detail(ErrorCode::InvalidRequest, problem));
    }
    residents::check(spec).map_err(|breach| Error::with_detail(ErrorCode::InvalidRequest, breach.sentence()))
}

/// Puts what describes a workspace into its row; nothing of it needs to be brought about. Answers with the names of the
/// fields that really changed.
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
    if patch.command.is_some() {
        check_agent(spec)?;
    }
    Ok(fields)
}

fn put<T: Clone + PartialEq>(
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
