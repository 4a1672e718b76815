//! `warren approval`: what workspaces ask people for.

use warren_api::client::Client;
use warren_api::{Approval, DecideApproval};

use super::cursors::all_pages;
use crate::arguments::ApprovalCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::names::Names;
use crate::workspace_name::resolve;

pub(crate) async fn run(context: &Context, command: ApprovalCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        ApprovalCommand::Ls { workspace, all } => list(context, &client, workspace, all).await?,
        ApprovalCommand::Show { id } => show(context, &client, &client.approval(&id, None).await?).await?,
        ApprovalCommand::Approve(decide) => {
            let decision = DecideApproval { note: decide.note, ..DecideApproval::default() };
            tell(context, &client.approve(&decide.id, &decision).await?)?;
        }
        ApprovalCommand::Deny(decide) => {
            let decision = DecideApproval { note: decide.note, ..DecideApproval::default() };
            tell(context, &client.deny(&decide.id, &decision).await?)?;
        }
    }
    Ok(Exit::OK)
}

fn state_of(approval: &Approval) -> String {
    serde_json::json!(approval.state).as_str().unwrap_or_default().to_owned()
}

fn tell(context: &Context, approval: &Approval) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(approval);
    }
    context.output.line(&format!("{}  {}", approval.id, state_of(approval)))
}

async fn list(context: &Context, client: &Client, workspace: Option<String>, all: bool) -> Outcome<()> {
    let workspace_id = match workspace {
        Some(workspace) => Some(resolve(client, &workspace).await?),
        None => None,
    };
    let state = (!all).then_some("pending");
    let found: Vec<Approval> = all_pages(None, async |cursor| {
        let page = client.approvals(workspace_id.as_deref(), state, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note(if all {
            "Nobody has asked for anything."
        } else {
            "Nobody waits for a decision."
        });
        return Ok(());
    }
    let names = Names::of_workspaces(client).await;
    let row = |one: &Approval| {
        vec![
            state_of(one),
            names.workspace(&one.workspace_id),
            one.action.clone(),
            one.expires_at.clone(),
            one.reason.clone(),
            one.id.clone(),
        ]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table_with_statuses(&["state", "workspace", "action", "until", "reason", "id"], &rows, 0)
}

async fn show(context: &Context, client: &Client, approval: &Approval) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(approval);
    }
    let names = Names::load(client).await;
    let who = |principal: &warren_api::Principal| names.principal(principal);
    let dash = || "-".to_owned();
    let fields = [
        ("id", approval.id.clone()),
        ("state", state_of(approval)),
        ("workspace", names.workspace(&approval.workspace_id)),
        ("task", approval.task_id.clone().unwrap_or_else(dash)),
        ("action", approval.action.clone()),
        ("reason", approval.reason.clone()),
        ("context", approval.context.to_string()),
        ("asked by", who(&approval.asked_by)),
        ("asked at", approval.created_at.clone()),
        ("until", approval.expires_at.clone()),
        ("decided by", approval.decided_by.as_ref().map_or_else(dash, who)),
        ("decided at", approval.decided_at.clone().unwrap_or_else(dash)),
        ("note", approval.note.clone().unwrap_or_else(dash)),
    ];
    let rows: Vec<_> = fields.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    context.output.table(&["field", "value"], &rows)
}
