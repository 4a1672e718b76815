//! The commands, one file per noun.

mod agent;
mod approval;
mod audit;
mod backup;
mod bundle;
mod chat;
mod config;
mod copy;
mod cursors;
mod events;
mod exec;
mod facts;
mod files;
mod image;
mod local_files;
mod mcp;
mod memory;
mod model_server;
mod peers;
mod people;
mod processes;
mod queue;
mod restore;
mod run;
mod runner;
mod schedule;
mod secret;
mod session;
mod shell;
mod template;
mod token;
mod webhook;
mod workspace;
mod workspace_changes;

use std::future::Future;

use clap::CommandFactory as _;

use self::workspace::Ask;
use crate::arguments::{Arguments, ListArguments, TopCommand, WorkspaceCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::{doctor, up};

pub(crate) fn run(context: &Context, command: TopCommand) -> Outcome<Exit> {
    match command {
        TopCommand::Up(arguments) => up::run(context, &arguments),
        TopCommand::Run(arguments) => block_on(run::run(context, arguments)),
        TopCommand::Agent(command) => block_on(agent::run(context, command)),
        TopCommand::Session(command) => block_on(session::run(context, command)),
        TopCommand::Ws(command) => in_workspace(context, command),
        TopCommand::Ls(arguments) => in_workspace(context, WorkspaceCommand::Ls(arguments)),
        TopCommand::Ps { workspace: Some(workspace) } => {
            in_workspace(context, WorkspaceCommand::Ps { workspace })
        }
        TopCommand::Ps { workspace: None } => {
            in_workspace(context, WorkspaceCommand::Ls(ListArguments::default()))
        }
        TopCommand::Exec(arguments) => in_workspace(context, WorkspaceCommand::Exec(arguments)),
        TopCommand::Shell(arguments) => in_workspace(context, WorkspaceCommand::Shell(arguments)),
        TopCommand::Logs(arguments) => in_workspace(context, WorkspaceCommand::Logs(arguments)),
        TopCommand::Rm(arguments) => in_workspace(context, WorkspaceCommand::Rm(arguments)),
        TopCommand::Peers(arguments) => block_on(peers::run_peers(context, &arguments)),
        TopCommand::Delegation(command) => block_on(peers::run(context, command)),
        TopCommand::Chat(arguments) => block_on(chat::run(context, arguments)),
        TopCommand::Task(command) => block_on(queue::run_task(context, command)),
        TopCommand::Queue(command) => block_on(queue::run(context, command)),
        TopCommand::Events(arguments) => block_on(events::run(context, &arguments)),
        TopCommand::Token(command) => block_on(token::run(context, command)),
        TopCommand::Secret(command) => block_on(secret::run(context, command)),
        TopCommand::Image(command) => block_on(image::run(context, command)),
        TopCommand::Webhook(command) => block_on(webhook::run(context, command)),
        TopCommand::Audit(command) => block_on(audit::run(context, command)),
        TopCommand::Template(command) => block_on(template::run(context, command)),
        TopCommand::Schedule(command) => block_on(schedule::run(context, command)),
        TopCommand::Memory(command) => block_on(memory::run(context, command)),
        TopCommand::Approval(command) => block_on(approval::run(context, command)),
        TopCommand::User(command) => block_on(people::run_user(context, command)),
        TopCommand::Whoami => block_on(people::whoami(context)),
        TopCommand::Org(command) => block_on(people::run_org(context, command)),
        TopCommand::Bundle(command) => block_on(bundle::run(context, command)),
        TopCommand::Backup(arguments) => block_on(backup::run(context, arguments)),
        TopCommand::Restore(arguments) => block_on(restore::run(context, arguments)),
        TopCommand::Mcp(arguments) => block_on(mcp::run(context, &arguments)),
        TopCommand::Runner(arguments) => block_on(runner::run(context, arguments)),
        TopCommand::ModelServer(arguments) => block_on(model_server::run(context, &arguments)),
        TopCommand::Doctor => block_on(doctor::run(context)),
        TopCommand::Config(command) => config::run(context, &command),
        TopCommand::Version => version(context),
        TopCommand::Completions { shell } => completions(context, shell),
    }
}

fn in_workspace(context: &Context, command: WorkspaceCommand) -> Outcome<Exit> {
    block_on(run_workspace_command(context, command))
}

async fn run_workspace_command(context: &Context, command: WorkspaceCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        WorkspaceCommand::Create(arguments) => workspace::create(context, &client, *arguments).await,
        WorkspaceCommand::Ls(arguments) => workspace::list(context, &client, arguments).await,
        WorkspaceCommand::Show { workspace } => workspace::show(context, &client, &workspace).await,
        WorkspaceCommand::Set(arguments) => workspace_changes::set(context, &client, *arguments).await,
        WorkspaceCommand::Exec(arguments) => exec::run(context, &client, arguments).await,
        WorkspaceCommand::Shell(arguments) => shell::run(context, &client, arguments).await,
        WorkspaceCommand::Start(arguments) => processes::start(context, &client, arguments).await,
        WorkspaceCommand::Ps { workspace } => processes::list(context, &client, &workspace).await,
        WorkspaceCommand::Attach(arguments) => shell::attach(context, &client, &arguments).await,
        WorkspaceCommand::Logs(arguments) => processes::logs(context, &client, &arguments).await,
        WorkspaceCommand::Kill(arguments) => processes::kill(context, &client, &arguments).await,
        WorkspaceCommand::Files(command) => files::run(context, &client, command).await,
        WorkspaceCommand::Cp(arguments) => copy::run(context, &client, &arguments).await,
        WorkspaceCommand::Pause { workspace } => {
            workspace::ask(context, &client, &workspace, Ask::Pause).await
        }
        WorkspaceCommand::Resume { workspace } => {
            workspace::ask(context, &client, &workspace, Ask::Resume).await
        }
        WorkspaceCommand::Hibernate { workspace, force } => {
            workspace::ask(context, &client, &workspace, Ask::Hibernate { force }).await
        }
        WorkspaceCommand::Wake { workspace } => workspace::ask(context, &client, &workspace, Ask::Wake).await,
        WorkspaceCommand::Restart { workspace } => {
            workspace::ask(context, &client, &workspace, Ask::Restart).await
        }
        WorkspaceCommand::Reset { workspace } => {
            workspace::ask(context, &client, &workspace, Ask::Reset).await
        }
        WorkspaceCommand::Expand(arguments) => template::expand(context, &client, arguments).await,
        WorkspaceCommand::Collapse { workspace, purge } => {
            template::collapse(context, &client, &workspace, purge).await
        }
        WorkspaceCommand::Rm(arguments) => workspace::remove(context, &client, &arguments).await,
    }
}

/// One thread is enough for a client.
fn block_on<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Report::new(warren_model::ErrorCode::Internal)
            .because(format!("no runtime could be started: {error}"))
    })?;
    let outcome = runtime.block_on(work);
    // A read of standard input that nobody waits for any more must not hold the process back.
    runtime.shutdown_background();
    outcome
}

fn version(context: &Context) -> Outcome<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    if context.output.is_json {
        context.output.json(&serde_json::json!({ "version": version }))?;
    } else {
        context.output.line(&format!("warren {version}"))?;
    }
    Ok(Exit::OK)
}

fn completions(context: &Context, shell: clap_complete::Shell) -> Outcome<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "warren", &mut script);
    context.output.bytes(&script)?;
    Ok(Exit::OK)
}
