//! Making many workspaces at once: a tree from a template, a team below a workspace, a bundle (F9, F50, F51).
//!
//! ```text
//!   planned workspaces, parents first ─▶ is a variable missing? 412, nothing made
//!                         ─▶ draft each ─▶ one transaction: those that can be made, under their parents
//!                         ─▶ a report with one entry per workspace
//! ```
//!
//! What is wrong with the request as a whole (a parent that is not there, a tree too deep) fails it whole. What is wrong
//! with one workspace is its own entry, and those below it are told that their parent is missing; the rest is made.

use std::collections::BTreeSet;

use warren_model::{
    Blueprint, Desired, ErrorCode, OrgId, SecretName, SecretOwner, Status, Timestamp, Workspace, WorkspaceId,
    WorkspaceName, WorkspaceSpec, env_problem,
};
use warren_rules::lifecycle::signal_towards;
use warren_rules::lifecycle::templates::{self, Library, Node};
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{ReadTx, SecretQuery, WriteTx};

use super::load;
use crate::lifecycle::{SignalOptions, Signals, TxInputs, apply_signal};
use crate::orgs::{Grant, WorkspaceRoom};
use crate::secrets::SecretValues;
use crate::workspaces::ancestry::check_parent;
use crate::workspaces::{
    CreateWorkspace, WorkspaceOptions, Workspaces, check_stored_agent, insert_drafted, require_free_name,
};

const SECRETS_PAGE: u32 = 500;

/// Workspaces that somebody wants made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Import {
    /// Side by side.
    pub roots: Vec<Blueprint>,
    pub parent_id: Option<WorkspaceId>,
    /// Names of variables that the runtimes get elsewhere.
    pub provided_env: Vec<String>,
}

/// What became of an import, in the order of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportReport {
    pub nodes: Vec<ImportedNode>,
}

impl ImportReport {
    pub fn is_complete(&self) -> bool {
        self.nodes.iter().all(|node| node.outcome.is_ok())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedNode {
    /// Names from the root down.
    pub path: String,
    pub name: WorkspaceName,
    pub outcome: Result<Workspace, Error>,
}

/// One workspace of an import.
#[derive(Debug, Clone)]
pub(crate) struct PlannedWorkspace {
    pub(crate) path: String,
    /// The index of its parent among those planned; always before its own.
    pub(crate) parent: Option<usize>,
    pub(crate) request: CreateWorkspace,
    /// All of its spec, where a bundle gives it; the request is then only what must be checked.
    pub(crate) spec: Option<WorkspaceSpec>,
}

/// Where workspaces are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImportPlace {
    pub(crate) org_id: OrgId,
    pub(crate) parent_id: Option<WorkspaceId>,
}

/// Makes many workspaces at once. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Imports {
    context: Context,
    signals: Signals,
    workspaces: Workspaces,
    values: SecretValues,
}

impl Imports {
    pub(crate) fn new(
        context: Context,
        signals: Signals,
        workspaces: Workspaces,
        values: SecretValues,
    ) -> Self {
        Self { context, signals, workspaces, values }
    }

