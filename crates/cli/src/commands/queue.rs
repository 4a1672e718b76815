//! `warren queue` and `warren task`: messages on their way, and the work they lead to.

use warren_api::client::Client;
use warren_api::{DeliveryState, MessagePart, QueuedMessage, SendMessage, Task, TaskMessage, TaskState};
use warren_doors::{Clock as _, SystemClock};

use super::cursors::all_pages;
use super::facts::{Facts, word};
use super::workspace::age;
use crate::arguments::{QueueCommand, QueueState, TaskCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::names::Names;
use crate::workspace_name::resolve;

/// How long one request waits; many of them wait as long as it takes.
pub(super) const WAIT_MS: u64 = 30_000;
/// How long nothing is said of a message that waits.
pub(super) const MOMENT_MS: u64 = 2_000;
/// Of a message, in a table.
const SHOWN_CHARACTERS: usize = 48;

pub(crate) async fn run(context: &Context, command: QueueCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        QueueCommand::Ls { workspace, state } => {
            let id = resolve(&client, &workspace).await?;
            list(context, &client, &id, state).await?;
        }
        QueueCommand::Show { workspace, id } => {
            let of = resolve(&client, &workspace).await?;
            let message = client.queued_message(&of, &id).await?;
            show_message(context, &client, &message).await?;
        }
        QueueCommand::Rm { workspace, id } => {
            let of = resolve(&client, &workspace).await?;
            let dropped = client.drop_queued_message(&of, &id).await?;
            if context.output.is_json {
                context.output.json(&dropped)?;
            } else {
                context.output.note("The message is out of the queue; its task is cancelled.");
            }
        }
        QueueCommand::Clear { workspace } => {
            let id = resolve(&client, &workspace).await?;
            let cleared = client.clear_queue(&id).await?;
            if context.output.is_json {
                context.output.json(&cleared)?;
            } else {
                context.output.note(&format!("{} messages are out of the queue.", cleared.messages));
            }
        }
    }
    Ok(Exit::OK)
}

async fn list(context: &Context, client: &Client, id: &str, state: QueueState) -> Outcome<()> {
    let state = match state {
        QueueState::Queued => DeliveryState::Queued,
        QueueState::Claimed => DeliveryState::Claimed,
        QueueState::Ended => DeliveryState::Ended,
    };
    let found: Vec<QueuedMessage> = all_pages(None, async |cursor| {
        let page = client.queue(id, state, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No messages.");
        return Ok(());
    }
    let (now, names) = (SystemClock.now(), Names::load(client).await);
    let row = |one: &QueuedMessage| {
        let end = one.end.clone().or_else(|| one.reason.clone()).unwrap_or_else(|| "-".into());
        let place = one.position.map_or_else(|| "-".into(), |before| before.to_string());
        vec![
            place,
            names.author(&one.author),
            one.attempts.to_string(),
            end,
            age(&one.created_at, now),
            shown(&one.message),
            one.id.clone(),
        ]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["before it", "from", "attempts", "state", "age", "message", "id"], &rows)
}

pub(crate) async fn run_task(context: &Context, command: TaskCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        TaskCommand::Send { workspace, message, no_wait, task, key, priority } => {
            let id = resolve(&client, &workspace).await?;
            let message = TaskMessage { parts: vec![MessagePart::text(message)], ..TaskMessage::default() };
            let send = SendMessage { message, task_id: task, priority, ..SendMessage::default() };
            let accepted = client.send_message(&id, &send, key.as_deref()).await?;
            if no_wait {
                if context.output.is_json {
                    context.output.json(&accepted)?;
                } else {
                    let place =
                        accepted.position.map_or(String::new(), |before| format!("  {before} before it"));
                    context.output.line(&format!("{}{place}", accepted.task.id))?;
                }
                return Ok(Exit::OK);
            }
            let mut task = accepted.task;
            if accepted.queued {
                // An agent that comes and asks is a moment behind; only one that does not come is worth a word.
                task = client.task(&id, &task.id, MOMENT_MS).await?;
                if task.state == TaskState::Submitted {
                    context.output.note("The workspace is busy or not there yet; the message waits for it.");
                }
            }
            let task = until_settled(&client, &id, task).await?;
            tell(context, &task)?;
            return Ok(if has_failed(task.state) { Exit::FAILURE } else { Exit::OK });
        }
        TaskCommand::Ls { workspace } => {
            let id = resolve(&client, &workspace).await?;
            list_tasks(context, &client, &id).await?;
        }
        TaskCommand::Show { workspace, task } => {
            let id = resolve(&client, &workspace).await?;
            let task = client.task(&id, &task, 0).await?;
            show_task(context, &client, &task).await?;
        }
        TaskCommand::Cancel { workspace, task } => {
            let id = resolve(&client, &workspace).await?;
            let task = client.cancel_task(&id, &task).await?;
            if context.output.is_json {
                context.output.json(&task)?;
            } else {
                context.output.note("The task is cancelled.");
            }
        }
    }
    Ok(Exit::OK)
}

async fn until_settled(client: &Client, workspace: &str, mut task: Task) -> Outcome<Task> {
    while matches!(task.state, TaskState::Submitted | TaskState::Working) {
        task = client.task(workspace, &task.id, WAIT_MS).await?;
    }
    Ok(task)
}

pub(super) fn has_failed(state: TaskState) -> bool {
    matches!(state, TaskState::Failed | TaskState::Cancelled | TaskState::Rejected)
}

/// What came of a task, as text; the rest is in `--json`.
fn tell(context: &Context, task: &Task) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(task);
    }
    for part in task.artifacts.iter().flat_map(|artifact| &artifact.parts) {
        tell_part(context, part)?;
    }
    let last = task
        .status_message
        .as_ref()
        .or_else(|| task.history.iter().rev().find(|message| message.role == warren_api::MessageRole::Agent));
    for part in last.into_iter().flat_map(|message| &message.parts) {
        tell_part(context, part)?;
    }
    if matches!(task.state, TaskState::InputRequired | TaskState::AuthRequired) {
        context.output.note(&format!("The agent waits for more: answer with `--task {}`.", task.id));
    }
    Ok(())
}

