//! Cases for the `fs` capability (W20–W24).

use bytes::Bytes;
use futures_util::{StreamExt, future, stream};
use warren_model::{ErrorCode, MIB};

pub use super::listing::*;
use super::{Harness, assert_code, contents, files, get, get_range, open, path, put};
use crate::Error;
use crate::fs::{ByteRange, CpOptions, Edit, EntryKind, Fs, WriteMode};

// W20
pub async fn what_is_written_is_read_back_whole_and_in_ranges(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    let written: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
    assert_eq!(put(fs, "f", &written).await.bytes, 200_000);
    assert_eq!(get(fs, "/f").await.unwrap(), written);
    for (offset, length, expected) in [
        (0, Some(10), 0..10),
        (65_530, Some(20), 65_530..65_550),
        (199_990, None, 199_990..200_000),
        (199_990, Some(100), 199_990..200_000),
        (500_000, Some(1), 200_000..200_000),
        (5, Some(0), 5..5),
    ] {
        let range = ByteRange { offset, length };
        let told = fs.read(&path("f"), range).await.unwrap();
        assert_eq!(told.entry.bytes, 200_000);
        assert_eq!(told.length, expected.len() as u64);
        assert_eq!(get_range(fs, "f", range).await.unwrap(), written[expected]);
    }
    put(fs, "empty", "").await;
    assert_eq!(get(fs, "empty").await.unwrap(), b"");
}

// W20
pub async fn a_write_makes_parents_and_says_whether_it_created(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    assert!(put(fs, "a/b/c", "1").await.created);
    assert!(!put(fs, "a/b/c", "22").await.created);
    let entry = fs.stat(&path("a/b/c")).await.unwrap();
    assert_eq!((entry.kind, entry.bytes, entry.path.as_str()), (EntryKind::File, 2, "a/b/c"));
    assert_eq!(fs.stat(&path("a/b")).await.unwrap().kind, EntryKind::Directory);
    assert_eq!(fs.stat(&path("/")).await.unwrap().kind, EntryKind::Directory);
}

// W20
pub async fn create_new_refuses_what_is_there(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    fs.write(&path("new"), contents("1"), WriteMode::CreateNew).await.unwrap();
    let again = fs.write(&path("new"), contents("2"), WriteMode::CreateNew).await;
    assert_code(again, ErrorCode::FileExists);
    assert_eq!(get(fs, "new").await.unwrap(), b"1");
}

// W20
pub async fn append_creates_and_extends(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    assert!(fs.append(&path("log/a"), "one\n".into()).await.unwrap().created);
    assert!(!fs.append(&path("log/a"), "two\n".into()).await.unwrap().created);
    assert_eq!(get(fs, "log/a").await.unwrap(), b"one\ntwo\n");
    fs.mkdir(&path("d")).await.unwrap();
    assert_code(fs.append(&path("d"), "x".into()).await, ErrorCode::NotAFile);
}

// W20
pub async fn a_failed_write_leaves_the_old_contents(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "f", "old").await;
    let broken = stream::iter([
        Ok(Bytes::from_static(b"new and ")),
        Err(Error::operation(ErrorCode::RequestTimeout, "the client went away")),
    ]);
    let result = fs.write(&path("f"), broken.boxed(), WriteMode::Replace).await;
    assert_code(result, ErrorCode::RequestTimeout);
    assert_eq!(get(fs, "f").await.unwrap(), b"old");
    assert_eq!(names(fs, "/").await, ["f"], "nothing half-written is seen");
}

// W22: the source counts what is drawn from it, so a refusal after the fact would show.
pub async fn a_file_over_the_limit_is_refused_while_it_streams(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    let limit = workspace.limits()["max_file_mb"].as_u64().unwrap() * MIB;
    let piece = Bytes::from(vec![b'x'; 1 << 20]);
    let drawn = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counter = std::sync::Arc::clone(&drawn);
    let endless = stream::repeat_with(move || {
        counter.fetch_add(1 << 20, std::sync::atomic::Ordering::SeqCst);
        Ok(piece.clone())
    });
    let result = fs.write(&path("big"), endless.take(500).boxed(), WriteMode::Replace).await;
    assert_code(result, ErrorCode::FileTooLarge);
    let drawn = drawn.load(std::sync::atomic::Ordering::SeqCst);
    assert!(drawn <= limit + 4 * MIB, "{drawn} bytes were drawn of a limit of {limit}");
    assert_code(get(fs, "big").await, ErrorCode::FileNotFound);

    put(fs, "near", vec![b'x'; usize::try_from(limit).unwrap()]).await;
    assert_code(fs.append(&path("near"), "x".into()).await, ErrorCode::FileTooLarge);
}

