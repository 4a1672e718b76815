//! Workspaces: create, read, change, remove. Each change is decided by `rules` inside the transaction that writes it.

pub(crate) mod ancestry;
pub(crate) mod initial_schedules;
mod offered;
mod patch;
mod peer_policy;
mod place_patch;
mod removal;
mod requests;

pub use offered::OfferedProvider;
pub use removal::{Collapse, Removal, RemovalCounts};
pub use requests::{CreateWorkspace, PatchWorkspace, WorkspaceOptions};

use std::collections::{BTreeMap, BTreeSet};

use warren_model::event::WorkspaceCreated;
use warren_model::{
    AuditAction, AuditDetails, ErrorCode, Mending, OrgId, Principal, ProviderConfig, Status, Vitals,
    Workspace, WorkspaceId, WorkspaceSpec,
};
use warren_rules::access::audit::relaxations;
use warren_rules::boxes::{ceilings, command_policy, doors, tier};
use warren_rules::lifecycle::{self, hosted, residents};
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{Page, WorkspaceQuery, WriteTx};
use warren_workspace::Registry;

use crate::Config;
use crate::access::WorkspaceAccess;
use crate::lifecycle::{LOOK_AGAIN_MS, Signals, event_of};
use crate::orgs::{Grant, grant_of, require_room_for_workspace};
use crate::reconciler::Reconciler;
use crate::replicas::Replicas;
use ancestry::check_parent;
use initial_schedules::InitialSchedule;

/// A page of workspaces; `next` is the last id on it.
pub type WorkspacePage = Page<Workspace, WorkspaceId>;
/// What runtimes reported, by workspace.
pub type VitalsById = BTreeMap<WorkspaceId, Vitals>;

/// Workspaces as rows: get, list, create, patch, remove, collapse. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspaces {
    pub(crate) context: Context,
    pub(crate) config: Config,
    pub(crate) access: WorkspaceAccess,
    pub(crate) signals: Signals,
    pub(crate) registry: Registry,
    pub(crate) replicas: Replicas,
    pub(crate) reconciler: Reconciler,
    /// Whoever listens hears of removals.
    pub(crate) removed: tokio::sync::broadcast::Sender<WorkspaceId>,
}

impl Workspaces {
    /// Reads a workspace that the caller may act on; to others it does not exist.
    pub async fn get(&self, who: &Identity, action: Action, id: WorkspaceId) -> Result<Workspace, Error> {
        self.access.get(who, action, id).await
    }

    /// As `get`, for one that can be used now: the registry knows it and somebody wants it running.
    pub async fn usable(&self, who: &Identity, action: Action, id: WorkspaceId) -> Result<Workspace, Error> {
        self.access.usable(who, action, id).await
    }

