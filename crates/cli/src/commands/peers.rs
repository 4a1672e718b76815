//! `warren peers` and `warren delegation`: whom a workspace may talk to, and the work it hands on.

use warren_api::client::Client;
use warren_api::{
    Delegate, Delegation, DelegationState, MessagePart, Peer, PeerCircle, PeerPolicy, TaskMessage,
};
use warren_doors::{Clock as _, SystemClock};

use super::cursors::all_pages;
use super::facts::{Facts, word};
use super::queue::{WAIT_MS, tell_part};
use super::workspace::age;
use crate::arguments::{Circle, DelegationCommand, PeersArguments};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::names::Names;
use crate::workspace_name::resolve;

pub(crate) async fn run_peers(context: &Context, arguments: &PeersArguments) -> Outcome<Exit> {
    let client = context.client()?;
    let id = resolve(&client, &arguments.workspace).await?;
    let is_change = arguments.circle.is_some()
        || !(arguments.allow.is_empty() && arguments.deny.is_empty() && arguments.forget.is_empty());
    if is_change {
        let policy = changed_policy(&client, &id, arguments).await?;
        let policy = client.set_peer_policy(&id, &policy).await?;
        return tell_policy(context, &client, &policy).await;
    }
    if arguments.policy {
        return tell_policy(context, &client, &client.peer_policy(&id).await?).await;
    }
    list_peers(context, &client, &id).await
}

/// The rule with what is asked for. Of two words about one workspace, the new one counts.
async fn changed_policy(client: &Client, id: &str, arguments: &PeersArguments) -> Outcome<PeerPolicy> {
    let (mut allow, mut deny, mut forget) = (Vec::new(), Vec::new(), Vec::new());
    for (names, ids) in
        [(&arguments.allow, &mut allow), (&arguments.deny, &mut deny), (&arguments.forget, &mut forget)]
    {
        for name in names {
            ids.push(resolve(client, name).await?);
        }
    }
    let mut policy = client.peer_policy(id).await?;
    let is_named = |one: &String| allow.contains(one) || deny.contains(one) || forget.contains(one);
    policy.allow.retain(|one| !is_named(one));
    policy.deny.retain(|one| !is_named(one));
    policy.allow.extend(allow);
    policy.deny.extend(deny);
    policy.circle = match arguments.circle {
        Some(Circle::Nobody) => PeerCircle::Nobody,
        Some(Circle::Family) => PeerCircle::Family,
        Some(Circle::Org) => PeerCircle::Org,
        None => policy.circle,
    };
    Ok(policy)
}

async fn tell_policy(context: &Context, client: &Client, policy: &PeerPolicy) -> Outcome<Exit> {
    if context.output.is_json {
        context.output.json(policy)?;
        return Ok(Exit::OK);
    }
    let names = Names::of_workspaces(client).await;
    let listed = |ids: &[String]| {
        let all: Vec<String> = ids.iter().map(|id| names.workspace(id)).collect();
        if all.is_empty() { "-".to_owned() } else { all.join(", ") }
    };
    let mut facts = Facts::default();
    facts.add("circle", word(policy.circle));
    facts.add("allow", listed(&policy.allow));
    facts.add("deny", listed(&policy.deny));
    facts.print(context)?;
    Ok(Exit::OK)
}

async fn list_peers(context: &Context, client: &Client, id: &str) -> Outcome<Exit> {
    let found = client.peers(id, "").await?.items;
    if context.output.is_json {
        context.output.json(&found)?;
    } else if found.is_empty() {
        context.output.note(
            "It may talk to nobody. Its own rule and that of the others decide: see `warren peers NAME --policy`, and change it \
             with `--circle`, `--allow` and `--deny`.",
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