// X32: what comes with a message may be larger than what is written by hand, and is new.
pub async fn a_file_with_a_limit_of_its_own_is_held_to_that_one(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    let usual = workspace.limits()["max_file_mb"].as_u64().unwrap() * MIB;
    let piece = Bytes::from(vec![b'x'; 1 << 20]);
    let pieces = |bytes: u64| {
        let piece = piece.clone();
        stream::repeat_with(move || Ok(piece.clone())).take(usize::try_from(bytes / MIB).unwrap()).boxed()
    };
    let mode = WriteMode::CreateNewUpTo { bytes: usual + MIB };
    assert_eq!(fs.write(&path("large"), pieces(usual + MIB), mode).await.unwrap().bytes, usual + MIB);
    assert_code(fs.write(&path("large"), contents("2"), mode).await, ErrorCode::FileExists);
    assert_code(fs.write(&path("larger"), pieces(usual + 2 * MIB), mode).await, ErrorCode::FileTooLarge);
    assert_code(get(fs, "larger").await, ErrorCode::FileNotFound);
    let small = WriteMode::CreateNewUpTo { bytes: 2 };
    assert_code(fs.write(&path("small"), contents("123"), small).await, ErrorCode::FileTooLarge);
}

// W20, F12 (security)
pub async fn readers_never_see_half_a_write(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "f", vec![0; 70_000]).await;
    let writers = (0..64u8).map(|writer| async move {
        put(fs, "f", vec![writer; 70_000 + usize::from(writer) * 100]).await;
    });
    let readers = (0..64).map(|_| async move {
        let seen = get(fs, "f").await.unwrap();
        let writer = seen[0];
        let expected = 70_000 + usize::from(writer) * 100;
        assert!(seen.iter().all(|byte| *byte == writer), "bytes of two writers");
        assert_eq!(seen.len(), expected, "the length of another writer");
    });
    future::join(future::join_all(writers), future::join_all(readers)).await;
    assert_eq!(names(fs, "/").await, ["f"]);
}

// W20
pub async fn an_edit_must_match_once(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "f", "one two two").await;
    let edit = |old: &str, all| Edit { old: old.into(), new: "2".into(), all };
    assert_code(fs.edit(&path("f"), &edit("two", false)).await, ErrorCode::EditManyMatches);
    assert_code(fs.edit(&path("f"), &edit("three", false)).await, ErrorCode::EditNoMatch);
    assert_eq!(fs.edit(&path("f"), &edit("two", true)).await.unwrap().replacements, 2);
    assert_eq!(get(fs, "f").await.unwrap(), b"one 2 2");
    put(fs, "binary", [0xff, 0xfe]).await;
    assert_code(fs.edit(&path("binary"), &edit("a", false)).await, ErrorCode::NotText);
    assert_code(fs.edit(&path("absent"), &edit("a", false)).await, ErrorCode::FileNotFound);
}

pub async fn concurrent_edits_are_not_lost(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    let lines: String = (0..40).map(|line| format!("line {line};\n")).collect();
    put(fs, "f", lines).await;
    let edits = (0..40).map(|line| async move {
        let edit = Edit { old: format!("line {line};"), new: format!("done {line};"), all: false };
        fs.edit(&path("f"), &edit).await.unwrap();
    });
    future::join_all(edits).await;
    let text = String::from_utf8(get(fs, "f").await.unwrap()).unwrap();
    assert_eq!(text.matches("done").count(), 40, "{text}");
}

// W20
pub async fn missing_things_and_wrong_kinds_have_their_codes(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "file", "x").await;
    fs.mkdir(&path("dir")).await.unwrap();
    assert_code(get(fs, "absent").await, ErrorCode::FileNotFound);
    assert_code(get(fs, "absent/deeper").await, ErrorCode::FileNotFound);
    assert_code(get(fs, "dir").await, ErrorCode::NotAFile);
    assert_code(get(fs, "/").await, ErrorCode::NotAFile);
    assert_code(get(fs, "file/below").await, ErrorCode::NotADirectory);
    assert_code(fs.stat(&path("absent")).await, ErrorCode::FileNotFound);
    assert_code(fs.ls(&path("file"), &Default::default()).await, ErrorCode::NotADirectory);
    assert_code(fs.ls(&path("absent"), &Default::default()).await, ErrorCode::FileNotFound);
    for (at, code) in
        [("dir", ErrorCode::NotAFile), ("/", ErrorCode::NotAFile), ("file/below", ErrorCode::NotADirectory)]
    {
        assert_code(fs.write(&path(at), contents("x"), WriteMode::Replace).await, code);
    }
    assert_code(fs.mkdir(&path("file")).await, ErrorCode::FileExists);
    assert_code(fs.rm(&path("absent"), true).await, ErrorCode::FileNotFound);
    assert_code(fs.mv(&path("absent"), &path("x"), true).await, ErrorCode::FileNotFound);
}