    #[tracing::instrument(name = "fleet.workspaces.list", skip_all)]
    pub async fn list(&self, who: &Identity, mut query: WorkspaceQuery) -> Result<WorkspacePage, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        query.org_id = who.visible_org();
        query.limit = query.limit.clamp(1, self.context.limits().max_page_size);
        let page = self.context.store().read(move |tx| tx.workspaces(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }

    /// A list with what the runtimes reported. A workspace whose reports cannot be read is named like one that cannot be
    /// read itself: shown without them, it would look as if it had never said a word.
    #[tracing::instrument(name = "fleet.workspaces.list_with_vitals", skip_all)]
    pub async fn list_with_vitals(
        &self,
        who: &Identity,
        query: WorkspaceQuery,
    ) -> Result<(WorkspacePage, VitalsById), Error> {
        let mut page = self.list(who, query).await?;
        let ids: Vec<_> = page.rows.iter().map(|row| row.id).collect();
        let mut found = self.context.store().read(move |tx| tx.vitals_of(&ids).map_err(Error::from)).await?;
        if !found.unreadable.is_empty() {
            let lost: BTreeSet<_> = found.unreadable.iter().map(|vitals| vitals.id.clone()).collect();
            page.rows.retain(|row| !lost.contains(&row.id.to_string()));
            page.unreadable.extend_from_slice(&found.unreadable);
            self.context.tell_unreadable(&std::mem::take(&mut found.unreadable));
        }
        Ok((page, found.rows.into_iter().collect()))
    }

    /// What the runtimes of these workspaces reported; those that never did are not in it.
    pub async fn vitals_of(&self, workspaces: &[Workspace]) -> Result<VitalsById, Error> {
        let ids: Vec<_> = workspaces.iter().map(|row| row.id).collect();
        let found = self.context.store().read(move |tx| tx.vitals_of(&ids).map_err(Error::from)).await?;
        Ok(self.context.readable(found).into_iter().collect())
    }

    /// The budget from the start of provisioning to the first sign of life (F5).
    pub fn provision_timeout_ms(&self, workspace: &Workspace) -> i64 {
        lifecycle::provision_timeout_ms(&workspace.spec, self.config.provision_timeout_ms)
    }

    /// Accepts a workspace. The answer is durable; opening the place goes on in the background.
    #[tracing::instrument(name = "fleet.workspaces.create", skip_all, fields(workspace.id))]
    pub async fn create(&self, who: &Identity, request: CreateWorkspace) -> Result<Workspace, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let grant = self.grant_of(who).await?;
        let workspace = self.draft(grant, who.token.org_id, request)?;
        tracing::Span::current().record("workspace.id", tracing::field::display(workspace.id));
        let (row, by, actor) = (workspace.clone(), who.principal.clone(), Actor::of(who));
        let max = u64::from(self.context.limits().max_workspaces_per_org);
        let max_schedules = u64::from(self.context.limits().max_schedules_per_org);
        self.context
            .store()
            .write(move |tx| {
                require_room_for_workspace(tx, row.org_id, max)?;
                if let Some(parent_id) = row.parent_id {
                    check_parent(tx, row.id, row.org_id, parent_id)?;
                }
                require_free_name(tx, &row)?;
                check_stored_agent(tx, &row)?;
                let schedules = InitialSchedule::of_specs(&row.spec.agent.schedules);
                insert_drafted(tx, &row, &schedules, &by, &actor, max_schedules)
            })
            .await?;
        self.take_up_drafted(&workspace);
        Ok(workspace)
    }

    /// How much this caller may give a workspace.
    pub(crate) async fn grant_of(&self, who: &Identity) -> Result<Grant, Error> {
        grant_of(&self.context, who).await
    }

