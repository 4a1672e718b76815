//! Bundles (F51): what was wanted of a workspace, or of a tree of them, what they remember and when they are spoken to, out
//! of one Warren and into another. Their files are the business of `operations`.

use std::collections::BTreeMap;

use warren_model::{
    Bundle, BundleMemory, BundleNode, BundleOrigin, ErrorCode, Memory, MemoryPlace, Schedule, Status,
    Timestamp, Workspace, WorkspaceId, WorkspaceName, WorkspaceSpec,
};
use warren_rules::lifecycle::bundles::{peers_for_bundle, schedule_for_bundle};
use warren_rules::lifecycle::templates::{MAX_DEPTH, MAX_NODES, Problem};
use warren_rules::messages::memory::scrub;
use warren_service::{Action, Context, Error, Identity, Redactors};
use warren_store::{MemoryQuery, ReadTx, ScheduleQuery};

use super::bundled::FromBundle;
use super::imports::{ImportPlace, ImportReport, Imports, PlannedWorkspace};
use crate::access::WorkspaceAccess;
use crate::workspaces::ancestry::subtree;
use crate::workspaces::{CreateWorkspace, WorkspaceOptions};

const PAGE: u32 = 500;

/// A bundle that was made, without files.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedBundle {
    pub bundle: Bundle,
    /// Its workspaces: each before those below it, siblings in the order in which they are in it.
    pub workspaces: Vec<WorkspaceId>,
    /// How long it is as JSON.
    pub bytes: u64,
}

/// Takes workspaces out of one Warren and into another. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bundles {
    context: Context,
    access: WorkspaceAccess,
    imports: Imports,
    redactors: Redactors,
}

impl Bundles {
    pub(crate) fn new(
        context: Context,
        access: WorkspaceAccess,
        imports: Imports,
        redactors: Redactors,
    ) -> Self {
        Self { context, access, imports, redactors }
    }

    /// A workspace, and unless told otherwise all below it, without ids, tokens, secrets, state or files.
    #[tracing::instrument(name = "fleet.bundles.export", skip_all, fields(workspace.id = %id))]
    pub async fn export(
        &self,
        who: &Identity,
        id: WorkspaceId,
        is_tree: bool,
    ) -> Result<ExportedBundle, Error> {
        let root = self.access.get(who, Action::ReadWorkspaces, id).await?;
        if root.status == Status::Removed {
            return Err(Error::new(ErrorCode::WorkspaceNotFound));
        }
        let (now, max) = (self.context.now(), self.context.limits().max_bundle_bytes);
        let found = self
            .context
            .store()
            .read(move |tx| {
                let rows = if is_tree { subtree(tx, root.clone(), false)? } else { vec![root.clone()] };
                if rows.len() > MAX_NODES {
                    return Err(Problem::TooMany.into());
                }
                let mut bytes = 0;
                rows.into_iter()
                    .map(|row| find(tx, row, now, &mut bytes, max))
                    .collect::<Result<Vec<_>, Error>>()
            })
            .await?;
        let bundle = self.bundle_of(id, found, now).await?;
        if depth(&bundle.bundle.root) > MAX_DEPTH {
            return Err(Problem::TooDeep.into());
        }
        if bundle.bytes > max {
            return Err(too_large(&bundle.bundle.root.name, max));
        }
        Ok(bundle)
    }