    /// Makes a tree of workspaces.
    #[tracing::instrument(name = "fleet.imports.tree", skip_all)]
    pub async fn tree(&self, who: &Identity, import: Import) -> Result<ImportReport, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let place = ImportPlace { org_id: who.token.org_id, parent_id: import.parent_id };
        let planned = self.plan(place.org_id, import.roots, None).await?;
        self.make_all(who, place, planned, &import.provided_env).await
    }

    /// Makes a team below a workspace (F9).
    #[tracing::instrument(name = "fleet.imports.expand", skip_all, fields(workspace.id = %id))]
    pub async fn expand(
        &self,
        who: &Identity,
        id: WorkspaceId,
        import: Import,
    ) -> Result<ImportReport, Error> {
        let row = self.workspaces.get(who, Action::WriteWorkspaces, id).await?;
        if row.status == Status::Removed {
            return Err(Error::new(ErrorCode::WorkspaceNotFound));
        }
        let place = ImportPlace { org_id: row.org_id, parent_id: Some(id) };
        let planned = self.plan(place.org_id, import.roots, None).await?;
        self.make_all(who, place, planned, &import.provided_env).await
    }

    /// Makes one workspace from a template; what the blueprint says beside its template wins, its timeout too.
    #[tracing::instrument(name = "fleet.imports.create_from_template", skip_all)]
    pub async fn create_from_template(&self, who: &Identity, import: Import) -> Result<Workspace, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let place = ImportPlace { org_id: who.token.org_id, parent_id: import.parent_id };
        let timeout = import.roots.first().and_then(|root| root.provision_timeout_seconds);
        let planned = self.plan(place.org_id, import.roots, timeout).await?;
        if planned.len() != 1 {
            let detail = "template: it is a tree of workspaces; make it with POST /api/v1/orgs/import";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let report = self.make_all(who, place, planned, &import.provided_env).await?;
        let made = report.nodes.into_iter().next().map(|node| node.outcome);
        made.unwrap_or_else(|| Err(Error::new(ErrorCode::Internal)))
    }

    /// What blueprints lead to. `timeout` stands for whatever the templates say.
    async fn plan(
        &self,
        org_id: OrgId,
        roots: Vec<Blueprint>,
        timeout: Option<u32>,
    ) -> Result<Vec<PlannedWorkspace>, Error> {
        self.context
            .store()
            .read(move |tx| {
                let library: Library = load(tx, org_id, &roots)?;
                let nodes = templates::plan_all(&roots, &library)?;
                nodes.into_iter().map(|node| planned_from(tx, org_id, node, timeout)).collect()
            })
            .await
    }

    pub(crate) async fn make_all(
        &self,
        who: &Identity,
        place: ImportPlace,
        planned: Vec<PlannedWorkspace>,
        provided_env: &[String],
    ) -> Result<ImportReport, Error> {
        self.check_env(place, &planned, provided_env).await?;
        let grant = self.workspaces.grant_of(who).await?;
        let drafts: Vec<Draft> = planned.iter().map(|one| self.draft(grant, place, one)).collect();
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let max = u64::from(self.context.limits().max_workspaces_per_org);
        let max_schedules = u64::from(self.context.limits().max_schedules_per_org);
        let inserting = InsertInputs { place, max, max_schedules, inputs, actor };
        let outcomes = self.context.store().write(move |tx| insert_all(tx, &inserting, &drafts)).await?;
        for row in outcomes.iter().flatten() {
            self.workspaces.take_up_drafted(row);
        }
        let node = |(one, outcome): (PlannedWorkspace, _)| ImportedNode {
            path: one.path,
            name: one.request.name,
            outcome,
        };
        Ok(ImportReport { nodes: planned.into_iter().zip(outcomes).map(node).collect() })
    }

    /// Before anything is made, all that is missing over the whole tree is told at once.
    async fn check_env(
        &self,
        place: ImportPlace,
        planned: &[PlannedWorkspace],
        provided_env: &[String],
    ) -> Result<(), Error> {
        if let Some(problem) = env_problem("provided_env", provided_env) {
            return Err(Error::with_detail(ErrorCode::InvalidRequest, problem));
        }
        let mut known: BTreeSet<String> = provided_env.iter().cloned().collect();
        let secrets = self.context.store().read(move |tx| known_names(tx, place.org_id)).await?;
        let (kept, given): (BTreeSet<_>, BTreeSet<_>) =
            secrets.into_iter().partition(|name| self.values.is_kept_from_boxes(name));
        known.extend(given.into_iter().map(|name| name.to_string()));
        let required = planned.iter().map(|one| (one.path.as_str(), &one.request.agent.required_env[..]));
        let missing = templates::missing(required, &known);
        if missing.is_empty() {
            return Ok(());
        }
        // A secret is set, and no command would see it: that is told, since it looks as if it were there.
        let is_kept = |name: &str| kept.iter().any(|one| one.as_str() == name);
        let hidden: BTreeSet<_> =
            missing.iter().map(|one| one.name.as_str()).filter(|name| is_kept(name)).collect();
        let mut error = Error::of_missing(missing.clone());
        if !hidden.is_empty() {
            let names = hidden.into_iter().collect::<Vec<_>>().join(", ");
            let told = error.detail.unwrap_or_default();
            error.detail = Some(format!(
                "{told}. {names}: the secret is set, and kept from boxes, since Warren asks the models with it; take the \
                 name out of `required_env`, or give commands a key of their own under another name"
            ));
        }
        Err(error)
    }

    fn draft(&self, grant: Grant, place: ImportPlace, planned: &PlannedWorkspace) -> Draft {
        let drafted = self.workspaces.draft(grant, place.org_id, planned.request.clone());
        let desired = planned.spec.as_ref().map_or(Desired::Running, |spec| spec.desired);
        let row = drafted.map(|row| match &planned.spec {
            Some(spec) => {
                Workspace { spec: WorkspaceSpec { desired: Desired::Running, ..spec.clone() }, ..row }
            }
            None => row,
        });
        Draft { parent: planned.parent, desired, row }
    }
}

/// The secrets of this org. Its workspaces are given those that Warren does not keep for itself.
fn known_names(tx: &mut dyn ReadTx, org_id: OrgId) -> Result<BTreeSet<SecretName>, Error> {
    let mut query = SecretQuery { owner: SecretOwner::Org(org_id), after: None, limit: SECRETS_PAGE };
    let mut names = BTreeSet::new();
    loop {
        let page = tx.secrets(&query)?;
        names.extend(page.rows.iter().map(|secret| secret.name.clone()));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(names),
        }
    }
}

