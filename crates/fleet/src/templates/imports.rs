//! Making many workspaces at once: a tree from a template, a team below a workspace, a bundle (F9, F50, F51).
//!
//! ```text
//!   planned workspaces, parents first ─▶ is a variable missing? 412, nothing made
//!                         ─▶ draft each ─▶ one transaction: those that can be made, under their parents
//!                         ─▶ a report with one entry per workspace
//! ```
//!
//! What is wrong with the request as a whole (a parent that is not there, a tree too deep) fails it whole. What is wrong
//! with one workspace is its own entry, and those below it are told that their parent is missing; the rest is made. Of a
//! bundle, nothing is made then: half of one would have rules about workspaces that are not there.

use std::collections::{BTreeMap, BTreeSet};

use warren_model::{
    Blueprint, BundlePeer, BundlePeers, Desired, ErrorCode, Memory, OrgId, PeerPolicy, SecretName,
    SecretOwner, Status, Timestamp, Workspace, WorkspaceId, WorkspaceName, WorkspaceSpec, env_problem,
};
use warren_rules::lifecycle::bundles::{peers_from_bundle, peers_of_old_bundle};
use warren_rules::lifecycle::signal_towards;
use warren_rules::lifecycle::templates::{self, Library, Node};
use warren_service::{Action, Actor, Context, Error, Identity, Redactors};
use warren_store::{ReadTx, SecretQuery, WriteTx};

use super::bundled::{FromBundle, MemoryDrafting};
use super::load;
use crate::lifecycle::{SignalOptions, Signals, TxInputs, apply_signal};
use crate::orgs::{Grant, WorkspaceRoom};
use crate::secrets::SecretValues;
use crate::workspaces::ancestry::check_parent;
use crate::workspaces::initial_schedules::{self, InitialSchedule};
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
    /// What did not come along as it was, as sentences for people.
    pub warnings: Vec<String>,
}

/// One workspace of an import.
#[derive(Debug, Clone)]
pub(crate) struct PlannedWorkspace {
    pub(crate) path: String,
    /// The index of its parent among those planned; always before its own.
    pub(crate) parent: Option<usize>,
    pub(crate) request: CreateWorkspace,
    /// What a bundle says of it; the request is then only what must be checked.
    pub(crate) from_bundle: Option<FromBundle>,
}

/// Where workspaces are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImportPlace {
    pub(crate) org_id: OrgId,
    pub(crate) parent_id: Option<WorkspaceId>,
    /// All of them or none.
    pub(crate) is_whole: bool,
}

/// Makes many workspaces at once. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Imports {
    context: Context,
    signals: Signals,
    workspaces: Workspaces,
    values: SecretValues,
    redactors: Redactors,
}

impl Imports {
    pub(crate) fn new(
        context: Context,
        signals: Signals,
        workspaces: Workspaces,
        values: SecretValues,
        redactors: Redactors,
    ) -> Self {
        Self { context, signals, workspaces, values, redactors }
    }