    async fn bundle_of(
        &self,
        root: WorkspaceId,
        found: Vec<Found>,
        now: Timestamp,
    ) -> Result<ExportedBundle, Error> {
        let names: BTreeMap<WorkspaceId, WorkspaceName> =
            found.iter().map(|one| (one.row.id, one.row.name.clone())).collect();
        let mut below: BTreeMap<WorkspaceId, Vec<(Timestamp, WorkspaceId)>> = BTreeMap::new();
        let mut nodes = BTreeMap::new();
        let mut warnings = Vec::new();
        for one in found {
            warnings.extend_from_slice(&one.warnings);
            if let Some(parent_id) = one.row.parent_id {
                below.entry(parent_id).or_default().push((one.row.created_at, one.row.id));
            }
            nodes.insert(one.row.id, self.node_of(one, &names).await?);
        }
        // Siblings come in the order in which they were made.
        below.values_mut().for_each(|siblings| siblings.sort());
        let mut workspaces = Vec::with_capacity(nodes.len());
        let root_node = tree_of(root, &mut nodes, &below, &mut workspaces)
            .ok_or_else(|| Error::new(ErrorCode::WorkspaceNotFound))?;
        let origin = BundleOrigin { workspace_id: root.to_string(), exported_at: now.to_string() };
        let bundle = Bundle::new(origin, root_node, warnings);
        let bytes = serde_json::to_vec(&bundle).map_or(u64::MAX, |json| json.len() as u64);
        Ok(ExportedBundle { bundle, workspaces, bytes })
    }

    /// One workspace, without those below it. A secret that was set after something was remembered is masked now.
    async fn node_of(
        &self,
        found: Found,
        names: &BTreeMap<WorkspaceId, WorkspaceName>,
    ) -> Result<BundleNode, Error> {
        let Found { row, memories, schedules, .. } = found;
        let mut memory = Vec::with_capacity(memories.len());
        if !memories.is_empty() {
            let known = self.redactors.of_workspace(&row).await?;
            let one = |one: Memory| BundleMemory {
                scope: one.place.scope(),
                value: scrub(&one.value, &known).text,
                key: one.key,
                expires_at: one.expires_at,
            };
            memory.extend(memories.into_iter().map(one));
            memory.sort_by(|one, other| (one.scope, &one.key).cmp(&(other.scope, &other.key)));
        }
        let mut schedules: Vec<_> = schedules.iter().map(schedule_for_bundle).collect();
        schedules.sort_by(|one, other| one.name.cmp(&other.name));
        let peers = row.spec.peers.as_ref().map(|policy| peers_for_bundle(policy, names));
        Ok(BundleNode {
            name: row.name.to_string(),
            spec: WorkspaceSpec { peers: None, ..row.spec },
            peers,
            memory,
            schedules: Some(schedules),
            files: None,
            children: Vec::new(),
        })
    }

    /// Makes what a bundle describes, under new ids: all of it or nothing. Its files are left to the caller.
    #[tracing::instrument(name = "fleet.bundles.import", skip_all)]
    pub async fn import(
        &self,
        who: &Identity,
        bundle: Bundle,
        parent_id: Option<WorkspaceId>,
        provided_env: &[String],
    ) -> Result<ImportReport, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let place = ImportPlace { org_id: who.token.org_id, parent_id, is_whole: true };
        let mut planned = Vec::new();
        plan(bundle.root, None, 1, &mut planned)?;
        self.imports.make_all(who, place, planned, provided_env).await
    }
}

/// A workspace with what goes into a bundle.
#[derive(Debug)]
struct Found {
    row: Workspace,
    memories: Vec<Memory>,
    schedules: Vec<Schedule>,
    warnings: Vec<String>,
}