pub(super) fn tell_part(context: &Context, part: &MessagePart) -> Outcome<()> {
    part_text(part).lines().try_for_each(|line| context.output.line(line))
}

async fn list_tasks(context: &Context, client: &Client, id: &str) -> Outcome<()> {
    let found: Vec<Task> = all_pages(None, async |cursor| {
        let page = client.tasks(id, None, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No tasks. Send a message with `warren task send WORKSPACE MESSAGE`.");
        return Ok(());
    }
    let (now, names) = (SystemClock.now(), Names::load(client).await);
    let row = |task: &Task| {
        let asked = task.history.first().map(shown).unwrap_or_default();
        let from = names.author(&task.author);
        vec![word(task.state), from, age(&task.created_at, now), asked, task.id.clone()]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table_with_statuses(&["state", "from", "age", "message", "id"], &rows, 0)
}

async fn show_message(context: &Context, client: &Client, message: &QueuedMessage) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(message);
    }
    let mut facts = Facts::default();
    facts.add("id", &message.id);
    facts.add("task", &message.task_id);
    facts.add("from", Names::load(client).await.author(&message.author));
    facts.add("state", word(message.state));
    facts.add_known("before it", message.position.map(|before| before.to_string()));
    facts.add_known("end", message.end.as_deref());
    facts.add_known("reason", message.reason.as_deref());
    facts.add("priority", message.priority.to_string());
    facts.add("attempts", message.attempts.to_string());
    facts.add("created", &message.created_at);
    facts.add("not before", &message.not_before);
    facts.add("expires", &message.expires_at);
    facts.add_known("leased until", message.lease_until.as_deref());
    facts.add_known("ended", message.ended_at.as_deref());
    facts.add("message", text_of(&message.message.parts));
    facts.print(context)
}

async fn show_task(context: &Context, client: &Client, task: &Task) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(task);
    }
    let mut facts = Facts::default();
    facts.add("id", &task.id);
    facts.add("context", &task.context_id);
    facts.add("from", Names::load(client).await.author(&task.author));
    facts.add("state", word(task.state));
    facts.add("created", &task.created_at);
    facts.add("updated", &task.updated_at);
    for message in task.history.iter().chain(&task.status_message) {
        facts.add(&word(message.role), text_of(&message.parts));
    }
    for artifact in &task.artifacts {
        facts.add(artifact.name.as_deref().unwrap_or("result"), text_of(&artifact.parts));
    }
    facts.print(context)
}

fn text_of(parts: &[MessagePart]) -> String {
    parts.iter().map(part_text).collect::<Vec<_>>().join("\n")
}

/// What of a part can be read.
fn part_text(part: &MessagePart) -> String {
    let text = part.text.clone().or_else(|| part.url.clone());
    let text = text.or_else(|| part.data.as_ref().map(ToString::to_string));
    text.unwrap_or_else(|| {
        part.filename.as_ref().map_or_else(|| "(bytes)".into(), |name| format!("({name})"))
    })
}

fn shown(message: &TaskMessage) -> String {
    let text = message.parts.iter().find_map(|part| part.text.as_deref()).unwrap_or("(no text)");
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= SHOWN_CHARACTERS {
        return line.to_owned();
    }
    line.chars().take(SHOWN_CHARACTERS - 1).chain(['…']).collect()
}
