//! `warren run`: an agent at work in the terminal, from nothing but a prompt.
//!
//! ```text
//!   agent (file, name, or the guided one) ─▶ workspace (named, or a new one) ─▶ session ─▶ message ─▶ attend
//! ```

mod attend;
mod keyboard;
mod labels;
mod link;
mod questions;
mod screen;
mod waits;

pub(super) use attend::{Start, attend};
pub(super) use labels::call as call_label;
pub(super) use screen::duration;
pub(super) use waits::waits;

use std::io::Read as _;
use std::path::Path;

use serde_json::json;
use warren_api::client::Client;
use warren_api::{CreateSession, CreateWorkspace, SendSessionMessage, Session, Status, Workspace};
use warren_doors::{Entropy as _, OsEntropy};
use warren_model::session::{ModelName, SessionName};
use warren_model::{AgentName, ErrorCode};

use super::agent::{AgentFile, find};
use super::workspace::{default_kind, failed_to_open, wait_until_settled};
use crate::arguments::{RunArguments, Span};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::workspace_name::resolve;

/// The agent that is run where none is named.
const GUIDED: &str = "warren-tour";
/// The same with another model.
const PLAIN: &str = "warren-run";
const GUIDED_PROMPT: &str = "Show me around.";
const UNBOXED: &str = "local";
/// Docker may have to fetch an image first.
const OPENING: Span = Span { ms: 120_000 };
/// Without those that are taken for one another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
const NAME_LETTERS: usize = 6;
const MAX_AGENT_NAME: usize = 64;
/// As much as a message may have.
const MAX_PROMPT_BYTES: u64 = 1 << 20;

pub(crate) async fn run(context: &Context, arguments: RunArguments) -> Outcome<Exit> {
    let prompt = prompt(&arguments)?;
    let model = arguments.model.as_deref().map(parse_model).transpose()?;
    let name = arguments.session.as_deref().map(parse_session_name).transpose()?;
    let agent = AgentChoice::read(arguments.agent.as_deref(), model)?;
    let client = context.client()?;
    let existing = match &name {
        Some(name) => existing_session(&client, name.as_str()).await?,
        None => None,
    };
    let suffix = suffix();
    let (session, made) = match existing {
        Some(session) => {
            refuse_changes(&arguments)?;
            (session, None)
        }
        None => {
            let agent = agent.store(context, &client).await?;
            begin(context, &client, &arguments, &Beginning { agent, name, suffix: &suffix }).await?
        }
    };
    let message = SendSessionMessage { text: Some(prompt), ..SendSessionMessage::default() };
    let key = format!("warren-run-{suffix}");
    let sent = match client.send_session_message(&session.name, &message, Some(&key)).await {
        Ok(sent) => sent,
        Err(error) => {
            if let Some(workspace) = &made {
                take_back(&client, workspace).await;
            }
            return Err(error.into());
        }
    };
    let start =
        Start { session: session.name.clone(), after: session.latest_sequence, message: Some(sent.id) };
    let attended = attend(context, client, start, arguments.attend).await?;
    // The server may have another address by now.
    let client = context.client()?;
    let is_removed = match &made {
        Some(workspace) => {
            tell_workspace(context, &client, workspace, arguments.removes_workspace, attended.is_unfinished)
                .await?
        }
        None => false,
    };
    if !attended.is_unfinished && !is_removed && !context.output.is_json {
        context.output.note(&format!("Go on with `warren run \"…\" --session {}`.", session.name));
    }
    Ok(attended.exit)
}

fn prompt(arguments: &RunArguments) -> Outcome<String> {
    let is_guided = arguments.agent.is_none() && arguments.model.is_none() && arguments.session.is_none();
    let prompt = match arguments.prompt.as_deref() {
        Some("-") => standard_input()?,
        Some(prompt) => prompt.to_owned(),
        None if is_guided => GUIDED_PROMPT.to_owned(),
        None => String::new(),
    };
    if prompt.trim().is_empty() {
        return Err(Report::new(ErrorCode::InvalidUsage)
            .because("the agent has to be told something")
            .hint("Give a prompt: `warren run \"What is in this workspace?\" …`.")
            .into());
    }
    Ok(prompt)
}

/// All of standard input, as text.
pub(super) fn standard_input() -> Outcome<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_PROMPT_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| {
        Report::new(ErrorCode::LocalFileFailed).because(format!("standard input: {error}"))
    })?;
    Ok(text)
}