/// `bytes` counts what was found so far, so that no more is read than may go out.
fn find(
    tx: &mut dyn ReadTx,
    row: Workspace,
    now: Timestamp,
    bytes: &mut u64,
    max: u64,
) -> Result<Found, Error> {
    let places = vec![MemoryPlace::Local(row.id), MemoryPlace::Team(row.id)];
    let mut query = MemoryQuery { places, now, after: None, limit: PAGE };
    let (mut memories, mut unreadable) = (Vec::new(), 0);
    loop {
        let page = tx.memories(&query)?;
        unreadable += page.unreadable.len();
        *bytes += page.rows.iter().map(|one| (one.key.len() + one.value.len()) as u64).sum::<u64>();
        if *bytes > max {
            return Err(too_large(row.name.as_str(), max));
        }
        memories.extend(page.rows);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let mut warnings = Vec::new();
    if unreadable > 0 {
        warnings
            .push(format!("{}: {unreadable} of what it remembers cannot be read and is left out", row.name));
    }
    let schedules = find_schedules(tx, &row, &mut warnings)?;
    Ok(Found { row, memories, schedules, warnings })
}

fn find_schedules(
    tx: &mut dyn ReadTx,
    row: &Workspace,
    warnings: &mut Vec<String>,
) -> Result<Vec<Schedule>, Error> {
    let mut query = ScheduleQuery { org_id: None, workspace_id: Some(row.id), after: None, limit: PAGE };
    let (mut schedules, mut unreadable) = (Vec::new(), 0);
    loop {
        let page = tx.schedules(&query)?;
        unreadable += page.unreadable.len();
        schedules.extend(page.rows);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let all = schedules.len();
    schedules.retain(|schedule| schedule.unreadable.is_none());
    unreadable += all - schedules.len();
    if unreadable > 0 {
        warnings.push(format!("{}: {unreadable} of its schedules cannot be read and are left out", row.name));
    }
    Ok(schedules)
}

/// The refusal of a bundle that would be too long, by the name of the workspace with which it became so.
fn too_large(name: &str, max: u64) -> Error {
    let detail =
        format!("`{name}`: with it the bundle has more than {max} bytes (`limits.max_bundle_bytes`)");
    Error::with_detail(ErrorCode::BundleTooLarge, detail)
}

/// Takes a node and all below it out of `nodes`, and notes the order in which they are in the tree.
fn tree_of(
    id: WorkspaceId,
    nodes: &mut BTreeMap<WorkspaceId, BundleNode>,
    below: &BTreeMap<WorkspaceId, Vec<(Timestamp, WorkspaceId)>>,
    order: &mut Vec<WorkspaceId>,
) -> Option<BundleNode> {
    let mut node = nodes.remove(&id)?;
    order.push(id);
    let children = below.get(&id).into_iter().flatten();
    node.children = children.filter_map(|(_, child)| tree_of(*child, nodes, below, order)).collect();
    Some(node)
}

fn depth(node: &BundleNode) -> usize {
    1 + node.children.iter().map(depth).max().unwrap_or(0)
}

/// Adds a node of a bundle, and all below it, to what is planned.
fn plan(
    node: BundleNode,
    parent: Option<(usize, String)>,
    depth: usize,
    planned: &mut Vec<PlannedWorkspace>,
) -> Result<(), Error> {
    if planned.len() >= MAX_NODES {
        return Err(Problem::TooMany.into());
    }
    if depth > MAX_DEPTH {
        return Err(Problem::TooDeep.into());
    }
    let invalid =
        |error: warren_model::InvalidName| Error::with_detail(ErrorCode::InvalidBundle, error.to_string());
    let name: WorkspaceName = node.name.parse().map_err(invalid)?;
    let path = parent.as_ref().map_or_else(|| name.to_string(), |(_, above)| format!("{above}/{name}"));
    let spec = node.spec.clone();
    let request = CreateWorkspace {
        name,
        provider: spec.provider,
        capabilities: Some(spec.capabilities),
        parent_id: None,
        runtime: spec.runtime,
        tier: Some(spec.tier),
        options: WorkspaceOptions {
            role: spec.role,
            provision_timeout_seconds: spec.provision_timeout_seconds,
            hibernate_after_seconds: spec.hibernate_after_seconds,
            max_concurrent_tasks: spec.max_concurrent_tasks,
            doors: spec.doors,
        },
        agent: spec.agent,
        template: spec.template,
    };
    let at = planned.len();
    let parent = parent.map(|(at, _)| at);
    let BundleNode { spec, peers, memory, schedules, children, .. } = node;
    let from_bundle = Some(FromBundle { spec, peers, memory, schedules });
    planned.push(PlannedWorkspace { path: path.clone(), parent, request, from_bundle });
    for child in children {
        plan(child, Some((at, path.clone())), depth + 1, planned)?;
    }
    Ok(())
}
