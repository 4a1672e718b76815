//! `warren bundle`: workspaces out of one Warren and into another.

use std::path::Path;

use warren_api::ImportBundle;

use super::template::{Document, tell_report};
use crate::arguments::BundleCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::workspace_name::resolve;

/// As much as a server takes in one request, unless it is told otherwise.
const MAX_BUNDLE_BYTES: usize = 64 << 20;

pub(crate) async fn run(context: &Context, command: BundleCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        BundleCommand::Export { workspace, output, alone, files } => {
            let id = resolve(&client, &workspace).await?;
            let bundle = client.export_bundle(&id, !alone, files).await?;
            for warning in &bundle.warnings {
                context.output.note(&format!("warning: {warning}"));
            }
            let mut text = serde_json::to_string_pretty(&bundle).expect("our own types are JSON");
            text.push('\n');
            match output {
                Some(path) => write(&path, &text)?,
                None => context.output.bytes(text.as_bytes())?,
            }
            Ok(Exit::OK)
        }
        BundleCommand::Import { file, parent, provided_env } => {
            let bundle = Document::read_up_to(&file, MAX_BUNDLE_BYTES)?.as_json()?;
            let parent_id = match parent {
                Some(parent) => Some(resolve(&client, &parent).await?),
                None => None,
            };
            tell_report(
                context,
                &client.import_bundle(&ImportBundle { bundle, parent_id, provided_env }).await?,
            )
        }
    }
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    std::fs::write(path, text).map_err(|error| Report::local_file(path, &error).into())
}