// W20
pub async fn directories_are_made_with_parents_and_again(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    fs.mkdir(&path("a/b/c")).await.unwrap();
    fs.mkdir(&path("a/b/c")).await.unwrap();
    fs.mkdir(&path("/")).await.unwrap();
    assert_eq!(names(fs, "a/b").await, ["a/b/c"]);
}

// W20
pub async fn removal_needs_recursive_for_what_is_not_empty(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "d/e/f", "x").await;
    put(fs, "d2", "sibling").await;
    assert_code(fs.rm(&path("d"), false).await, ErrorCode::DirectoryNotEmpty);
    fs.rm(&path("d/e/f"), false).await.unwrap();
    fs.rm(&path("d/e"), false).await.unwrap();
    put(fs, "d/e/f", "x").await;
    fs.rm(&path("d"), true).await.unwrap();
    assert_eq!(names(fs, "/").await, ["d2"]);
}

// W20, F08 (security)
pub async fn the_root_is_protected(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "a/f", "x").await;
    for root in ["", ".", "/", "./", "a/..", "//", "/./"] {
        assert_code(fs.rm(&path(root), true).await, ErrorCode::RootProtected);
        assert_code(fs.mv(&path(root), &path("b"), true).await, ErrorCode::RootProtected);
        assert_code(fs.mv(&path("a"), &path(root), true).await, ErrorCode::RootProtected);
    }
    assert_eq!(get(fs, "a/f").await.unwrap(), b"x");
}

// W20
pub async fn moves_keep_contents_and_refuse_to_overwrite(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "a/f", "f").await;
    put(fs, "g", "g").await;
    assert_code(fs.mv(&path("g"), &path("a/f"), false).await, ErrorCode::FileExists);
    fs.mv(&path("g"), &path("a/f"), true).await.unwrap();
    assert_eq!(get(fs, "a/f").await.unwrap(), b"g");
    fs.mv(&path("a"), &path("new/place"), false).await.unwrap();
    assert_eq!(get(fs, "new/place/f").await.unwrap(), b"g");
    assert_code(get(fs, "a/f").await, ErrorCode::FileNotFound);
    put(fs, "full/x", "x").await;
    assert_code(fs.mv(&path("new/place"), &path("full"), true).await, ErrorCode::DirectoryNotEmpty);
    assert_code(fs.mv(&path("full/x"), &path("new"), true).await, ErrorCode::NotAFile);
    assert_eq!(get(fs, "full/x").await.unwrap(), b"x");
}

// W20
pub async fn copies_are_independent_and_deep(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "a/f", "f").await;
    put(fs, "a/deep/g", "g").await;
    let plain = CpOptions::default();
    let deep = CpOptions { recursive: true, overwrite: false };
    fs.cp(&path("a/f"), &path("copy"), plain).await.unwrap();
    assert_code(fs.cp(&path("a/f"), &path("copy"), plain).await, ErrorCode::FileExists);
    assert_code(fs.cp(&path("a"), &path("b"), plain).await, ErrorCode::NotAFile);
    fs.cp(&path("a"), &path("b/inner"), deep).await.unwrap();
    put(fs, "a/deep/g", "changed").await;
    assert_eq!(get(fs, "b/inner/deep/g").await.unwrap(), b"g");
    let over = CpOptions { recursive: false, overwrite: true };
    fs.cp(&path("a/deep/g"), &path("copy"), over).await.unwrap();
    assert_eq!(get(fs, "copy").await.unwrap(), b"changed");
}

pub async fn nothing_moves_or_copies_into_itself(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "a/f", "f").await;
    let deep = CpOptions { recursive: true, overwrite: true };
    assert_code(fs.mv(&path("a"), &path("a/b/c"), true).await, ErrorCode::InvalidPath);
    assert_code(fs.cp(&path("a"), &path("a/b"), deep).await, ErrorCode::InvalidPath);
    assert_code(fs.cp(&path("/"), &path("b"), deep).await, ErrorCode::InvalidPath);
    fs.mv(&path("a"), &path("a"), false).await.unwrap();
    assert_eq!(get(fs, "a/f").await.unwrap(), b"f");
}

pub(super) async fn names(fs: &dyn Fs, at: &str) -> Vec<String> {
    let listing = fs.ls(&path(at), &Default::default()).await.unwrap();
    listing.entries.into_iter().map(|entry| entry.path).collect()
}