fn parse_model(text: &str) -> Outcome<ModelName> {
    text.parse().map_err(|error| {
        let report = Report::new(ErrorCode::InvalidUsage).because(format!("--model: {error}"));
        report.hint("Write it as provider/name, such as `scripted/hello`.").into()
    })
}

fn parse_session_name(text: &str) -> Outcome<SessionName> {
    text.parse().map_err(|error| {
        let report = Report::new(ErrorCode::InvalidUsage).because(format!("--session: {error}"));
        report.hint("Choose a name such as `first`.").into()
    })
}

/// Who is to answer. What can be wrong with a file is found before the server is asked for anything.
#[derive(Debug)]
enum AgentChoice {
    File(Box<AgentFile>),
    /// Stored already, perhaps to be run with another model.
    Named(String, Option<ModelName>),
}

impl AgentChoice {
    fn file(file: AgentFile) -> Self {
        Self::File(Box::new(file))
    }

    fn read(agent: Option<&str>, model: Option<ModelName>) -> Outcome<Self> {
        match (agent, model) {
            (None, None) => Ok(Self::file(AgentFile::first(&own_name(GUIDED)?)?)),
            (None, Some(model)) => {
                let name = name_with(PLAIN, &model)?;
                Ok(Self::file(AgentFile::first(&name)?.with_model(name, model)))
            }
            (Some(agent), model) if is_file(agent) => {
                let file = AgentFile::read(Path::new(agent), None)?;
                match model {
                    Some(model) => {
                        let name = name_with(file.definition().name.as_str(), &model)?;
                        Ok(Self::file(file.with_model(name, model)))
                    }
                    None => Ok(Self::file(file)),
                }
            }
            (Some(agent), model) => Ok(Self::Named(agent.to_owned(), model)),
        }
    }

    /// The name under which the server knows it.
    async fn store(self, context: &Context, client: &Client) -> Outcome<String> {
        let file = match self {
            Self::File(file) => *file,
            Self::Named(name, None) => return Ok(find(client, &name, None).await?.name),
            Self::Named(name, Some(model)) => {
                let stored = find(client, &name, None).await?;
                AgentFile::of_stored(stored)?.with_model(name_with(&name, &model)?, model)
            }
        };
        let is_of_another_model = file.is_changed();
        let stored = file.store(client).await?;
        if is_of_another_model && !context.output.is_json {
            context.output.note(&format!("The agent with this model is kept as `{}`.", stored.name));
        }
        Ok(stored.name)
    }
}

/// What stands on this machine, or looks like a path, is a file.
fn is_file(agent: &str) -> bool {
    let looks_like_one =
        agent.contains('/') || [".yaml", ".yml", ".json"].iter().any(|end| agent.ends_with(end));
    looks_like_one || agent == "-" || Path::new(agent).is_file()
}

fn own_name(text: &str) -> Outcome<AgentName> {
    text.parse()
        .map_err(|error| Report::new(ErrorCode::InvalidAgent).because(format!("{text}: {error}")).into())
}

/// The agent with another model has a name of its own, so that nobody else's agent is changed.
fn name_with(agent: &str, model: &ModelName) -> Outcome<AgentName> {
    let model: String = model
        .to_string()
        .to_ascii_lowercase()
        .chars()
        .map(|one| if one.is_ascii_alphanumeric() || matches!(one, '.' | '_') { one } else { '-' })
        .collect();
    let name = format!("{agent}.{model}");
    let end = name.len().min(MAX_AGENT_NAME);
    let name = name.get(..end).unwrap_or(agent).trim_end_matches(|one: char| !one.is_ascii_alphanumeric());
    own_name(name)
}