fn planned_from(
    tx: &mut dyn ReadTx,
    org_id: OrgId,
    node: Node,
    timeout: Option<u32>,
) -> Result<PlannedWorkspace, Error> {
    // What a template says of a runtime's time holds for all workspaces of that runtime that are made from one (F5).
    let longest = match node.stamp {
        Some(_) => tx.longest_provision_timeout(org_id, node.runtime)?,
        None => None,
    };
    let agent = node.agent();
    let Node { path, parent, name, stamp, runtime, blueprint } = node;
    let Some(provider) = blueprint.provider else {
        return Err(templates::Problem::NoProvider { path }.into());
    };
    let request = CreateWorkspace {
        name,
        provider,
        capabilities: blueprint.capabilities,
        parent_id: None,
        runtime,
        tier: blueprint.tier,
        options: WorkspaceOptions {
            role: blueprint.role,
            provision_timeout_seconds: timeout.or(blueprint.provision_timeout_seconds.max(longest)),
            hibernate_after_seconds: blueprint.hibernate_after_seconds,
            max_concurrent_tasks: blueprint.max_concurrent_tasks,
            doors: blueprint.doors.unwrap_or_default(),
        },
        agent,
        template: stamp,
    };
    Ok(PlannedWorkspace { path, parent, request, spec: None })
}

#[derive(Debug, Clone)]
struct Draft {
    parent: Option<usize>,
    desired: Desired,
    row: Result<Workspace, Error>,
}

/// Where, by whom and within which limits workspaces are made.
#[derive(Debug)]
struct InsertInputs {
    place: ImportPlace,
    /// Workspaces that the org may have.
    max: u64,
    /// Schedules that the org may have.
    max_schedules: u64,
    inputs: TxInputs,
    actor: Actor,
}

/// Writes what can be made. A failure of the database, or of the request as a whole, leaves nothing.
fn insert_all(
    tx: &mut dyn WriteTx,
    inserting: &InsertInputs,
    drafts: &[Draft],
) -> Result<Vec<Result<Workspace, Error>>, Error> {
    let InsertInputs { place, max, .. } = *inserting;
    // Also where no workspace comes to be made: a wrong place is what is wrong with the request.
    if let (Some(parent_id), Some(Ok(row))) = (place.parent_id, drafts.first().map(|draft| &draft.row)) {
        check_parent(tx, row.id, place.org_id, parent_id)?;
    }
    let room = WorkspaceRoom::of(tx, place.org_id, max)?;
    let mut count = tx.count_workspaces(place.org_id)?;
    let mut outcomes: Vec<Result<Workspace, Error>> = Vec::with_capacity(drafts.len());
    let mut depths: Vec<usize> = Vec::with_capacity(drafts.len());
    for (at, draft) in drafts.iter().enumerate() {
        depths.push(draft.parent.map_or(0, |parent| depths[parent] + 1));
        let parent_id = match draft.parent.map(|parent| &outcomes[parent]) {
            None => Ok(place.parent_id),
            Some(Ok(parent)) => Ok(Some(parent.id)),
            Some(Err(_)) => Err(Error::new(ErrorCode::ParentNotCreated)),
        };
        let row = match (draft.row.clone(), parent_id) {
            (Ok(_), Ok(_)) if count >= room.max => Err(room.refusal()),
            (Ok(row), Ok(_)) if let Err(error) = check_stored_agent(tx, &row) => Err(error),
            (Ok(row), Ok(_)) if let Err(error) = require_free_name(tx, &row) => Err(error),
            (Ok(row), Ok(parent_id)) => {
                let row = Workspace { parent_id, created_at: in_order(row.created_at, at), ..row };
                count += 1;
                Ok(insert_at(tx, row, draft.desired, inserting)?)
            }
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
        };
        outcomes.push(row);
    }
    check_place(tx, place, &outcomes, &depths)?;
    Ok(outcomes)
}

/// Siblings keep the order of their document: their times of creation differ by a microsecond.
fn in_order(now: Timestamp, at: usize) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_add(i64::try_from(at).unwrap_or(i64::MAX)))
}

/// A new workspace at what is wanted of it; one that is to rest never runs.
fn insert_at(
    tx: &mut dyn WriteTx,
    mut row: Workspace,
    desired: Desired,
    inserting: &InsertInputs,
) -> Result<Workspace, Error> {
    let inputs = &inserting.inputs;
    insert_drafted(tx, &row, &inputs.by, &inserting.actor, inserting.max_schedules)?;
    row.spec.desired = desired;
    if let Some(signal) = signal_towards(row.status, desired) {
        apply_signal(tx, &mut row, signal, inputs, &SignalOptions::default())?;
        row.version = tx.update_workspace(&row, row.version)?;
    }
    Ok(row)
}

/// The place is there, and the way from the deepest of them to the root is not too long; then so are all others.
fn check_place(
    tx: &mut dyn WriteTx,
    place: ImportPlace,
    outcomes: &[Result<Workspace, Error>],
    depths: &[usize],
) -> Result<(), Error> {
    let made = || outcomes.iter().zip(depths).filter_map(|(made, depth)| Some((made.as_ref().ok()?, depth)));
    let shallowest = made().min_by_key(|(_, depth)| **depth);
    let deepest = made().max_by_key(|(_, depth)| **depth);
    for (row, _) in shallowest.into_iter().chain(deepest) {
        if let Some(parent_id) = row.parent_id {
            check_parent(tx, row.id, place.org_id, parent_id)?;
        }
    }
    Ok(())
}
