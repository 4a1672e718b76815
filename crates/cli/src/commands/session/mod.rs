//! `warren session`: durable conversations with agents.

mod control;
mod rules;
mod show;

use serde_json::json;
use warren_api::client::{Client, SessionQuery};
use warren_api::{
    AgentChange, AgentChangeKind, BranchSession, BusyMode, ResumeSession, RunLimits, SendSessionMessage,
    Session, SessionMessage, SessionMessageState, SessionStatus, SuspendedBy,
};
use warren_doors::{Clock as _, SystemClock};
use warren_model::ErrorCode;

use super::cursors::first_of_pages;
use super::facts::word;
use super::run::{Start, attend, standard_input};
use super::workspace::age;
use crate::arguments::{AttendArguments, ListSessionsArguments, ResumeArguments, SendMode, SessionCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::workspace_name::resolve;

pub(crate) async fn run(context: &Context, command: SessionCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        SessionCommand::Ls(arguments) => list(context, &client, arguments).await?,
        SessionCommand::Show { session } => show::session(context, &client, &session).await?,
        SessionCommand::Follow { session, after, attend } => {
            return follow(context, client, &session, after, attend).await;
        }
        SessionCommand::Resume(arguments) => return resume(context, client, &arguments).await,
        SessionCommand::Send { session, text, mode } => send(context, &client, &session, text, mode).await?,
        SessionCommand::Cancel { session, message } => {
            tell_message(context, &client.cancel_session_message(&session, &message).await?)?;
        }
        SessionCommand::Approve { which, arguments, remember } => {
            control::approve(context, &client, &which, arguments.as_deref(), remember).await?;
        }
        SessionCommand::Rules { revoke: None } => rules::list(context, &client).await?,
        SessionCommand::Rules { revoke: Some(id) } => rules::revoke(context, &client, &id).await?,
        SessionCommand::Deny { which } => control::deny(context, &client, &which).await?,
        SessionCommand::Answer(arguments) => control::answer(context, &client, arguments).await?,
        SessionCommand::Interrupt(arguments) => control::interrupt(context, &client, &arguments).await?,
        SessionCommand::Abort(arguments) => control::abort(context, &client, &arguments).await?,
        SessionCommand::Branch { session, step, name } => {
            let branched = client.branch_session(&session, &BranchSession { step, name }).await?;
            tell(context, &branched)?;
        }
        SessionCommand::Rewind { session, step } => {
            tell(context, &client.rewind_session(&session, step).await?)?;
        }
        SessionCommand::Upgrade { session } => upgrade(context, &client, &session).await?,
        SessionCommand::Steps { session } => show::steps(context, &client, &session).await?,
        SessionCommand::Context { session, step } => {
            let shown = client.step_context(&session, step).await?;
            context.output.json(&shown)?;
        }
    }
    Ok(Exit::OK)
}

/// One line, or all of it.
fn tell(context: &Context, session: &Session) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(session);
    }
    context.output.line(&format!("{}  {}", session.name, status(session)))
}

/// Its status, with what it waits for.
fn status(session: &Session) -> String {
    match &session.suspension {
        Some(suspension) => format!("{} ({})", word(session.status), word(suspension.by)),
        None => word(session.status),
    }
}