    /// A workspace as it would be made: whatever can be refused without a look at the others is refused here.
    pub(crate) fn draft(
        &self,
        grant: Grant,
        org_id: OrgId,
        request: CreateWorkspace,
    ) -> Result<Workspace, Error> {
        let offered = self.registry.offered(request.provider.kind())?;
        let capabilities = request.capabilities.unwrap_or(offered);
        self.registry.check(&request.provider, capabilities)?;
        check_run_policy(&request.provider)?;
        request.options.check()?;
        let schedules = InitialSchedule::of_specs(&request.agent.schedules);
        initial_schedules::check(&schedules, self.context.now(), self.context.limits())?;
        let tier = tier::decide(request.tier, &request.provider, grant.highest_tier).map_err(refused_tier)?;
        ceilings::check(&request.provider, tier, &self.config.ceilings, grant.is_unlimited)
            .map_err(|refusal| Error::with_detail(ErrorCode::Forbidden, refusal.sentence()))?;
        let now = self.context.now();
        let mut workspace = Workspace {
            id: self.context.entropy().id(now),
            org_id,
            parent_id: request.parent_id,
            name: request.name,
            spec: WorkspaceSpec {
                runtime: request.runtime,
                tier,
                role: request.options.role,
                provision_timeout_seconds: request.options.provision_timeout_seconds,
                hibernate_after_seconds: request.options.hibernate_after_seconds,
                max_concurrent_tasks: request.options.max_concurrent_tasks,
                agent: request.agent,
                doors: request.options.doors,
                template: request.template,
                ..WorkspaceSpec::new(request.provider, capabilities)
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
        let _ = self.replicas.declare(workspace);
        self.reconciler.run_in_background(workspace.id);
    }
}

fn refused_tier(refusal: tier::TierRefusal) -> Error {
    let code = match refusal {
        tier::TierRefusal::TooLow { .. } => ErrorCode::InvalidRequest,
        tier::TierRefusal::OperatorsOnly { .. } => ErrorCode::Forbidden,
    };
    Error::with_detail(code, refusal.sentence())
}

/// A list that would only pretend is not taken; one that holds nothing back is, and the log tells of it (sec/T02).
fn check_run_policy(provider: &ProviderConfig) -> Result<(), Error> {
    let Some(policy) = provider.run_policy() else { return Ok(()) };
    let is_boxed = command_policy::is_boxed(provider.kind());
    command_policy::check_new(policy, is_boxed)
        .map_err(|problem| Error::with_detail(ErrorCode::InvalidConfig, problem))?;
    if let Some(warning) = command_policy::warning(policy, is_boxed) {
        tracing::warn!(provider = %provider.kind(), warning, "workspace.run.unrestrained: a model may run any program");
    }
    Ok(())
}

/// Writes a workspace that was drafted, with the event and the audit entries that tell of it.
pub(crate) fn insert_drafted(
    tx: &mut dyn WriteTx,
    row: &Workspace,
    schedules: &[InitialSchedule],
    by: &Principal,
    actor: &Actor,
    max_schedules: u64,
) -> Result<(), Error> {
    tx.insert_workspace(row).map_err(|error| taken_meanwhile(error, row))?;
    initial_schedules::insert(tx, row, schedules, by, actor, max_schedules)?;
    let now = row.created_at;
    let data = WorkspaceCreated {
        name: row.name.as_str().to_owned(),
        provider: row.spec.provider.kind(),
        status: row.status,
        tier: row.spec.tier,
        template: row.spec.template.as_ref().map(|stamp| stamp.name.clone()),
    };
    let event = event_of(row, by, now, data);
    tx.append_event(&event)?;
    let (action, details) = (AuditAction::WorkspaceCreated, AuditDetails::Event(event.data.clone()));
    tx.append_audit(&actor.did_to_workspace(now, action, row.id, &details))?;
    let relaxed = relaxations(&row.spec.provider);
    if !relaxed.is_empty() {
        let details = AuditDetails::IsolationRelaxed { knobs: relaxed, tier: row.spec.tier };
        let action = AuditAction::IsolationRelaxed;
        tx.append_audit(&actor.did_to_workspace(now, action, row.id, &details))?;
    }
    Ok(())
}

/// A living workspace is found by its name, so that no other one of its org has it.
pub(crate) fn require_free_name(tx: &mut dyn WriteTx, row: &Workspace) -> Result<(), Error> {
    let query = WorkspaceQuery {
        org_id: Some(row.org_id),
        name: Some(row.name.to_string()),
        ..WorkspaceQuery::all(1)
    };
    match tx.workspaces(&query)?.rows.first() {
        Some(other) if other.id != row.id => {
            let detail = format!("`{}` is the workspace {}, which is {}", row.name, other.id, other.status);
            Err(Error::with_detail(ErrorCode::WorkspaceExists, detail))
        }
        _ => Ok(()),
    }
}

/// The store refuses a second one too: of two requests for one name at the same time, one wins.
pub(crate) fn taken_meanwhile(error: warren_store::Error, row: &Workspace) -> Error {
    match error {
        warren_store::Error::AlreadyExists => {
            Error::with_detail(ErrorCode::WorkspaceExists, format!("`{}` was given away meanwhile", row.name))
        }
        other => other.into(),
    }
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

fn check_agent(spec: &WorkspaceSpec) -> Result<(), Error> {
    if let Some(problem) = spec.agent.problem() {
        return Err(Error::with_detail(ErrorCode::InvalidRequest, problem));
    }
    residents::check(spec)
        .map_err(|breach| Error::with_detail(ErrorCode::InvalidRequest, breach.sentence()))?;
    doors::check(spec).map_err(|breach| Error::with_detail(ErrorCode::InvalidRequest, breach.sentence()))?;
    hosted::check(spec).map_err(|problem| Error::with_detail(ErrorCode::InvalidRequest, problem.to_string()))
}

/// The agent that a workspace names has to be there: a message to it could not be answered otherwise.
pub(crate) fn check_stored_agent(tx: &mut dyn WriteTx, row: &Workspace) -> Result<(), Error> {
    let Some(name) = &row.spec.agent.name else { return Ok(()) };
    match tx.agent(row.org_id, name)? {
        Some(_) => Ok(()),
        None => {
            let detail = format!(
                "agent: there is no `{name}`; store it first, with `PUT /api/v1/agents/{name}` or `warren agent put`"
            );
            Err(Error::with_detail(ErrorCode::AgentNotFound, detail))
        }
    }
}
