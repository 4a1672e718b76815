//! Bundles (F51): what was wanted of a workspace, or of a tree of them, out of one Warren and into another.

use std::collections::BTreeMap;

use warren_model::{
    Bundle, BundleNode, BundleOrigin, ErrorCode, Status, Workspace, WorkspaceId, WorkspaceName,
};
use warren_rules::lifecycle::templates::{MAX_DEPTH, MAX_NODES, Problem};
use warren_service::{Action, Context, Error, Identity};

use super::imports::{ImportPlace, ImportReport, Imports, PlannedWorkspace};
use crate::access::WorkspaceAccess;
use crate::workspaces::ancestry::subtree;
use crate::workspaces::{CreateWorkspace, WorkspaceOptions};

/// Takes workspaces out of one Warren and into another. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bundles {
    context: Context,
    access: WorkspaceAccess,
    imports: Imports,
}

impl Bundles {
    pub(crate) fn new(context: Context, access: WorkspaceAccess, imports: Imports) -> Self {
        Self { context, access, imports }
    }

    /// A workspace, and unless told otherwise all below it, without ids, tokens, secrets, state or files.
    #[tracing::instrument(name = "fleet.bundles.export", skip_all, fields(workspace.id = %id))]
    pub async fn export(&self, who: &Identity, id: WorkspaceId, is_tree: bool) -> Result<Bundle, Error> {
        let root = self.access.get(who, Action::ReadWorkspaces, id).await?;
        if root.status == Status::Removed {
            return Err(Error::new(ErrorCode::WorkspaceNotFound));
        }
        let rows = if is_tree {
            self.context.store().read(move |tx| subtree(tx, root.clone(), false)).await?
        } else {
            vec![root]
        };
        if rows.len() > MAX_NODES {
            return Err(Problem::TooMany.into());
        }
        let root = node_of(rows)?;
        if depth(&root) > MAX_DEPTH {
            return Err(Problem::TooDeep.into());
        }
        let origin =
            BundleOrigin { workspace_id: id.to_string(), exported_at: self.context.now().to_string() };
        Ok(Bundle::new(origin, root))
    }

    /// Makes what a bundle describes, under new ids.
    #[tracing::instrument(name = "fleet.bundles.import", skip_all)]
    pub async fn import(
        &self,
        who: &Identity,
        bundle: Bundle,
        parent_id: Option<WorkspaceId>,
        provided_env: &[String],
    ) -> Result<ImportReport, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let place = ImportPlace { org_id: who.token.org_id, parent_id };
        let mut planned = Vec::new();
        plan(bundle.root, None, 1, &mut planned)?;
        self.imports.make_all(who, place, planned, provided_env).await
    }
}

/// Rows, parents first, as a tree. Siblings come in the order in which they were made.
fn node_of(rows: Vec<Workspace>) -> Result<BundleNode, Error> {
    let root_id = rows.first().map(|root| root.id);
    let mut below: BTreeMap<WorkspaceId, Vec<(Workspace, BundleNode)>> = BTreeMap::new();
    for row in rows.into_iter().rev() {
        let mut children = below.remove(&row.id).unwrap_or_default();
        children.sort_by_key(|(child, _)| (child.created_at, child.id));
        let node = BundleNode {
            name: row.name.to_string(),
            spec: row.spec.clone(),
            children: children.into_iter().map(|(_, node)| node).collect(),
        };
        match row.parent_id {
            Some(parent_id) if Some(row.id) != root_id => {
                below.entry(parent_id).or_default().push((row, node));
            }
            Some(_) | None => return Ok(node),
        }
    }
    Err(Error::new(ErrorCode::WorkspaceNotFound))
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
    planned.push(PlannedWorkspace { path: path.clone(), parent, request, spec: Some(node.spec) });
    for child in node.children {
        plan(child, Some((at, path.clone())), depth + 1, planned)?;
    }
    Ok(())
}
