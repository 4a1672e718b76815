//! `warren peers` and `warren delegation`: whom a workspace may talk to, and the work it hands on.

use warren_api::client::Client;
use warren_api::{Delegate, Delegation, DelegationState, MessagePart, Peer, TaskMessage};
use warren_doors::{Clock as _, SystemClock};

use super::cursors::all_pages;
use super::facts::{Facts, word};
use super::queue::{WAIT_MS, tell_part};
use super::workspace::age;
use crate::arguments::DelegationCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::names::Names;
use crate::workspace_name::resolve;

pub(crate) async fn list_peers(context: &Context, workspace: &str) -> Outcome<Exit> {
    let client = context.client()?;
    let id = resolve(&client, workspace).await?;
    let found = client.peers(&id, "").await?.items;
    if context.output.is_json {
        context.output.json(&found)?;
    } else if found.is_empty() {
        context.output.note(
            "It may talk to nobody. Its own policy and that of the others decide: see `peer-policy` in the API.",
        );
    } else {
        let row = |one: &Peer| {
            let role = one.role.clone().unwrap_or_else(|| "-".into());
            vec![one.name.clone(), word(one.status), role, one.id.clone()]
        };
        let rows: Vec<_> = found.iter().map(row).collect();
        context.output.table_with_statuses(&["name", "status", "role", "id"], &rows, 1)?;
    }
    Ok(Exit::OK)
}

pub(crate) async fn run(context: &Context, command: DelegationCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        DelegationCommand::Send { from, to, message, no_wait } => {
            let (from, to) = (resolve(&client, &from).await?, resolve(&client, &to).await?);
            return send(context, &client, &from, to, message, no_wait).await;
        }
        DelegationCommand::Ls { workspace } => list(context, &client, &workspace).await?,
        DelegationCommand::Show { workspace, id } => {
            let from = resolve(&client, &workspace).await?;
            let delegation = client.delegation(&from, &id, 0).await?;
            show(context, &client, &delegation).await?;
        }
        DelegationCommand::Cancel { workspace, id } => {
            let from = resolve(&client, &workspace).await?;
            let delegation = client.cancel_delegation(&from, &id).await?;
            if context.output.is_json {
                context.output.json(&delegation)?;
            } else {
                context.output.note("It is taken back.");
            }
        }
    }
    Ok(Exit::OK)
}

async fn send(
    context: &Context,
    client: &Client,
    from: &str,
    to: String,
    message: String,
    no_wait: bool,
) -> Outcome<Exit> {
    let message = TaskMessage { parts: vec![MessagePart::text(message)], ..TaskMessage::default() };
    let work = Delegate { to, message, ..Delegate::default() };
    let mut delegation = client.delegate(from, &work).await?;
    while !no_wait && is_open(delegation.state) {
        delegation = client.delegation(from, &delegation.id, WAIT_MS).await?;
    }
    if context.output.is_json {
        context.output.json(&delegation)?;
    } else if no_wait {
        context.output.line(&delegation.id)?;
    } else {
        delegation.result.iter().try_for_each(|part| tell_part(context, part))?;
    }
    let is_good = no_wait || delegation.state == DelegationState::Completed;
    Ok(if is_good { Exit::OK } else { Exit::FAILURE })
}

async fn list(context: &Context, client: &Client, workspace: &str) -> Outcome<()> {
    let from = resolve(client, workspace).await?;
    let found: Vec<Delegation> = all_pages(None, async |cursor| {
        let page = client.delegations(&from, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("It has handed nothing on.");
        return Ok(());
    }
    let (now, names) = (SystemClock.now(), Names::of_workspaces(client).await);
    let row = |one: &Delegation| {
        vec![word(one.state), names.workspace(&one.to), age(&one.created_at, now), one.id.clone()]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table_with_statuses(&["state", "to", "age", "id"], &rows, 0)
}

async fn show(context: &Context, client: &Client, delegation: &Delegation) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(delegation);
    }
    let names = Names::of_workspaces(client).await;
    let mut facts = Facts::default();
    facts.add("id", &delegation.id);
    facts.add("from", names.workspace(&delegation.from));
    facts.add("to", names.workspace(&delegation.to));
    facts.add("state", word(delegation.state));
    facts.add("task", &delegation.task_id);
    facts.add("created", &delegation.created_at);
    facts.add_known("ended", delegation.ended_at.as_deref());
    facts.print(context)?;
    delegation.result.iter().try_for_each(|part| tell_part(context, part))
}

fn is_open(state: DelegationState) -> bool {
    matches!(state, DelegationState::Pending | DelegationState::Queued | DelegationState::Dispatched)
}