async fn existing_session(client: &Client, name: &str) -> Outcome<Option<Session>> {
    match client.session(name).await {
        Ok(session) => Ok(Some(session)),
        Err(error) if error.code() == Some(ErrorCode::SessionNotFound.as_str()) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A session keeps its agent and its workspace.
fn refuse_changes(arguments: &RunArguments) -> Outcome<()> {
    let given = [
        ("--agent", arguments.agent.is_some()),
        ("--model", arguments.model.is_some()),
        ("--workspace", arguments.workspace.is_some()),
        ("--provider", arguments.provider.is_some()),
        ("--rm", arguments.removes_workspace),
    ];
    let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let problem =
        format!("{flag}: the session of this name is there already, and keeps its agent and its workspace");
    Err(Report::new(ErrorCode::SessionExists)
        .because(problem)
        .hint("Leave it out, or choose another name.")
        .into())
}

struct Beginning<'a> {
    agent: String,
    name: Option<SessionName>,
    suffix: &'a str,
}

/// A new session, with its workspace if that is new too.
async fn begin(
    context: &Context,
    client: &Client,
    arguments: &RunArguments,
    beginning: &Beginning<'_>,
) -> Outcome<(Session, Option<Workspace>)> {
    let own_name = format!("run-{}", beginning.suffix);
    let (workspace_id, made) = match &arguments.workspace {
        Some(workspace) => (resolve(client, workspace).await?, None),
        None => {
            let made = make_workspace(context, client, arguments.provider.as_deref(), &own_name).await?;
            (made.id.clone(), Some(made))
        }
    };
    let name = beginning.name.as_ref().map_or(own_name, ToString::to_string);
    let create = CreateSession {
        workspace_id,
        agent: beginning.agent.clone(),
        name: Some(name),
        ..CreateSession::default()
    };
    match client.create_session(&create, Some(&format!("warren-run-{}", beginning.suffix))).await {
        Ok(session) => Ok((session, made)),
        Err(error) => {
            if let Some(workspace) = &made {
                take_back(client, workspace).await;
            }
            Err(error.into())
        }
    }
}

async fn make_workspace(
    context: &Context,
    client: &Client,
    provider: Option<&str>,
    name: &str,
) -> Outcome<Workspace> {
    let kind = match provider {
        Some(kind) => kind.to_owned(),
        None => default_kind(client).await?,
    };
    if kind == UNBOXED {
        context.output.note(
            "Careful: a `local` workspace is no box. What the agent runs, runs as the user of the server, with their files.",
        );
    }
    let made =
        client.create_workspace(&CreateWorkspace::new(name.to_owned(), json!({ "kind": kind }))).await?;
    let made = wait_until_settled(client, made, OPENING).await?;
    if made.status == Status::Failed {
        return Err(failed_to_open(&made).into());
    }
    if !context.output.is_json {
        context.output.note(&format!("Workspace {name} ({kind}) is ready."));
    }
    Ok(made)
}

/// A workspace in which nothing came to pass. That it stays would add nothing to what is told.
async fn take_back(client: &Client, workspace: &Workspace) {
    let _ = client.remove_workspace(&workspace.id, None, true).await;
}

/// Says what becomes of the workspace that was made. Returns whether it is removed.
async fn tell_workspace(
    context: &Context,
    client: &Client,
    workspace: &Workspace,
    removes: bool,
    is_unfinished: bool,
) -> Outcome<bool> {
    let name = &workspace.name;
    if removes && !is_unfinished {
        client.remove_workspace(&workspace.id, None, false).await?;
        context.output.note(&format!("Workspace {name} is removed."));
        return Ok(true);
    }
    if context.output.is_json && !removes {
        return Ok(false);
    }
    if is_unfinished {
        context
            .output
            .note(&format!("Workspace {name} stays for it; once it has ended: `warren ws rm {name}`."));
    } else {
        context.output.note(&format!("Workspace {name} stays; remove it with `warren ws rm {name}`."));
    }
    Ok(false)
}

/// Tells one run's session and workspace from another's.
fn suffix() -> String {
    let mut bytes = [0; NAME_LETTERS];
    OsEntropy.fill(&mut bytes);
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // S12
    #[test]
    fn an_agent_with_another_model_has_a_name_of_its_own() {
        let name = |agent: &str, model: &str| name_with(agent, &model.parse().unwrap()).unwrap().to_string();
        assert_eq!(name("helper", "anthropic/claude-sonnet-4-5"), "helper.anthropic-claude-sonnet-4-5");
        assert_eq!(name("helper", "x/Big:70b"), "helper.x-big-70b");
        let long = name(&"a".repeat(60), "openai/gpt-5");
        assert!(long.len() <= MAX_AGENT_NAME && long.starts_with("aaaa"), "{long}");
    }

    // S12
    #[test]
    fn a_name_is_told_from_a_file() {
        for (agent, expected) in
            [("helper", false), ("a/helper", true), ("helper.yaml", true), ("helper.json", true), ("-", true)]
        {
            assert_eq!(is_file(agent), expected, "{agent}");
        }
    }

    // S12
    #[test]
    fn names_of_runs_are_plain() {
        let one = suffix();
        assert!(one.len() == NAME_LETTERS && one.bytes().all(|byte| LETTERS.contains(&byte)), "{one}");
    }
}
