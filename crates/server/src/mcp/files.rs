//! A workspace's files as resources, by the route that reads files.
//!
//! `warren://workspaces/{id}/files/{path}`: the path is percent-encoded, but for its slashes. A directory can be read
//! too; it is its listing. What a path may be and may reach is for the route to say.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use warren_api::{Entry, EntryKind, Listing};
use warren_model::{ErrorCode, WorkspaceId};

use super::door::{Answer, Door, encoded};
use crate::problem::Failure;

/// A file that is larger is for the tool that reads in parts.
const MAX_RESOURCE_BYTES: u64 = 1 << 20;
const MAX_DEPTH: u32 = 32;
const PAGE_SIZE: u32 = 500;
/// What stands for itself in a path.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn template(id: WorkspaceId) -> ResourceTemplate {
    ResourceTemplate::new(format!("{}{{+path}}", prefix(id)), "file")
        .with_title("A file of the workspace")
        .with_description("By its path from the workspace's root. A directory gives its listing.")
}

/// One page of all files. Directories are left out: they can be read, but there is nothing in them that is not listed.
pub(super) async fn list(
    door: &Door,
    id: WorkspaceId,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, Failure> {
    let cursor = cursor.map(|cursor| format!("&cursor={}", encoded(cursor))).unwrap_or_default();
    let path = format!("{}?depth={MAX_DEPTH}&limit={PAGE_SIZE}{cursor}", route(id));
    let listing: Listing = door.get(&path).await?.json()?;
    let files = listing.entries.iter().filter(|entry| entry.kind == EntryKind::File && !entry.is_lossy);
    let mut result = ListResourcesResult::with_all_items(files.map(|entry| resource(id, entry)).collect());
    result.next_cursor = listing.next_cursor;
    Ok(result)
}

pub(super) async fn read(door: &Door, id: WorkspaceId, uri: &str) -> Result<ReadResourceResult, Failure> {
    let path = path_of(id, uri).ok_or_else(|| unknown(uri))?;
    // One byte more than may be had tells whether there is more.
    let query = format!("{}?path={}&length={}", route(id), encoded(&path), MAX_RESOURCE_BYTES + 1);
    let answer = door.get(&query).await?;
    if answer.bytes.len() as u64 > MAX_RESOURCE_BYTES && is_file(&answer) {
        let detail =
            format!("the file has more than {MAX_RESOURCE_BYTES} bytes; workspace_read_file reads parts");
        return Err(Failure::new(ErrorCode::PayloadTooLarge, detail));
    }
    Ok(ReadResourceResult::new(vec![contents(&answer, uri)]))
}

fn is_file(answer: &Answer) -> bool {
    answer.headers.get("x-warren-entry").is_some_and(|kind| kind == "file")
}

fn contents(answer: &Answer, uri: &str) -> ResourceContents {
    match std::str::from_utf8(&answer.bytes) {
        Ok(text) if is_file(answer) => ResourceContents::text(text, uri),
        Ok(text) => ResourceContents::text(text, uri).with_mime_type("application/json"),
        Err(_) => ResourceContents::blob(BASE64_STANDARD.encode(&answer.bytes), uri)
            .with_mime_type("application/octet-stream"),
    }
}

fn resource(id: WorkspaceId, entry: &Entry) -> Resource {
    let path = utf8_percent_encode(&entry.path, IN_PATH);
    Resource::new(format!("{}{path}", prefix(id)), entry.path.clone()).with_size(entry.bytes)
}

fn route(id: WorkspaceId) -> String {
    format!("/api/v1/workspaces/{id}/files")
}

fn prefix(id: WorkspaceId) -> String {
    format!("warren://workspaces/{id}/files/")
}

/// Only of this workspace: what another one's URI names is none of this endpoint's business.
fn path_of(id: WorkspaceId, uri: &str) -> Option<String> {
    let path = uri.strip_prefix(&prefix(id))?;
    percent_decode_str(path).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

fn unknown(uri: &str) -> Failure {
    let uri = warren_model::truncate_utf8(uri, 200);
    Failure::new(ErrorCode::FileNotFound, format!("`{uri}` is no resource of this workspace"))
}
