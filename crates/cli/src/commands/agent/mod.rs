//! `warren agent`: agents as files on this machine, and as the server keeps them.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::{Value, json};
use warren_api::client::{Client, Error};
use warren_api::{AgentSummary, StoredAgent, YAML};
use warren_doors::{Clock as _, SystemClock};
use warren_model::session::ModelName;
use warren_model::{AgentDefinition, AgentName, DocumentError, ErrorCode, parse_yaml};

use super::cursors::all_pages;
use super::facts::Facts;
use super::template::Document;
use super::workspace::age;
use crate::arguments::AgentCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome, Report};
use crate::nearest::nearest;

/// What `init` writes, and what `warren run` runs without an agent. `NAME` stands for its name.
const FIRST_AGENT: &str = include_str!("first_agent.yaml");
const NAME_PLACE: &str = "name: NAME";
/// What it is called where the file's name is none for an agent.
const DEFAULT_NAME: &str = "helper";
const JSON: &str = "application/json";
const SCRIPTED: &str = "scripted";
const SHOWN_HASH: usize = 12;

pub(crate) async fn run(context: &Context, command: AgentCommand) -> Outcome<Exit> {
    match command {
        AgentCommand::Init { file, force } => init(context, &file, force)?,
        AgentCommand::Check { file } => check(context, &file)?,
        AgentCommand::Put { file, name } => {
            let agent = AgentFile::read(&file, name)?;
            let stored = agent.store(&context.client()?).await?;
            if context.output.is_json {
                context.output.json(&stored)?;
            } else {
                context.output.line(&format!("{}  {}", stored.name, stored.hash))?;
            }
        }
        AgentCommand::Ls => list(context, &context.client()?).await?,
        AgentCommand::Show { name, version } => {
            let agent = find(&context.client()?, &name, version.as_deref()).await?;
            show(context, &agent)?;
        }
    }
    Ok(Exit::OK)
}

/// An agent that was read and checked on this machine.
#[derive(Debug)]
pub(super) struct AgentFile {
    definition: AgentDefinition,
    media_type: &'static str,
    /// As it was written.
    text: String,
    is_changed: bool,
}

impl AgentFile {
    /// `name` counts where the document does not say one.
    pub(super) fn read(path: &Path, name: Option<String>) -> Outcome<Self> {
        let document = Document::read(path)?;
        let media_type = if document.is_json() { JSON } else { YAML };
        let mut value = if document.is_json() {
            document.as_json()?
        } else {
            parse_yaml(document.text()).map_err(|error| of_document(path, &error))?
        };
        if let (Some(name), Some(fields)) = (name, value.as_object_mut()) {
            fields.entry("name").or_insert(Value::String(name));
        }
        let definition = AgentDefinition::read(value).map_err(|error| of_document(path, &error))?;
        Ok(Self { definition, media_type, text: document.text().to_owned(), is_changed: false })
    }

    /// The agent that Warren brings, under another name.
    pub(super) fn first(name: &AgentName) -> Outcome<Self> {
        let text = first_agent(name);
        let value = parse_yaml(&text).map_err(|error| of_document(Path::new("-"), &error))?;
        let definition = AgentDefinition::read(value).map_err(|error| of_document(Path::new("-"), &error))?;
        Ok(Self { definition, media_type: YAML, text, is_changed: false })
    }

    pub(super) fn of_stored(agent: StoredAgent) -> Outcome<Self> {
        let text = agent.definition.to_string();
        let definition = AgentDefinition::read(agent.definition).map_err(|error| {
            Report::new(ErrorCode::UnexpectedAnswer).because(format!("the agent `{}`: {error}", agent.name))
        })?;
        Ok(Self { definition, media_type: JSON, text, is_changed: false })
    }

    /// The same with another model, under another name.
    pub(super) fn with_model(self, name: AgentName, model: ModelName) -> Self {
        let definition = AgentDefinition { name, model, ..self.definition };
        let text = serde_json::to_string(&definition).expect("an agent has only text for keys");
        Self { definition, media_type: JSON, text, is_changed: true }
    }

    /// Whether it is not as somebody wrote it.
    pub(super) const fn is_changed(&self) -> bool {
        self.is_changed
    }

    pub(super) fn definition(&self) -> &AgentDefinition {
        &self.definition
    }

    pub(super) async fn store(self, client: &Client) -> Outcome<StoredAgent> {
        let name = self.definition.name.to_string();
        Ok(client.put_agent(&name, self.media_type, self.text).await?)
    }
}

fn of_document(path: &Path, error: &DocumentError) -> Report {
    let code = match error {
        DocumentError::TooLarge { .. } => ErrorCode::PayloadTooLarge,
        DocumentError::Syntax(_) => ErrorCode::InvalidYaml,
        DocumentError::Shape(_) => ErrorCode::InvalidAgent,
    };
    let report = Report::new(code).because(format!("{}: {error}", path.display()));
    match error {
        DocumentError::Shape(_) => report
            .hint("Mend that place. `warren agent init FILE` writes a file that works, to compare with."),
        DocumentError::TooLarge { .. } | DocumentError::Syntax(_) => report,
    }
}

fn first_agent(name: &AgentName) -> String {
    FIRST_AGENT.replacen(NAME_PLACE, &format!("name: {name}"), 1)
}

/// The name of the file without its ending, where an agent can be called so.
fn name_for(path: &Path) -> Option<AgentName> {
    let stem = path.file_stem()?.to_str()?;
    stem.to_ascii_lowercase().parse().or_else(|_| DEFAULT_NAME.parse()).ok()
}

