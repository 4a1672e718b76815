//! Workspaces: made, listed, shown, removed.

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use warren_api as api;
use warren_fleet::{Removal, WorkspaceQuery};
use warren_model as model;
use warren_model::{ErrorCode, WorkspaceId};
use warren_service::{Action, Identity};

use crate::App;
use crate::convert;
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::Failure;

pub(crate) async fn create(
    app: &App,
    who: &Identity,
    body: api::CreateWorkspace,
) -> Result<model::Workspace, Failure> {
    Ok(match &body.template {
        Some(_) => app.fleet.imports.create_from_template(who, convert::template_import_from(body)?).await?,
        None => {
            who.may_in_own_org(Action::WriteWorkspaces)?;
            let provider = provider(app, body.provider.clone()).await?;
            app.fleet.workspaces.create(who, convert::new_workspace_from(body, provider)?).await?
        }
    })
}

async fn provider(app: &App, asked: Option<Value>) -> Result<model::ProviderConfig, Failure> {
    match asked {
        Some(asked) => convert::provider_from(asked),
        None => {
            let kind = app.fleet.workspaces.default_provider().await?;
            convert::provider_from(json!({ "kind": kind }))
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 100 unless told, 500 at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// Only this status.
    status: Option<api::Status>,
    /// Only this name, exactly.
    name: Option<String>,
    /// Only children of this workspace.
    parent_id: Option<String>,
    /// Also those that were removed.
    #[serde(default)]
    include_removed: bool,
}

pub(crate) async fn list(
    app: &App,
    who: &Identity,
    params: ListParams,
) -> Result<api::WorkspacePage, Failure> {
    let status = params.status.map(convert::status_from);
    let query = WorkspaceQuery {
        org_id: None,
        is_root: false,
        parent_id: params.parent_id.as_deref().map(|id| convert::id_from("parent_id", id)).transpose()?,
        includes_removed: params.include_removed || status == Some(model::Status::Removed),
        statuses: status.into_iter().collect(),
        is_behind: false,
        name: params.name,
        after: cursor(params.cursor)?,
        limit: page_size(params.limit, app.limits().max_page_size)?,
    };
    let (page, vitals) = app.fleet.workspaces.list_with_vitals(who, query).await?;
    let positions = app.fleet.positions.of(who, &page.rows).await?;
    let item = |row: &model::Workspace| {
        let told =
            convert::workspace(row, vitals.get(&row.id), app.fleet.workspaces.provision_timeout_ms(row));
        let position = positions.get(&row.id).copied().map(convert::position);
        // Prompts may be long; a page of them would be longer than anybody wants.
        api::Workspace { agent: None, position, ..told }
    };
    Ok(api::WorkspacePage {
        items: page.rows.iter().map(item).collect(),
        next_cursor: page.next.map(|id| id.to_string()),
        unreadable: unreadable(&page.unreadable),
    })
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ShowParams {
    /// Show it also if it was removed.
    #[serde(default)]
    include_removed: bool,
}

pub(crate) async fn show(
    app: &App,
    who: &Identity,
    id: WorkspaceId,
    params: &ShowParams,
) -> Result<model::Workspace, Failure> {
    let workspace = app.fleet.workspaces.get(who, Action::ReadWorkspaces, id).await?;
    if workspace.status == model::Status::Removed && !params.include_removed {
        return Err(ErrorCode::WorkspaceNotFound.into());
    }
    Ok(workspace)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RemoveParams {
    /// Erase the rows too, once nothing is left. Events and the audit log stay.
    #[serde(default)]
    pub(crate) purge: bool,
}

/// What is told of a workspace that was made a moment ago, and so has reported nothing yet.
pub(crate) fn fresh(app: &App, workspace: &model::Workspace) -> api::Workspace {
    convert::workspace(workspace, None, app.fleet.workspaces.provision_timeout_ms(workspace))
}

pub(crate) fn removed(app: &App, removal: &Removal) -> api::RemovedWorkspace {
    api::RemovedWorkspace {
        workspace: fresh(app, &removal.workspace),
        removal: convert::removal_counts(removal.counts),
    }
}

/// A workspace with what its runtime reported.
pub(crate) async fn to_wire(
    app: &App,
    who: &Identity,
    workspace: &model::Workspace,
) -> Result<api::Workspace, Failure> {
    let rows = std::slice::from_ref(workspace);
    let vitals = app.fleet.workspaces.vitals_of(rows).await?;
    let positions = app.fleet.positions.of(who, rows).await?;
    let timeout = app.fleet.workspaces.provision_timeout_ms(workspace);
    let told = convert::workspace(workspace, vitals.get(&workspace.id), timeout);
    Ok(api::Workspace { position: positions.get(&workspace.id).copied().map(convert::position), ..told })
}
