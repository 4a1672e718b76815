//! Which workspace is meant: an id, or a name that only one has.

use warren_api::client::{Client, WorkspaceQuery};
use warren_model::{ErrorCode, WorkspaceId};

use crate::failure::{Outcome, Report};
use crate::nearest::nearest;
use crate::terminal_text::visible;

/// Names looked through for one that was probably meant.
const SUGGESTED_FROM: u32 = 200;
/// Ids listed when a name is not unique.
const LISTED: usize = 5;

/// The id behind what somebody typed. An id is taken at its word: the call that uses it says if it is unknown.
pub(crate) async fn resolve(client: &Client, text: &str) -> Outcome<String> {
    if text.parse::<WorkspaceId>().is_ok() {
        return Ok(text.to_owned());
    }
    let query = WorkspaceQuery { name: Some(text.to_owned()), ..WorkspaceQuery::default() };
    let found = client.workspaces(&query).await?.items;
    match found.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => Err(not_found(client, text).await.into()),
        several => {
            let ids: Vec<&str> = several.iter().map(|one| one.id.as_str()).take(LISTED).collect();
            Err(Report::new(ErrorCode::AmbiguousName)
                .because(format!(
                    "{} workspaces are named `{}`: {}",
                    several.len(),
                    visible(text),
                    ids.join(", ")
                ))
                .into())
        }
    }
}

async fn not_found(client: &Client, text: &str) -> Report {
    let query = WorkspaceQuery { limit: Some(SUGGESTED_FROM), ..WorkspaceQuery::default() };
    // The suggestion is a courtesy; failing to make one is not worth a word.
    let names: Vec<String> = match client.workspaces(&query).await {
        Ok(page) => page.items.into_iter().map(|one| one.name).collect(),
        Err(_) => Vec::new(),
    };
    let report = Report::new(ErrorCode::WorkspaceNotFound).because(format!("no workspace is named `{text}`"));
    match nearest(text, names.iter().map(String::as_str)) {
        Some(name) => report.hint(format!("Did you mean `{name}`? `warren ws ls` lists all.")),
        None => report,
    }
}