    /// Makes a tree of workspaces.
    #[tracing::instrument(name = "fleet.imports.tree", skip_all)]
    pub async fn tree(&self, who: &Identity, import: Import) -> Result<ImportReport, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let place = ImportPlace { org_id: who.token.org_id, parent_id: import.parent_id, is_whole: false };
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
        let place = ImportPlace { org_id: row.org_id, parent_id: Some(id), is_whole: false };
        let planned = self.plan(place.org_id, import.roots, None).await?;
        self.make_all(who, place, planned, &import.provided_env).await
    }

    /// Makes one workspace from a template; what the blueprint says beside its template wins, its timeout too.
    #[tracing::instrument(name = "fleet.imports.create_from_template", skip_all)]
    pub async fn create_from_template(&self, who: &Identity, import: Import) -> Result<Workspace, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let place = ImportPlace { org_id: who.token.org_id, parent_id: import.parent_id, is_whole: false };
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
        let mut drafts = Vec::with_capacity(planned.len());
        for one in &planned {
            drafts.push(self.draft(who, grant, place, one).await);
        }
        let (inputs, actor) = (self.signals.inputs(&who.principal), Actor::of(who));
        let max = u64::from(self.context.limits().max_workspaces_per_org);
        let max_schedules = u64::from(self.context.limits().max_schedules_per_org);
        let inserting = InsertInputs { place, max, max_schedules, inputs, actor };
        let written = self
            .context
            .store()
            .write(move |tx| {
                let inserted = insert_all(tx, &inserting, &drafts)?;
                let is_complete = inserted.iter().all(|one| one.outcome.is_ok());
                if is_complete || !place.is_whole {
                    Ok(inserted)
                } else {
                    Err(NotWritten::Incomplete(inserted))
                }
            })
            .await;
        let inserted = match written {
            Ok(inserted) => inserted,
            Err(NotWritten::Incomplete(inserted)) => inserted.into_iter().map(Inserted::undone).collect(),
            Err(NotWritten::Failed(error)) => return Err(error),
        };
        for row in inserted.iter().filter_map(|one| one.outcome.as_ref().ok()) {
            self.workspaces.take_up_drafted(row);
        }
        let node = |(one, inserted): (PlannedWorkspace, Inserted)| ImportedNode {
            path: one.path,
            name: one.request.name,
            outcome: inserted.outcome,
            warnings: inserted.warnings,
        };
        Ok(ImportReport { nodes: planned.into_iter().zip(inserted).map(node).collect() })
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

    async fn draft(
        &self,
        who: &Identity,
        grant: Grant,
        place: ImportPlace,
        planned: &PlannedWorkspace,
    ) -> Draft {
        let drafted = self.workspaces.draft(grant, place.org_id, planned.request.clone());
        let content = match (drafted, &planned.from_bundle) {
            (Ok(row), Some(bundled)) => self.draft_bundled(who, row, bundled).await,
            (Ok(row), None) => Ok(DraftContent::of_new(row)),
            (Err(error), _) => Err(error),
        };
        Draft { parent: planned.parent, content }
    }

    /// A workspace as a bundle has it, with all that comes with it.
    async fn draft_bundled(
        &self,
        who: &Identity,
        row: Workspace,
        bundled: &FromBundle,
    ) -> Result<DraftContent, Error> {
        let (now, limits) = (self.context.now(), self.context.limits());
        let desired = bundled.spec.desired;
        let spec = WorkspaceSpec { desired: Desired::Running, peers: None, ..bundled.spec.clone() };
        let row = Workspace { spec, ..row };
        let schedules = match &bundled.schedules {
            Some(schedules) => InitialSchedule::of_bundle(schedules),
            None => InitialSchedule::of_specs(&row.spec.agent.schedules),
        };
        initial_schedules::check(&schedules, now, limits)?;
        let mut content = DraftContent { desired, schedules, ..DraftContent::of_new(row) };
        content.peers =
            bundled.peers.clone().or_else(|| bundled.spec.peers.as_ref().map(peers_of_old_bundle));
        if !bundled.memory.is_empty() {
            let known = self.redactors.of_workspace(&content.row).await?;
            let drafting = MemoryDrafting {
                row: &content.row,
                author: &who.principal,
                now,
                limits,
                entropy: &**self.context.entropy(),
                known: &known,
            };
            (content.memories, content.warnings) = drafting.all(&bundled.memory)?;
        }
        Ok(content)
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
    Ok(PlannedWorkspace { path, parent, request, from_bundle: None })
}

#[derive(Debug, Clone)]
struct Draft {
    parent: Option<usize>,
    content: Result<DraftContent, Error>,
}

/// What is written for one workspace.
#[derive(Debug, Clone)]
struct DraftContent {
    row: Workspace,
    desired: Desired,
    schedules: Vec<InitialSchedule>,
    memories: Vec<Memory>,
    /// Whom it talks to, where a bundle says; who that is here is found when it is written.
    peers: Option<BundlePeers>,
    warnings: Vec<String>,
}

impl DraftContent {
    fn of_new(row: Workspace) -> Self {
        let schedules = InitialSchedule::of_specs(&row.spec.agent.schedules);
        let (memories, warnings) = (Vec::new(), Vec::new());
        Self { row, desired: Desired::Running, schedules, memories, peers: None, warnings }
    }
}

/// What became of one workspace.
#[derive(Debug)]
struct Inserted {
    outcome: Result<Workspace, Error>,
    warnings: Vec<String>,
}

impl Inserted {
    fn refused(error: Error) -> Self {
        Self { outcome: Err(error), warnings: Vec::new() }
    }

    /// It was written, and is not there: others could not be, and it is all or none.
    fn undone(self) -> Self {
        match self.outcome {
            Ok(_) => Self::refused(Error::new(ErrorCode::BundleNotMade)),
            Err(_) => self,
        }
    }
}

/// Why nothing was written.
#[derive(Debug)]
enum NotWritten {
    Failed(Error),
    /// Not all could be, and it is all or none.
    Incomplete(Vec<Inserted>),
}

