//! `warren template`, `warren org` and the teams of `warren ws`: what workspaces are made from.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use warren_api::client::Client;
use warren_api::{ExpandWorkspace, ImportReport, ImportTree, TemplateSummary, YAML};
use warren_doors::{Clock as _, SystemClock};
use warren_model::{Blueprint, DocumentError, ErrorCode, MAX_DOCUMENT_BYTES, parse_yaml};
use warren_rules::lifecycle::templates as template_rules;
use warren_rules::lifecycle::templates::Library;

use super::cursors::all_pages;
use super::workspace::{age, note_tier};
use crate::arguments::{ExpandArguments, ImportArguments, TemplateCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::workspace_name::resolve;

pub(crate) async fn run(context: &Context, command: TemplateCommand) -> Outcome<Exit> {
    match command {
        TemplateCommand::Ls => list(context, &context.client()?).await?,
        TemplateCommand::Show { name } => {
            let template = context.client()?.template(&name).await?;
            if context.output.is_json {
                context.output.json(&template)?;
            } else {
                for line in template.source.lines() {
                    context.output.line(line)?;
                }
            }
        }
        TemplateCommand::Put { file, name } => put(context, &file, name).await?,
        TemplateCommand::Rm { name } => {
            context.client()?.remove_template(&name).await?;
            context.output.note("The template is removed.");
        }
        TemplateCommand::Check { file } => check(context, &file)?,
    }
    Ok(Exit::OK)
}

pub(crate) async fn import(context: &Context, arguments: ImportArguments) -> Outcome<Exit> {
    let ImportArguments { file, template, name, parent, provided_env } = arguments;
    let tree = file.map(|file| Document::read(&file)?.checked()).transpose()?;
    let client = context.client()?;
    let parent_id = match parent {
        Some(parent) => Some(resolve(&client, &parent).await?),
        None => None,
    };
    let import = ImportTree { template, tree, name, parent_id, provided_env };
    tell_report(context, &client.import_tree(&import).await?)
}

pub(crate) async fn expand(context: &Context, client: &Client, arguments: ExpandArguments) -> Outcome<Exit> {
    let children = match &arguments.file {
        Some(file) => Some(Value::Array(vec![Document::read(file)?.checked()?])),
        None => None,
    };
    let id = resolve(client, &arguments.workspace).await?;
    let expand =
        ExpandWorkspace { template: arguments.template, children, provided_env: arguments.provided_env };
    tell_report(context, &client.expand_workspace(&id, &expand).await?)
}

pub(crate) async fn collapse(context: &Context, client: &Client, name: &str, purge: bool) -> Outcome<Exit> {
    let id = resolve(client, name).await?;
    let collapsed = client.collapse_workspace(&id, purge).await?;
    if context.output.is_json {
        context.output.json(&collapsed)?;
    } else {
        let removal = collapsed.removal;
        context.output.line(&format!("{id}  {} of {} removed", removal.finished, removal.marked))?;
    }
    Ok(Exit::OK)
}

/// One line per workspace: its path, and its id or what was wrong.
pub(super) fn tell_report(context: &Context, report: &ImportReport) -> Outcome<Exit> {
    if context.output.is_json {
        context.output.json(report)?;
    } else {
        let row = |node: &warren_api::ImportedNode| {
            let problem = node.problem.as_ref().map(|problem| {
                let detail = problem.detail.as_deref().unwrap_or(&problem.title);
                format!("{}: {detail}", problem.code)
            });
            let dash = || "-".to_owned();
            vec![
                node.path.clone(),
                node.workspace_id.clone().unwrap_or_else(dash),
                problem.unwrap_or_else(dash),
            ]
        };
        let rows: Vec<_> = report.nodes.iter().map(row).collect();
        context.output.table(&["workspace", "id", "problem"], &rows)?;
        for node in &report.nodes {
            node.tier.iter().for_each(|tier| note_tier(context, &node.path, *tier));
        }
        report.nodes.iter().for_each(|node| note_contents(context, node));
        if report.failed > 0 {
            context.output.note(&format!("{} of {} could not be made.", report.failed, report.nodes.len()));
        }
    }
    let has_lost_files = report.nodes.iter().flat_map(|node| &node.files).any(|files| files.failed > 0);
    Ok(if report.failed > 0 || has_lost_files { Exit::FAILURE } else { Exit::OK })
}

/// What came with a workspace out of a bundle, and what did not.
fn note_contents(context: &Context, node: &warren_api::ImportedNode) {
    for warning in &node.warnings {
        context.output.note(&format!("warning: {}: {warning}", node.path));
    }
    let Some(files) = &node.files else { return };
    context
        .output
        .note(&format!("{}: {} files were written, {} bytes.", node.path, files.written, files.bytes));
    if files.failed > 0 {
        context.output.note(&format!("{}: {} could not be written:", node.path, files.failed));
        files.problems.iter().for_each(|problem| context.output.note(&format!("  {problem}")));
    }
}

async fn list(context: &Context, client: &Client) -> Outcome<()> {
    let found: Vec<TemplateSummary> = all_pages(None, async |cursor| {
        let page = client.templates(cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No templates. Store one with `warren template put FILE`.");
        return Ok(());
    }
    let now = SystemClock.now();
    let row = |one: &TemplateSummary| {
        let uses = if one.uses.is_empty() { "-".to_owned() } else { one.uses.join(",") };
        let what = one.description.clone().unwrap_or_else(|| "-".into());
        vec![one.name.clone(), one.hash.chars().take(12).collect(), uses, age(&one.updated_at, now), what]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["name", "hash", "uses", "age", "description"], &rows)
}

async fn put(context: &Context, file: &Path, name: Option<String>) -> Outcome<()> {
    let document = Document::read(file)?;
    let blueprint = document.blueprint()?;
    let Some(name) = name.or(blueprint.name) else {
        let report = Report::new(ErrorCode::InvalidTemplate).because("name: the document does not say it");
        return Err(report.hint("Put a `name` into it, or give it with `--name`.").into());
    };
    let media_type = if document.is_json { "application/json" } else { YAML };
    let stored = context.client()?.put_template(&name, media_type, document.text).await?;
    if context.output.is_json {
        return context.output.json(&stored);
    }
    context.output.line(&format!("{}  {}", stored.name, stored.hash))
}

/// What can be told without a server: the shape, and where the document leads by itself.
fn check(context: &Context, file: &Path) -> Outcome<()> {
    let blueprint = Document::read(file)?.blueprint()?;
    let uses: Vec<String> = blueprint.references().iter().map(ToString::to_string).collect();
    let workspaces = match template_rules::plan(&blueprint, &Library::new()) {
        Ok(nodes) => Some(nodes.len()),
        // The server may know it.
        Err(template_rules::Problem::UnknownTemplate(_)) => None,
        Err(problem) => {
            return Err(Report::new(ErrorCode::InvalidTemplate).because(problem.sentence()).into());
        }
    };
    if context.output.is_json {
        let document =
            serde_json::json!({ "hash": blueprint.hash(), "uses": uses, "workspaces": workspaces });
        return context.output.json(&document);
    }
    let count = workspaces.map_or_else(
        || "as many workspaces as its templates say".into(),
        |count| format!("workspaces: {count}"),
    );
    context.output.line(&format!("It is valid; {count}."))?;
    if !uses.is_empty() {
        context.output.note(&format!("The server must have: {}.", uses.join(", ")));
    }
    Ok(())
}

/// A document of this machine.
#[derive(Debug)]
pub(super) struct Document {
    text: String,
    is_json: bool,
}

impl Document {
    /// `-` is standard input. No more is read than a document may have.
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        Self::read_up_to(path, MAX_DOCUMENT_BYTES)
    }

    pub(super) fn read_up_to(path: &Path, max_bytes: usize) -> Outcome<Self> {
        let failed = |error: &std::io::Error| Report::local_file(path, error);
        let source: Box<dyn std::io::Read> = if path.as_os_str() == "-" {
            Box::new(std::io::stdin().lock())
        } else {
            Box::new(std::fs::File::open(path).map_err(|error| failed(&error))?)
        };
        let mut text = String::new();
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        source.take(limit).read_to_string(&mut text).map_err(|error| failed(&error))?;
        if text.len() > max_bytes {
            let cause = format!("{}: more than {max_bytes} bytes", path.display());
            return Err(Report::new(ErrorCode::PayloadTooLarge).because(cause).into());
        }
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        Ok(Self { text, is_json })
    }

    pub(super) const fn is_json(&self) -> bool {
        self.is_json
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// As JSON, whatever it is called.
    pub(super) fn as_json(&self) -> Outcome<Value> {
        let read = serde_json::from_str::<warren_api::Document>(&self.text);
        let invalid =
            |error: serde_json::Error| Report::new(ErrorCode::InvalidJson).because(error.to_string());
        Ok(read.map_err(invalid)?.0)
    }

    fn value(&self) -> Outcome<Value> {
        if self.is_json {
            return self.as_json();
        }
        parse_yaml(&self.text).map_err(|error| of_document(&error).into())
    }

    fn blueprint(&self) -> Outcome<Blueprint> {
        Blueprint::read(self.value()?).map_err(|error| of_document(&error).into())
    }

    /// The values as they are written, once it is known that they make sense.
    fn checked(&self) -> Outcome<Value> {
        self.blueprint()?;
        self.value()
    }
}

fn of_document(error: &DocumentError) -> Report {
    let code = match error {
        DocumentError::TooLarge { .. } => ErrorCode::PayloadTooLarge,
        DocumentError::Syntax(_) => ErrorCode::InvalidYaml,
        DocumentError::Shape(_) => ErrorCode::InvalidTemplate,
    };
    Report::new(code).because(error.to_string())
}
