//! `warren webhook`: other systems that are told, and that speak.

use warren_api::client::Client;
use warren_api::{
    Channel, CreateChannel, CreateWebhook, PatchWebhook, Webhook, WebhookCall, WebhookCallState,
};
use warren_doors::{Clock as _, SystemClock};

use super::cursors::all_pages;
use super::workspace::age;
use crate::arguments::WebhookCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::names::Names;
use crate::workspace_name::resolve;

pub(crate) async fn run(context: &Context, command: WebhookCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        WebhookCommand::Add { name, receiver: url, events, workspace } => {
            let workspace_id = match workspace {
                Some(workspace) => Some(resolve(&client, &workspace).await?),
                None => None,
            };
            add(context, &client, CreateWebhook { name, url, events, workspace_id, secret: None }).await?;
        }
        WebhookCommand::Ls => list(context, &client).await?,
        WebhookCommand::Calls { id, state } => {
            let state = state.map(crate::arguments::CallState::as_str);
            list_calls(context, &client, &id, state).await?;
        }
        WebhookCommand::Redeliver { id, call } => {
            client.redeliver(&id, &call).await?;
            context.output.note("The call is in the queue again.");
        }
        WebhookCommand::Stop { id } => set_active(context, &client, &id, false).await?,
        WebhookCommand::Start { id } => set_active(context, &client, &id, true).await?,
        WebhookCommand::Rm { id } => {
            client.remove_webhook(&id).await?;
            context.output.note("The webhook is removed.");
        }
        WebhookCommand::Open { workspace, name } => {
            let workspace = resolve(&client, &workspace).await?;
            open(context, &client, &workspace, name).await?;
        }
        WebhookCommand::Doors { workspace } => {
            let workspace = resolve(&client, &workspace).await?;
            list_doors(context, &client, &workspace).await?;
        }
        WebhookCommand::Close { workspace, door } => {
            let workspace = resolve(&client, &workspace).await?;
            client.remove_channel(&workspace, &door).await?;
            context.output.note("The door is closed.");
        }
    }
    Ok(Exit::OK)
}

async fn add(context: &Context, client: &Client, webhook: CreateWebhook) -> Outcome<()> {
    let made = client.create_webhook(&webhook).await?;
    if context.output.is_json {
        return context.output.json(&made);
    }
    context.output.note(&format!("Webhook {}. Its secret is shown once:", made.webhook.id));
    context.output.line(&made.secret)
}

async fn list(context: &Context, client: &Client) -> Outcome<()> {
    let found = all_pages(None, async |cursor| {
        let page = client.webhooks(cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No webhooks. Make one with `warren webhook add`.");
        return Ok(());
    }
    let (now, names) = (SystemClock.now(), Names::of_workspaces(client).await);
    let row = |webhook: &Webhook| {
        let events = if webhook.events.is_empty() { "all".to_owned() } else { webhook.events.join(",") };
        let state = if webhook.is_active { "active" } else { "stopped" };
        vec![
            webhook.name.clone(),
            webhook.url.clone(),
            events,
            webhook.workspace_id.as_deref().map_or_else(|| "-".into(), |id| names.workspace(id)),
            state.to_owned(),
            age(&webhook.created_at, now),
            webhook.id.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    context.output.table(&["name", "url", "events", "workspace", "state", "age", "id"], &rows)
}

/// The youngest page: whoever looks for more asks for JSON by cursor.
async fn list_calls(context: &Context, client: &Client, id: &str, state: Option<&str>) -> Outcome<()> {
    let page = client.webhook_calls(id, state, None).await?;
    context.output.note_unreadable(&page.unreadable);
    if context.output.is_json {
        return context.output.json(&page.items);
    }
    if page.items.is_empty() {
        context.output.note("No calls.");
        return Ok(());
    }
    let row = |call: &WebhookCall| {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let state = match call.state {
            WebhookCallState::Queued => "queued",
            WebhookCallState::Delivered => "delivered",
            WebhookCallState::Dead => "dead",
        };
        vec![
            call.id.clone(),
            call.event.clone(),
            state.to_owned(),
            call.attempts.to_string(),
            or_dash(call.last_status.map(|status| status.to_string())),
            or_dash(call.last_error.clone()),
            or_dash(call.next_attempt_at.clone()),
        ]
    };
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    context.output.table(&["id", "event", "state", "attempts", "status", "error", "next"], &rows)?;
    if page.next_cursor.is_some() {
        context.output.note("There are older ones.");
    }
    Ok(())
}

async fn set_active(context: &Context, client: &Client, id: &str, is_active: bool) -> Outcome<()> {
    client.patch_webhook(id, &PatchWebhook { is_active }).await?;
    context.output.note(if is_active { "The webhook goes on." } else { "The webhook is stopped." });
    Ok(())
}

async fn open(context: &Context, client: &Client, workspace: &str, name: String) -> Outcome<()> {
    let made = client.create_channel(workspace, &CreateChannel { name, secret: None }).await?;
    if context.output.is_json {
        return context.output.json(&made);
    }
    let url = format!("{}{}", client.url().as_str().trim_end_matches('/'), made.channel.path);
    context.output.note(&format!("Post signed messages to {url}. The secret is shown once:"));
    context.output.line(&made.secret)
}

async fn list_doors(context: &Context, client: &Client, workspace: &str) -> Outcome<()> {
    let list = client.channels(workspace).await?;
    context.output.note_unreadable(&list.unreadable);
    let found = list.items;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No doors. Open one with `warren webhook open`.");
        return Ok(());
    }
    let now = SystemClock.now();
    let row = |channel: &Channel| {
        vec![channel.id.clone(), channel.name.clone(), channel.path.clone(), age(&channel.created_at, now)]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    context.output.table(&["id", "name", "path", "age"], &rows)
}
