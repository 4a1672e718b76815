//! `warren ws files`: single files and directories of a workspace.

use futures_util::StreamExt as _;
use warren_api::client::{ByteRange, Client, PathContents};
use warren_api::{ChangeKind, Entry, EntryKind, FileWatchFrame, FileWritten, MoveFile};
use warren_model::ErrorCode;

use super::cursors::all_pages;
use super::local_files;
use crate::arguments::FilesCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::workspace_name::resolve;

pub(crate) async fn run(context: &Context, client: &Client, command: FilesCommand) -> Outcome<Exit> {
    match command {
        FilesCommand::Ls { workspace, path, depth } => {
            let id = resolve(client, &workspace).await?;
            list(context, client, &id, &path, depth).await?;
        }
        FilesCommand::Cat { workspace, path, offset, length } => {
            let id = resolve(client, &workspace).await?;
            print(context, client, &id, &path, ByteRange { offset, length }).await?;
        }
        FilesCommand::Put { workspace, path, file } => {
            let id = resolve(client, &workspace).await?;
            let written = match file.filter(|file| file.as_os_str() != "-") {
                Some(file) => local_files::upload(client, &id, &path, &file).await?,
                None => client.put_file(&id, &path, None, local_files::stdin()?).await?,
            };
            told(context, &written)?;
        }
        FilesCommand::Rm { workspace, path, recursive } => {
            let id = resolve(client, &workspace).await?;
            client.delete_path(&id, &path, recursive).await?;
        }
        FilesCommand::Mkdir { workspace, path } => {
            let id = resolve(client, &workspace).await?;
            client.create_directory(&id, &path).await?;
        }
        FilesCommand::Watch { workspace, path } => {
            let id = resolve(client, &workspace).await?;
            watch(context, client, &id, &path).await?;
        }
        FilesCommand::Mv { workspace, from, to, overwrite } => {
            let id = resolve(client, &workspace).await?;
            client.move_path(&id, &MoveFile { from, to, overwrite }).await?;
        }
    }
    Ok(Exit::OK)
}

/// Every page of a directory.
pub(crate) async fn entries(client: &Client, id: &str, path: &str, depth: u32) -> Outcome<Vec<Entry>> {
    all_pages(None, async |cursor| {
        let page = client.list_directory(id, path, depth, cursor).await?;
        Ok((page.entries, page.next_cursor))
    })
    .await
}

async fn list(context: &Context, client: &Client, id: &str, path: &str, depth: u32) -> Outcome<()> {
    let found = entries(client, id, path, depth).await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("The directory is empty.");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    context.output.table(&["mode", "bytes", "modified", "path"], &rows)
}

fn row(entry: &Entry) -> Vec<String> {
    let shown = match (entry.kind, &entry.link_target) {
        (EntryKind::Directory, _) => format!("{}/", entry.path),
        (EntryKind::Symlink, Some(target)) => format!("{} -> {target}", entry.path),
        (EntryKind::Symlink | EntryKind::File | EntryKind::Special, _) => entry.path.clone(),
    };
    vec![entry.mode.clone(), entry.bytes.to_string(), entry.modified_at.clone(), shown]
}

/// A line for each change, or with `--json` a frame.
async fn watch(context: &Context, client: &Client, id: &str, path: &str) -> Outcome<()> {
    let mut frames = client.watch_files(id, path).await?;
    while let Some(frame) = frames.next().await {
        let frame = frame?;
        if context.output.is_json {
            context.output.json(&frame)?;
        }
        match &frame {
            FileWatchFrame::Watching => context.output.note("Watching. Ctrl-C ends it."),
            FileWatchFrame::Lagged => {
                context.output.note("Some changes were not told; list the directory again.");
            }
            FileWatchFrame::Changed { kind, path } if !context.output.is_json => {
                let word = match kind {
                    ChangeKind::Created => "created",
                    ChangeKind::Modified => "modified",
                    ChangeKind::Removed => "removed",
                };
                context.output.line(&format!("{word} {path}"))?;
            }
            FileWatchFrame::Changed { .. } => {}
            FileWatchFrame::Closing { code } => {
                let code = ErrorCode::parse(code).unwrap_or(ErrorCode::ServerUnreachable);
                return Err(Report::new(code).because("the server closed the stream").into());
            }
        }
    }
    Err(Report::new(ErrorCode::ServerUnreachable).because("the stream broke off").into())
}

async fn print(context: &Context, client: &Client, id: &str, path: &str, range: ByteRange) -> Outcome<()> {
    match client.open_path(id, path, range).await? {
        PathContents::File(mut bytes) => {
            while let Some(piece) = bytes.next().await {
                context.output.bytes(&piece?)?;
            }
            Ok(())
        }
        PathContents::Directory(_) => Err(Report::new(ErrorCode::NotAFile)
            .because(format!("`{path}` is a directory"))
            .hint("List it with `warren ws files ls`.")
            .into()),
    }
}

fn told(context: &Context, written: &FileWritten) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(written);
    }
    let word = if written.created { "created" } else { "replaced" };
    context.output.line(&format!("{word} {} ({} bytes)", written.path, written.bytes))
}
