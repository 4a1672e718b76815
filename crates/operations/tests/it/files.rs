use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use warren_model::ErrorCode;
use warren_operations::{AttachedFile, FileOrListing};
use warren_workspace::WorkspacePath;
use warren_workspace::fs::{ByteRange, ByteStream, LsQuery, WriteMode};

use crate::Desk;

const ALL: ByteRange = ByteRange { offset: 0, length: None };
const PAGE: LsQuery = LsQuery { depth: 1, limit: 100, after: None };

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn contents(text: &'static str) -> ByteStream {
    stream::iter([Ok(Bytes::from_static(text.as_bytes()))]).boxed()
}

async fn write(desk: &Desk, file: &str, text: &'static str) {
    let (files, file) = (&desk.operations.files, path(file));
    files.write(&desk.who, desk.id, &file, contents(text), WriteMode::Replace).await.unwrap();
}

// W20, F40: paths and sizes are written down, contents never
#[tokio::test]
async fn each_change_of_a_file_is_written_down_once() {
    let desk = Desk::with(json!({ "kind": "memory" })).await;
    let (files, who, id) = (&desk.operations.files, &desk.who, desk.id);
    write(&desk, "a.txt", "canary").await;
    files.make_directory(who, id, &path("sub")).await.unwrap();
    files.rename(who, id, &path("a.txt"), &path("sub/b.txt"), false).await.unwrap();
    files.delete(who, id, &path("sub"), true).await.unwrap();
    let refused = files.delete(who, id, &path("sub"), true).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::FileNotFound);
    let written = loop {
        let written = desk.journal("workspace.file.changed").await;
        if written.len() >= 4 {
            break written;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let mut seen: Vec<_> = written.iter().map(ToString::to_string).collect();
    seen.sort();
    let mut expected: Vec<_> = [
        json!({ "operation": "write", "path": "a.txt", "bytes": 6 }),
        json!({ "operation": "mkdir", "path": "sub", "bytes": 0 }),
        json!({ "operation": "move", "path": "sub/b.txt", "bytes": 0 }),
        json!({ "operation": "delete", "path": "sub", "bytes": 0 }),
    ]
    .iter()
    .map(ToString::to_string)
    .collect();
    expected.sort();
    assert_eq!(seen, expected);
}

// W20
#[tokio::test]
async fn a_path_is_read_as_the_file_or_directory_that_it_names() {
    let desk = Desk::local().await;
    write(&desk, "sub/a.txt", "hello").await;
    let files = &desk.operations.files;
    let range = ByteRange { offset: 1, length: Some(3) };
    let read = files.read(&desk.who, desk.id, &path("sub/a.txt"), range, &PAGE).await.unwrap();
    let FileOrListing::File(mut file) = read else { panic!("{read:?}") };
    assert_eq!(&file.stream.next().await.unwrap().unwrap()[..], b"ell");
    let read = files.read(&desk.who, desk.id, &path("sub"), ALL, &PAGE).await.unwrap();
    let FileOrListing::Directory(listing) = read else { panic!("{read:?}") };
    assert_eq!(listing.entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["sub/a.txt"]);
}

// X31: one file that cannot go, and none goes
#[tokio::test]
async fn files_are_looked_at_before_they_go_with_a_message() {
    let desk = Desk::with(json!({ "kind": "memory" })).await;
    write(&desk, "a.txt", "hello").await;
    let agent = desk.agent().await;
    let file = |path: &str| AttachedFile { path: path.to_owned(), media_type: None };
    let parts = desk.operations.files.attach(&agent, desk.id, &[file("a.txt")]).await.unwrap();
    assert_eq!((parts.len(), parts[0].filename.as_deref()), (1, Some("a.txt")));
    let refused = desk.operations.files.attach(&agent, desk.id, &[file("a.txt"), file("b.txt")]).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, ErrorCode::FileNotFound);
    assert!(refused.detail.is_some_and(|detail| detail.starts_with("attachment[1]:")));
}

// F30
#[tokio::test]
async fn files_of_another_workspace_are_not_there_for_an_agent() {
    let desk = Desk::with(json!({ "kind": "memory" })).await;
    let agent = desk.agent().await;
    let other = Desk::workspace(&desk.bed, json!({ "kind": "memory" })).await;
    let read = desk.operations.files.read(&agent, other, &WorkspacePath::root(), ALL, &PAGE).await;
    assert_eq!(read.unwrap_err().code, ErrorCode::WorkspaceNotFound);
}
