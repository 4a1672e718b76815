//! Templates, and the trees of workspaces that are made from them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use utoipa::IntoParams;
use warren_api::{
    Blueprint, CollapsedWorkspace, ExpandWorkspace, ImportReport, ImportTree, ImportedNode, Position,
    Problem, Template, TemplatePage, TemplateSummary, Workspace,
};
use warren_fleet::{Import, MAX_TEMPLATE_PAGE, PutTemplate};
use warren_model as model;
use warren_model::{ErrorCode, TemplateName};
use warren_operations::{BundleReport, ImportedFiles};

use super::workspaces::{answer, etag};
use crate::App;
use crate::auth::Caller;
use crate::convert;
use crate::extract::{Document, Json, PathId, PathName, Query};
use crate::paging::{cursor, page_size, unreadable};
use crate::problem::{CurrentRequest, Failure};
use crate::requests::workspaces::to_wire;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// From `next_cursor` of the page before.
    cursor: Option<String>,
    /// At most so many; 50 unless told.
    #[param(minimum = 1, maximum = 50)]
    limit: Option<u32>,
}

/// List templates, by name.
#[utoipa::path(
    get, path = "/api/v1/templates", operation_id = "list_templates", tag = "templates", params(ListParams),
    responses((status = 200, body = TemplatePage), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Query(params): Query<ListParams>,
) -> Result<axum::Json<TemplatePage>, Failure> {
    let after = cursor(params.cursor)?;
    let limit = page_size(params.limit.or(Some(MAX_TEMPLATE_PAGE)), MAX_TEMPLATE_PAGE)?;
    let page = app.fleet.templates.list(&who, after, limit).await?;
    let summary = |row: &model::Template| TemplateSummary {
        name: row.name.to_string(),
        hash: row.hash.clone(),
        description: row.blueprint.description.clone(),
        uses: row.blueprint.references().iter().map(ToString::to_string).collect(),
        is_tree: !row.blueprint.children.is_empty(),
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
    };
    Ok(axum::Json(TemplatePage {
        items: page.rows.iter().map(summary).collect(),
        next_cursor: page.next.map(|name| name.to_string()),
        unreadable: unreadable(&page.unreadable),
    }))
}

/// Show one template.
#[utoipa::path(
    get, path = "/api/v1/templates/{name}", operation_id = "show_template", tag = "templates",
    params(("name" = String, Path)),
    responses((status = 200, body = Template), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(name): PathName,
) -> Result<Response, Failure> {
    let template = app.fleet.templates.get(&who, &known_name(&name)?).await?;
    Ok(tell(StatusCode::OK, &template))
}

/// Store a template, in place of what has its name.
///
/// The document is YAML or JSON; it may leave its own name out, or must have this one. Templates that it names may come
/// later, but must not lead back to it.
#[utoipa::path(
    put, path = "/api/v1/templates/{name}", operation_id = "put_template", tag = "templates",
    params(("name" = String, Path), ("If-Match" = Option<String>, Header, description = "Only if this is still its ETag.")),
    request_body(content((Blueprint = "application/json"), (String = "application/yaml"))),
    responses(
        (status = 200, body = Template), (status = 201, body = Template),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(name): PathName,
    headers: HeaderMap,
    document: Document,
) -> Result<Response, Failure> {
    let invalid = |detail: String| Failure::new(ErrorCode::InvalidTemplate, detail);
    let name: TemplateName = name.parse().map_err(|error| invalid(format!("name: {error}")))?;
    let blueprint = read_blueprint(document.value, "")?;
    if blueprint.name.as_deref().is_some_and(|own| own != name.as_str()) {
        return Err(invalid(format!("name: the address says `{name}`")));
    }
    let put =
        PutTemplate { name, blueprint, source: document.source, expected_hash: expected_hash(&headers)? };
    let stored = app.fleet.templates.put(&who, put).await?;
    Ok(tell(if stored.is_new { StatusCode::CREATED } else { StatusCode::OK }, &stored.template))
}

