//! A workspace's files as resources.
//!
//! `warren://workspaces/{id}/files/{path}`: the path is percent-encoded, but for its slashes. A directory can be read
//! too; it is its listing. What a path may be and may reach is for the workspace to say.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use warren_model::{ErrorCode, WorkspaceId};
use warren_operations::{FileOrListing, Files};
use warren_service::Identity;
use warren_workspace::WorkspacePath;
use warren_workspace::fs::{ByteRange, Entry, EntryKind, FileContents, LsQuery};

use crate::convert;
use crate::problem::Failure;

/// A file that is larger is for the tool that reads in parts.
const MAX_RESOURCE_BYTES: u64 = 1 << 20;
const MAX_DEPTH: u32 = 32;
const PAGE_SIZE: u32 = 500;
/// Entries of a directory that is read.
const MAX_ENTRIES: u32 = 1_000;
/// What stands for itself in a path.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn template(id: WorkspaceId) -> ResourceTemplate {
    ResourceTemplate::new(format!("{}{{+path}}", prefix(id)), "file")
        .with_title("A file of the workspace")
        .with_description("By its path from the workspace's root. A directory gives its listing.")
}

/// One page of all files. Directories are left out: they can be read, but there is nothing in them that is not listed.
pub(super) async fn list(
    files: &Files,
    who: &Identity,
    id: WorkspaceId,
    cursor: Option<String>,
) -> Result<ListResourcesResult, Failure> {
    let query = LsQuery { depth: MAX_DEPTH, limit: PAGE_SIZE, after: cursor };
    let listing = files.list(who, id, &WorkspacePath::root(), &query).await?;
    let files = listing.entries.iter().filter(|entry| entry.kind == EntryKind::File && !entry.is_lossy);
    let mut result = ListResourcesResult::with_all_items(files.map(|entry| resource(id, entry)).collect());
    result.next_cursor = listing.next;
    Ok(result)
}

pub(super) async fn read(
    files: &Files,
    who: &Identity,
    id: WorkspaceId,
    uri: &str,
) -> Result<ReadResourceResult, Failure> {
    let path = WorkspacePath::parse(&path_of(id, uri).ok_or_else(|| unknown(uri))?)?;
    // One byte more than may be had tells whether there is more.
    let range = ByteRange { offset: 0, length: Some(MAX_RESOURCE_BYTES + 1) };
    let query = LsQuery { depth: 1, limit: MAX_ENTRIES, after: None };
    let contents = match files.read(who, id, &path, range, &query).await? {
        FileOrListing::File(contents) => file_contents(whole(contents).await?, uri),
        FileOrListing::Directory(listing) => {
            let text = serde_json::to_string(&convert::listing(&path, listing)).unwrap_or_default();
            ResourceContents::text(text, uri).with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

async fn whole(mut contents: FileContents) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(piece) = contents.stream.next().await {
        bytes.extend_from_slice(&piece?);
    }
    if bytes.len() as u64 > MAX_RESOURCE_BYTES {
        let detail =
            format!("the file has more than {MAX_RESOURCE_BYTES} bytes; workspace_read_file reads parts");
        return Err(Failure::new(ErrorCode::PayloadTooLarge, detail));
    }
    Ok(bytes)
}

fn file_contents(bytes: Vec<u8>, uri: &str) -> ResourceContents {
    match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(error) => ResourceContents::blob(BASE64_STANDARD.encode(error.as_bytes()), uri)
            .with_mime_type("application/octet-stream"),
    }
}

fn resource(id: WorkspaceId, entry: &Entry) -> Resource {
    let path = utf8_percent_encode(&entry.path, IN_PATH);
    Resource::new(format!("{}{path}", prefix(id)), entry.path.clone()).with_size(entry.bytes)
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
