//! `warren memory`: what agents remember.

use warren_api::client::Client;
use warren_api::{Memory, Remember};
use warren_model::ErrorCode;

use super::cursors::all_pages;
use crate::arguments::{GetMemoryArguments, MemoryCommand, MemoryScope, SetMemoryArguments};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::names::Names;
use crate::workspace_name::resolve;

/// Of a value, in a list.
const SHOWN_CHARACTERS: usize = 60;

pub(crate) async fn run(context: &Context, command: MemoryCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        MemoryCommand::Set(arguments) => set(context, &client, arguments).await?,
        MemoryCommand::Get(at) => {
            let id = resolve(&client, &at.workspace).await?;
            let memory = recall(&client, &id, &at).await?;
            if context.output.is_json {
                context.output.json(&memory)?;
            } else {
                context.output.line(&memory.value)?;
            }
        }
        MemoryCommand::Ls { workspace, scope } => {
            let id = resolve(&client, &workspace).await?;
            let scope = scope.map(MemoryScope::as_str);
            let found = all_pages(None, async |cursor| {
                let page = client.memories(&id, scope, cursor).await?;
                context.output.note_unreadable(&page.unreadable);
                Ok((page.items, page.next_cursor))
            })
            .await?;
            tell(context, &client, &found, "Nothing is remembered.").await?;
        }
        MemoryCommand::Search { workspace, words, scope } => {
            let id = resolve(&client, &workspace).await?;
            let scope = scope.map(MemoryScope::as_str);
            let found = client.search_memories(&id, scope, &words).await?;
            context.output.note_unreadable(&found.unreadable);
            tell(context, &client, &found.items, "Nothing is found.").await?;
        }
        MemoryCommand::Rm(at) => {
            let id = resolve(&client, &at.workspace).await?;
            client.forget(&id, at.scope.as_str(), &at.key).await?;
            context.output.note("It is forgotten.");
        }
    }
    Ok(Exit::OK)
}

/// Of one scope, or of the nearest that has the key: `ls` shows them all, so that what it shows is found.
async fn recall(client: &Client, id: &str, at: &GetMemoryArguments) -> Outcome<Memory> {
    let Some(scope) = at.scope else {
        for nearer in [MemoryScope::Local, MemoryScope::Team] {
            match client.recall(id, nearer.as_str(), &at.key).await {
                Err(error) if error.code() == Some(ErrorCode::MemoryNotFound.as_str()) => {}
                found => return Ok(found?),
            }
        }
        return Ok(client.recall(id, MemoryScope::Org.as_str(), &at.key).await?);
    };
    Ok(client.recall(id, scope.as_str(), &at.key).await?)
}

async fn set(context: &Context, client: &Client, arguments: SetMemoryArguments) -> Outcome<()> {
    let ttl_seconds = match arguments.ttl.map(|span| u32::try_from(span.ms / 1_000)) {
        Some(Ok(seconds)) => Some(seconds),
        Some(Err(_)) => {
            return Err(Report::new(ErrorCode::InvalidUsage).because("--ttl: it is too long").into());
        }
        None => None,
    };
    let id = resolve(client, &arguments.at.workspace).await?;
    let wish = Remember {
        value: arguments.value,
        ttl_seconds,
        task_id: None,
        expected_version: arguments.if_version,
    };
    let memory = client.remember(&id, arguments.at.scope.as_str(), &arguments.at.key, &wish).await?;
    if context.output.is_json {
        return context.output.json(&memory);
    }
    context.output.line(&format!("{}  version {}", memory.key, memory.version))?;
    if memory.masked > 0 {
        context.output.note(&format!("Credentials in it were masked: {}.", memory.masked));
    }
    Ok(())
}

async fn tell(context: &Context, client: &Client, found: &[Memory], nothing: &str) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note(nothing);
        return Ok(());
    }
    let names = Names::load(client).await;
    let row = |one: &Memory| {
        let scope = serde_json::json!(one.scope).as_str().unwrap_or_default().to_owned();
        let author = names.principal(&one.author);
        let mut value: String = one.value.chars().take(SHOWN_CHARACTERS).collect();
        if value.len() < one.value.len() {
            value.push('…');
        }
        vec![scope, one.key.clone(), one.version.to_string(), author, value]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["scope", "key", "version", "author", "value"], &rows)
}