/// Remove a template. Workspaces that were made from it stay.
#[utoipa::path(
    delete, path = "/api/v1/templates/{name}", operation_id = "remove_template", tag = "templates",
    params(("name" = String, Path)),
    responses((status = 204), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathName(name): PathName,
) -> Result<StatusCode, Failure> {
    app.fleet.templates.remove(&who, &known_name(&name)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make a tree of workspaces.
///
/// Required variables are checked first, over the whole tree: if one is missing, the answer is 412 with all that are,
/// and nothing is made. Then parents are made before their children. 201: all of them; 207: some could not be made, and
/// each has its own problem.
#[utoipa::path(
    post, path = "/api/v1/orgs/import", operation_id = "import_tree", tag = "templates",
    request_body = ImportTree,
    responses(
        (status = 201, body = ImportReport), (status = 207, body = ImportReport),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn import(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    Extension(request): Extension<CurrentRequest>,
    Json(body): Json<ImportTree>,
) -> Result<Response, Failure> {
    let mut root = match (body.template, body.tree) {
        (Some(name), None) => of_template(&name)?,
        (None, Some(tree)) => read_blueprint(tree, "tree.")?,
        (Some(_), Some(_)) | (None, None) => return Err(either("template", "tree")),
    };
    root.name = body.name.or(root.name);
    let parent_id = body.parent_id.as_deref().map(|id| convert::id_from("parent_id", id)).transpose()?;
    let import = Import { roots: vec![root], parent_id, provided_env: body.provided_env };
    let report = app.fleet.imports.tree(&who, import).await?;
    Ok(tell_report(report, &request))
}

/// Make a team below a workspace.
///
/// As an import: 412 with all that is missing, 201 when all were made, 207 with a problem for each that was not.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/expand", operation_id = "expand_workspace", tag = "workspaces",
    params(("id" = String, Path)), request_body = ExpandWorkspace,
    responses(
        (status = 201, body = ImportReport), (status = 207, body = ImportReport),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn expand(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Extension(request): Extension<CurrentRequest>,
    Json(body): Json<ExpandWorkspace>,
) -> Result<Response, Failure> {
    let roots = match (body.template, body.children) {
        (Some(name), None) => vec![of_template(&name)?],
        (None, Some(serde_json::Value::Array(children))) if !children.is_empty() => {
            let one = |(at, child)| read_blueprint(child, &format!("children[{at}]."));
            children.into_iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?
        }
        (None, Some(_)) => {
            return Err(Failure::new(ErrorCode::InvalidRequest, "children: expected a list of at least one"));
        }
        (Some(_), Some(_)) | (None, None) => return Err(either("template", "children")),
    };
    let import = Import { roots, parent_id: None, provided_env: body.provided_env };
    let report = app.fleet.imports.expand(&who, id, import).await?;
    Ok(tell_report(report, &request))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CollapseParams {
    /// Erase the rows too, once nothing is left. Events and the audit log stay.
    #[serde(default)]
    purge: bool,
}

/// Remove all below a workspace; the workspace itself stays.
///
/// As a removal: 200 when nothing is left of them, 202 when something is, which goes on by itself.
#[utoipa::path(
    post, path = "/api/v1/workspaces/{id}/collapse", operation_id = "collapse_workspace", tag = "workspaces",
    params(("id" = String, Path), CollapseParams),
    responses(
        (status = 200, body = CollapsedWorkspace), (status = 202, body = CollapsedWorkspace),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn collapse(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Query(params): Query<CollapseParams>,
) -> Result<Response, Failure> {
    let collapse = app.fleet.workspaces.collapse(&who, id, params.purge).await?;
    let is_over = collapse.counts.finished == collapse.counts.marked;
    let status = if is_over { StatusCode::OK } else { StatusCode::ACCEPTED };
    let body = CollapsedWorkspace {
        workspace: to_wire(&app, &who, &collapse.workspace).await?,
        removal: convert::removal_counts(collapse.counts),
    };
    Ok((status, [(header::ETAG, etag(&collapse.workspace))], axum::Json(body)).into_response())
}

/// Put a workspace somewhere on your map. Nobody else sees it there.
#[utoipa::path(
    put, path = "/api/v1/workspaces/{id}/position", operation_id = "put_position", tag = "workspaces",
    params(("id" = String, Path)), request_body = Position,
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn put_position(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
    Json(body): Json<Position>,
) -> Result<Response, Failure> {
    let position = model::Position { x: body.x, y: body.y };
    answer(&app, &who, &app.fleet.positions.put(&who, id, Some(position)).await?).await
}

/// Take a workspace off its place on your map.
#[utoipa::path(
    delete, path = "/api/v1/workspaces/{id}/position", operation_id = "remove_position", tag = "workspaces",
    params(("id" = String, Path)),
    responses((status = 200, body = Workspace), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn remove_position(
    State(app): State<Arc<App>>,
    Caller(who): Caller,
    PathId(id): PathId<model::WorkspaceKind>,
) -> Result<Response, Failure> {
    answer(&app, &who, &app.fleet.positions.put(&who, id, None).await?).await
}

fn tell(status: StatusCode, row: &model::Template) -> Response {
    let body = Template {
        name: row.name.to_string(),
        hash: row.hash.clone(),
        description: row.blueprint.description.clone(),
        blueprint: serde_json::to_value(&row.blueprint).unwrap_or_default(),
        source: row.source.clone(),
        created_at: row.created_at.to_string(),
        updated_at: row.updated_at.to_string(),
    };
    (status, [(header::ETAG, format!("\"{}\"", row.hash))], axum::Json(body)).into_response()
}

pub(super) fn tell_report(report: warren_fleet::ImportReport, request: &CurrentRequest) -> Response {
    let files = report.nodes.iter().map(|_| None).collect();
    tell_bundle_report(BundleReport { report, files }, request)
}

/// The same, with what became of files.
pub(super) fn tell_bundle_report(told: BundleReport, request: &CurrentRequest) -> Response {
    let BundleReport { report, files } = told;
    let is_whole = report.is_complete() && files.iter().flatten().all(|files| files.failed == 0);
    let status = if is_whole { StatusCode::CREATED } else { StatusCode::MULTI_STATUS };
    let node = |(node, files): (warren_fleet::ImportedNode, Option<ImportedFiles>)| {
        let (workspace_id, tier, problem) = match node.outcome {
            Ok(row) => (Some(row.id.to_string()), Some(convert::tier(row.spec.tier)), None),
            Err(error) => (None, None, Some(Failure::from(error).to_problem(&request.0))),
        };
        let mut warnings = node.warnings;
        warnings.extend(files.as_ref().and_then(executable_warning));
        ImportedNode {
            path: node.path,
            name: node.name.to_string(),
            workspace_id,
            tier,
            problem,
            warnings,
            files: files.map(convert::imported_files),
        }
    };
    let nodes: Vec<_> = report.nodes.into_iter().zip(files).map(node).collect();
    let count = |is_made: bool| {
        let counted = nodes.iter().filter(|node| node.workspace_id.is_some() == is_made).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    let (created, failed) = (count(true), count(false));
    (status, axum::Json(ImportReport { nodes, created, failed })).into_response()
}

/// Files are written without the right to be run: what came from elsewhere is run by whoever says so.
fn executable_warning(files: &ImportedFiles) -> Option<String> {
    const NAMED: usize = 5;
    let all = &files.executable;
    let named = all.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if all.len() > NAMED { format!(" and {} more", all.len() - NAMED) } else { String::new() };
    let sentence =
        format!("files: {named}{more} could be run; run `chmod +x` in the workspace where they are to");
    (!all.is_empty()).then_some(sentence)
}

fn read_blueprint(document: serde_json::Value, at: &str) -> Result<model::Blueprint, Failure> {
    model::Blueprint::read(document)
        .map_err(|error| Failure::new(ErrorCode::InvalidTemplate, format!("{at}{error}")))
}

fn of_template(name: &str) -> Result<model::Blueprint, Failure> {
    let invalid = |error| Failure::new(ErrorCode::InvalidRequest, format!("template: {error}"));
    let template = name.parse().map_err(|error: model::InvalidTemplateName| invalid(error))?;
    Ok(model::Blueprint { template: Some(template), ..model::Blueprint::default() })
}

fn either(one: &str, other: &str) -> Failure {
    Failure::new(ErrorCode::InvalidRequest, format!("{one}: expected either `{one}` or `{other}`"))
}

/// What is no name cannot exist.
fn known_name(name: &str) -> Result<TemplateName, Failure> {
    name.parse().map_err(|_| ErrorCode::TemplateNotFound.into())
}

fn expected_hash(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    if text == "*" {
        return Ok(None);
    }
    let hash = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let detail = "If-Match: expected the ETag of a template";
    hash.map(|hash| Some(hash.to_owned())).ok_or_else(|| Failure::new(ErrorCode::InvalidRequest, detail))
}
