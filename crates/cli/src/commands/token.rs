//! `warren token`: who may speak to the server.

use std::collections::BTreeMap;

use warren_api::client::Client;
use warren_api::{CreateToken, MadeWithTokenList, Token};
use warren_doors::{Clock as _, SystemClock};
use warren_model::Timestamp;

use super::cursors::all_pages;
use super::workspace::age;
use crate::arguments::{Span, TokenCommand, TokenKind};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::names::Names;
use crate::workspace_name::resolve;

pub(crate) async fn run(context: &Context, command: TokenCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        TokenCommand::Create { name, kind, scope, workspace, expires_in } => {
            let request = CreateToken {
                kind: wire_kind(kind),
                name,
                scopes: Some(scope).filter(|scopes| !scopes.is_empty()),
                workspace_id: match workspace {
                    Some(workspace) => Some(resolve(&client, &workspace).await?),
                    None => None,
                },
                expires_in_seconds: expires_in.map(whole_seconds),
            };
            create(context, &client, &request).await?;
        }
        TokenCommand::Ls => list(context, &client).await?,
        TokenCommand::Revoke { id, keep } => revoke(context, &client, &id, keep).await?,
        TokenCommand::Made { id } => made(context, &client, &id).await?,
        TokenCommand::Link => link(context, &client).await?,
    }
    Ok(Exit::OK)
}

async fn revoke(context: &Context, client: &Client, id: &str, keeps_made: bool) -> Outcome<()> {
    let revoked = client.revoke_token(id, keeps_made).await?;
    if context.output.is_json {
        return context.output.json(&revoked);
    }
    context.output.note("The token is revoked.");
    let Some(counted) = counted(&revoked.made.counts) else { return Ok(()) };
    if revoked.ended {
        context.output.note(&format!("Ended with it, since they were made with it: {counted}."));
    } else {
        context.output.note(&format!("Made with it, and left as they are: {counted}."));
    }
    made_table(context, &revoked.made)
}

async fn made(context: &Context, client: &Client, id: &str) -> Outcome<()> {
    let made = client.made_with_token(id).await?;
    if context.output.is_json {
        return context.output.json(&made);
    }
    match counted(&made.counts) {
        Some(counted) => context.output.note(&format!(
            "{counted} were made with it, and end when it is revoked (unless with `--keep`)."
        )),
        None => context.output.note("Nothing that was made with it is active."),
    }
    made_table(context, &made)
}

pub(crate) fn made_table(context: &Context, made: &MadeWithTokenList) -> Outcome<()> {
    if made.items.is_empty() {
        return Ok(());
    }
    let row = |thing: &warren_api::MadeWithToken| {
        let workspace = thing.workspace_id.clone().unwrap_or_else(|| "-".to_owned());
        vec![thing.kind.clone(), thing.id.clone(), thing.name.clone(), workspace]
    };
    let rows: Vec<_> = made.items.iter().map(row).collect();
    context.output.table(&["kind", "id", "name", "workspace"], &rows)
}

/// Such as `3 schedules, 1 webhook`; absent: nothing.
pub(crate) fn counted(counts: &BTreeMap<String, u64>) -> Option<String> {
    let one =
        |(kind, count): (&String, &u64)| format!("{count} {kind}{}", if *count == 1 { "" } else { "s" });
    let words: Vec<_> = counts.iter().filter(|(_, count)| **count > 0).map(one).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

const fn wire_kind(kind: TokenKind) -> warren_api::MintableKind {
    match kind {
        TokenKind::Admin => warren_api::MintableKind::Admin,
        TokenKind::User => warren_api::MintableKind::User,
        TokenKind::Workspace => warren_api::MintableKind::Workspace,
        TokenKind::Join => warren_api::MintableKind::Join,
    }
}

/// Rounded up: a token must not end before what was asked for.
pub(crate) const fn whole_seconds(span: Span) -> u64 {
    span.ms.div_ceil(1_000)
}

async fn create(context: &Context, client: &Client, request: &CreateToken) -> Outcome<()> {
    let created = client.create_token(request).await?;
    if context.output.is_json {
        return context.output.json(&created);
    }
    context.output.note(&format!("Token {} (it is shown once and stored nowhere):", created.token.id));
    context.output.line(&created.secret)
}

async fn list(context: &Context, client: &Client) -> Outcome<()> {
    let found = all_pages(None, async |cursor| {
        let page = client.tokens(cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    let (now, names) = (SystemClock.now(), Names::load(client).await);
    let rows: Vec<Vec<String>> = found.iter().map(|token| row(token, now, &names)).collect();
    context
        .output
        .table(&["name", "kind", "of", "begins with", "scopes", "age", "expires", "last used", "id"], &rows)
}

fn row(token: &Token, now: Timestamp, names: &Names) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let kind = serde_json::to_value(token.kind).ok();
    vec![
        token.name.clone(),
        or_dash(kind.and_then(|kind| kind.as_str().map(str::to_owned))),
        token.workspace_id.as_deref().map_or_else(|| names.principal(&token.owner), |id| names.workspace(id)),
        token.prefix.clone(),
        or_dash(Some(token.scopes.join(",")).filter(|scopes| !scopes.is_empty())),
        age(&token.created_at, now),
        or_dash(token.expires_at.clone()),
        or_dash(token.last_used_at.as_deref().map(|used| age(used, now))),
        token.id.clone(),
    ]
}

async fn link(context: &Context, client: &Client) -> Outcome<()> {
    let link = client.create_sign_in_link().await?;
    let url = format!("{}{}", client.url().as_str().trim_end_matches('/'), link.path);
    if context.output.is_json {
        let document = serde_json::json!({ "link": url, "expires_at": link.expires_at });
        return context.output.json(&document);
    }
    context.output.note(&format!("It works once, until {}:", link.expires_at));
    context.output.line(&url)
}