async fn list(context: &Context, client: &Client, arguments: ListSessionsArguments) -> Outcome<()> {
    let status_wanted: Option<SessionStatus> = match &arguments.status {
        Some(name) => Some(serde_json::from_value(json!(name)).map_err(|_| {
            let known = "idle, running, suspended, completed, failed or interrupted";
            Report::new(ErrorCode::InvalidUsage).because(format!("--status: `{name}` is none of {known}"))
        })?),
        None => None,
    };
    let workspace_id = match &arguments.workspace {
        Some(workspace) => Some(resolve(client, workspace).await?),
        None => None,
    };
    let query =
        SessionQuery { workspace_id, agent: arguments.agent.clone(), status: status_wanted, cursor: None };
    let mut has_more = false;
    let found: Vec<Session> = first_of_pages(arguments.limit, None, async |cursor| {
        let query = SessionQuery { cursor: cursor.map(str::to_owned), ..query.clone() };
        let page = client.sessions(&query).await?;
        context.output.note_unreadable(&page.unreadable);
        has_more = page.next_cursor.is_some();
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No sessions. Begin one with `warren run PROMPT`.");
        return Ok(());
    }
    let now = SystemClock.now();
    let row = |one: &Session| {
        let title = if one.title.is_empty() { "-" } else { &one.title };
        vec![
            one.name.clone(),
            status(one),
            one.agent.clone(),
            one.last_step.to_string(),
            age(&one.updated_at, now),
            title.to_owned(),
        ]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["name", "status", "agent", "steps", "age", "title"], &rows)?;
    if has_more && found.len() >= arguments.limit {
        context.output.note("There may be more; `--limit COUNT` shows them.");
    }
    Ok(())
}

async fn follow(
    context: &Context,
    client: Client,
    name: &str,
    after: Option<u64>,
    arguments: AttendArguments,
) -> Outcome<Exit> {
    let session = client.session(name).await?;
    let after = after.unwrap_or(session.latest_sequence);
    let start = Start { session: session.name, after, message: None };
    Ok(attend(context, client, start, arguments).await?.exit)
}

/// Goes on with what stands still; what goes on by itself, or waits for an answer, is followed only.
async fn resume(context: &Context, client: Client, arguments: &ResumeArguments) -> Outcome<Exit> {
    let session = client.session(&arguments.session).await?;
    let limits = RunLimits {
        cost_micros: arguments.cost_micros,
        tokens: arguments.tokens,
        steps: arguments.steps,
        tool_calls: arguments.tool_calls,
        seconds: arguments.seconds,
    };
    let has_limits = limits != RunLimits::default();
    let suspended_by = session.suspension.as_ref().map(|suspension| suspension.by);
    let goes_on_by_itself = match session.status {
        SessionStatus::Running => true,
        SessionStatus::Idle => session.run > 0,
        SessionStatus::Suspended => !matches!(suspended_by, Some(SuspendedBy::Budget | SuspendedBy::Stuck)),
        SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Interrupted => false,
    };
    let after = session.latest_sequence;
    // Whoever decided what it waited for may come back when everything is done.
    let is_done = session.status == SessionStatus::Completed && !has_limits;
    let session = if is_done || (goes_on_by_itself && !has_limits) {
        session
    } else {
        let resume = ResumeSession { limits: has_limits.then_some(limits) };
        client.resume_session(&session.name, resume).await?
    };
    if arguments.no_wait {
        tell(context, &session)?;
        return Ok(Exit::OK);
    }
    let start = Start { session: session.name, after, message: None };
    Ok(attend(context, client, start, arguments.attend).await?.exit)
}

async fn send(
    context: &Context,
    client: &Client,
    session: &str,
    text: String,
    mode: Option<SendMode>,
) -> Outcome<()> {
    let text = if text == "-" { standard_input()? } else { text };
    let mode = mode.map(|mode| match mode {
        SendMode::Queue => BusyMode::Queue,
        SendMode::Steer => BusyMode::Steer,
        SendMode::Interrupt => BusyMode::Interrupt,
        SendMode::Reject => BusyMode::Reject,
    });
    let message = SendSessionMessage { text: Some(text), mode, ..SendSessionMessage::default() };
    tell_message(context, &client.send_session_message(session, &message, None).await?)
}

fn tell_message(context: &Context, message: &SessionMessage) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(message);
    }
    let more = match (message.state, message.step, &message.dropped_because) {
        (SessionMessageState::Delivered, Some(step), _) => format!(" with step {step}"),
        (SessionMessageState::Dropped, _, Some(why)) => format!(": {why}"),
        _ => String::new(),
    };
    context.output.line(&format!("{}  {}{more}", message.id, word(message.state)))
}

/// `changed model: "a/b" → "c/d"`
fn told_change(change: &AgentChange) -> String {
    let AgentChange { path, change: kind, before, after } = change;
    match (before, after) {
        (Some(before), Some(after)) => format!("{} {path}: {before} → {after}", word(kind)),
        (None, Some(after)) if *kind == AgentChangeKind::Added => format!("{} {path}: {after}", word(kind)),
        _ => format!("{} {path}", word(kind)),
    }
}

async fn upgrade(context: &Context, client: &Client, session: &str) -> Outcome<()> {
    let upgraded = client.upgrade_session(session).await?;
    if context.output.is_json {
        return context.output.json(&upgraded);
    }
    let (now, before) = (&upgraded.session.agent_hash, &upgraded.previous_agent_hash);
    if now == before {
        context.output.note("It has the latest version of its agent already.");
    } else {
        context.output.note(&format!("It had the version {before}."));
    }
    for change in &upgraded.changes {
        context.output.note(&told_change(change));
    }
    context.output.line(&format!("{}  {}  {now}", upgraded.session.name, upgraded.session.agent))
}