impl From<Error> for NotWritten {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<warren_store::Error> for NotWritten {
    fn from(error: warren_store::Error) -> Self {
        Self::Failed(error.into())
    }
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
) -> Result<Vec<Inserted>, Error> {
    let InsertInputs { place, max, .. } = *inserting;
    // Also where no workspace comes to be made: a wrong place is what is wrong with the request.
    if let (Some(parent_id), Some(Ok(first))) = (place.parent_id, drafts.first().map(|draft| &draft.content))
    {
        check_parent(tx, first.row.id, place.org_id, parent_id)?;
    }
    let room = WorkspaceRoom::of(tx, place.org_id, max)?;
    let mut count = tx.count_workspaces(place.org_id)?;
    let drafted = || drafts.iter().filter_map(|draft| draft.content.as_ref().ok());
    let names: BTreeMap<String, WorkspaceId> =
        drafted().map(|content| (content.row.name.to_string(), content.row.id)).collect();
    let mut inserted: Vec<Inserted> = Vec::with_capacity(drafts.len());
    let mut depths: Vec<usize> = Vec::with_capacity(drafts.len());
    for (at, draft) in drafts.iter().enumerate() {
        depths.push(draft.parent.map_or(0, |parent| depths[parent] + 1));
        let parent_id = match draft.parent.map(|parent| &inserted[parent].outcome) {
            None => Ok(place.parent_id),
            Some(Ok(parent)) => Ok(Some(parent.id)),
            Some(Err(_)) => Err(Error::new(ErrorCode::ParentNotCreated)),
        };
        let one = match (&draft.content, parent_id) {
            (Ok(_), Ok(_)) if count >= room.max => Inserted::refused(room.refusal()),
            (Ok(content), Ok(_)) if let Err(error) = check_stored_agent(tx, &content.row) => {
                Inserted::refused(error)
            }
            (Ok(content), Ok(_)) if let Err(error) = require_free_name(tx, &content.row) => {
                Inserted::refused(error)
            }
            (Ok(content), Ok(parent_id)) => {
                let created_at = in_order(content.row.created_at, at);
                let row = Workspace { parent_id, created_at, ..content.row.clone() };
                count += 1;
                insert_one(tx, row, content, &names, inserting)?
            }
            (Ok(_), Err(error)) => Inserted::refused(error),
            (Err(error), _) => Inserted::refused(error.clone()),
        };
        inserted.push(one);
    }
    check_place(tx, place, &inserted, &depths)?;
    Ok(inserted)
}

/// A new workspace with what comes with it.
fn insert_one(
    tx: &mut dyn WriteTx,
    mut row: Workspace,
    content: &DraftContent,
    names: &BTreeMap<String, WorkspaceId>,
    inserting: &InsertInputs,
) -> Result<Inserted, Error> {
    let mut warnings = content.warnings.clone();
    if let Some(peers) = &content.peers {
        let here = those_here(tx, peers, row.org_id)?;
        let taken = peers_from_bundle(peers, names, |id| here.contains(&id));
        row.spec.peers = Some(taken.policy).filter(|policy| *policy != PeerPolicy::default());
        warnings.extend(taken.warnings);
    }
    let row = insert_at(tx, row, content, inserting)?;
    for memory in &content.memories {
        tx.insert_memory(memory)?;
    }
    Ok(Inserted { outcome: Ok(row), warnings })
}

/// Those outside of a bundle that its rules name and that are in this org.
fn those_here(
    tx: &mut dyn WriteTx,
    peers: &BundlePeers,
    org_id: OrgId,
) -> Result<BTreeSet<WorkspaceId>, Error> {
    let mut here = BTreeSet::new();
    for peer in peers.allow.iter().chain(&peers.deny) {
        let BundlePeer::Id(id) = *peer else { continue };
        let row = tx.workspace(id)?;
        here.extend(
            row.filter(|row| row.org_id == org_id && row.status != Status::Removed).map(|row| row.id),
        );
    }
    Ok(here)
}

/// Siblings keep the order of their document: their times of creation differ by a microsecond.
fn in_order(now: Timestamp, at: usize) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_add(i64::try_from(at).unwrap_or(i64::MAX)))
}

/// A new workspace at what is wanted of it; one that is to rest never runs.
fn insert_at(
    tx: &mut dyn WriteTx,
    mut row: Workspace,
    content: &DraftContent,
    inserting: &InsertInputs,
) -> Result<Workspace, Error> {
    let inputs = &inserting.inputs;
    let InsertInputs { actor, max_schedules, .. } = inserting;
    insert_drafted(tx, &row, &content.schedules, &inputs.by, actor, *max_schedules)?;
    row.spec.desired = content.desired;
    if let Some(signal) = signal_towards(row.status, content.desired) {
        apply_signal(tx, &mut row, signal, inputs, &SignalOptions::default())?;
        row.version = tx.update_workspace(&row, row.version)?;
    }
    Ok(row)
}

/// The place is there, and the way from the deepest of them to the root is not too long; then so are all others.
fn check_place(
    tx: &mut dyn WriteTx,
    place: ImportPlace,
    inserted: &[Inserted],
    depths: &[usize],
) -> Result<(), Error> {
    let made =
        || inserted.iter().zip(depths).filter_map(|(one, depth)| Some((one.outcome.as_ref().ok()?, depth)));
    let shallowest = made().min_by_key(|(_, depth)| **depth);
    let deepest = made().max_by_key(|(_, depth)| **depth);
    for (row, _) in shallowest.into_iter().chain(deepest) {
        if let Some(parent_id) = row.parent_id {
            check_parent(tx, row.id, place.org_id, parent_id)?;
        }
    }
    Ok(())
}