fn init(context: &Context, path: &Path, force: bool) -> Outcome<()> {
    let Some(name) = name_for(path) else {
        let report =
            Report::new(ErrorCode::InvalidUsage).because(format!("{} names no file", path.display()));
        return Err(report.hint("Name a file, such as `helper.yaml`.").into());
    };
    let mut options = fs::OpenOptions::new();
    if force {
        options.write(true).create(true).truncate(true)
    } else {
        options.write(true).create_new(true)
    };
    let written = options.open(path).and_then(|mut file| file.write_all(first_agent(&name).as_bytes()));
    written.map_err(|error| not_written(path, &error))?;
    if context.output.is_json {
        return context.output.json(&json!({ "file": path, "name": name.as_str() }));
    }
    context.output.line(&path.display().to_string())?;
    context.output.note(&format!("Run it with `warren run \"Show me around.\" --agent {}`.", path.display()));
    Ok(())
}

fn not_written(path: &Path, error: &io::Error) -> Report {
    let report = Report::local_file(path, error);
    if error.kind() == io::ErrorKind::AlreadyExists {
        return report.hint("Choose another name, or overwrite it with `--force`.");
    }
    report
}

/// What can be told without a server.
fn check(context: &Context, path: &Path) -> Outcome<()> {
    // A file without a name is told so when it is stored, where one can be given.
    let agent = AgentFile::read(path, Some(DEFAULT_NAME.to_owned()))?;
    let definition = agent.definition();
    if context.output.is_json {
        return context.output.json(&json!({
            "name": definition.name.as_str(), "hash": definition.hash(), "model": definition.model.to_string(),
        }));
    }
    context.output.line(&format!("It is valid: `{}` on {}.", definition.name, definition.model))?;
    for model in definition.models().filter(|model| model.provider == SCRIPTED) {
        let known = warren_llm::scripted::BUILT_IN;
        if !known.contains(&model.model.as_str()) {
            let known = known.join(", ");
            context
                .output
                .note(&format!("`{model}` is no script that comes with Warren; those are: {known}."));
        }
    }
    Ok(())
}

/// A version may be told by the beginning of its hash if it is the latest.
pub(super) async fn find(client: &Client, name: &str, version: Option<&str>) -> Outcome<StoredAgent> {
    let found = match version {
        None => client.agent(name).await,
        Some(hash) => match client.agent(name).await {
            Ok(latest) if hash.len() >= SHOWN_HASH && latest.hash.starts_with(hash) => Ok(latest),
            Ok(_) => client.agent_version(name, hash).await,
            Err(error) => Err(error),
        },
    };
    match found {
        Ok(agent) => Ok(agent),
        Err(error) => Err(not_found(client, name, error).await),
    }
}

/// Adds the name that was probably meant.
async fn not_found(client: &Client, name: &str, error: Error) -> Failure {
    if error.code() != Some(ErrorCode::AgentNotFound.as_str()) {
        return error.into();
    }
    let report = Report::from(error);
    let names: Vec<String> = match client.agents(None).await {
        Ok(page) => page.items.into_iter().map(|one| one.name).collect(),
        // The suggestion is a courtesy.
        Err(_) => Vec::new(),
    };
    let report = report.because(format!("`{name}`"));
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) if near != name => {
            report.hint(format!("Did you mean `{near}`? `warren agent ls` lists all."))
        }
        _ => report,
    }
    .into()
}

async fn list(context: &Context, client: &Client) -> Outcome<()> {
    let found: Vec<AgentSummary> = all_pages(None, async |cursor| {
        let page = client.agents(cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note(
            "No agents. Write one with `warren agent init FILE`, store it with `warren agent put FILE`.",
        );
        return Ok(());
    }
    let now = SystemClock.now();
    let row = |one: &AgentSummary| {
        let hash = one.hash.chars().take(SHOWN_HASH).collect();
        let what = if one.description.is_empty() { "-" } else { &one.description };
        vec![one.name.clone(), one.model.clone(), hash, age(&one.created_at, now), what.to_owned()]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["name", "model", "hash", "age", "description"], &rows)
}

fn show(context: &Context, agent: &StoredAgent) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(agent);
    }
    let mut facts = Facts::default();
    facts.add("name", &agent.name);
    facts.add("hash", &agent.hash);
    facts.add("stored at", &agent.created_at);
    for (field, value) in agent.definition.as_object().into_iter().flatten() {
        if field != "name" {
            facts.add_document(field, value);
        }
    }
    facts.print(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    // S12, A1: what `init` writes is valid, and is what the guided agent is
    #[test]
    fn the_first_agent_is_valid_under_any_name() {
        let agent = AgentFile::first(&"my.first-one".parse().unwrap()).unwrap();
        assert_eq!(agent.definition().name.as_str(), "my.first-one");
        assert_eq!(agent.definition().model.to_string(), "scripted/tour");
        assert_eq!(agent.definition().limits.run.steps, Some(50));
    }

    // S12
    #[test]
    fn an_agent_is_called_like_its_file_where_that_is_a_name() {
        for (path, expected) in [
            ("reviewer.yaml", "reviewer"),
            ("a/My-Agent.yml", "my-agent"),
            ("größe.yaml", "helper"),
            ("x y", "helper"),
        ] {
            assert_eq!(name_for(Path::new(path)).unwrap().as_str(), expected, "{path}");
        }
        assert_eq!(name_for(Path::new("..")), None);
    }
}
