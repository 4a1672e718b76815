//! sec/F01, F03, F04, F05, F08, F11: paths, links and special files that want out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use warren_model::ErrorCode;
use warren_workspace::WorkspacePath;
use warren_workspace::fs::{Change, CpOptions, Edit, EntryKind, GlobQuery, GrepQuery, LsQuery, WriteMode};
use warren_workspace::shell::Command;

use crate::fixture::{Local, assert_code, contents, path};

/// Ways to spell a path out of the workspace to `outside/secret`, and its neighbours.
const SPELLINGS: [&str; 64] = [
    "..",
    "../",
    "/..",
    "../..",
    "../../outside/secret",
    "/../../outside/secret",
    "a/../../../outside/secret",
    "./../../outside/secret",
    ".//..//..//outside/secret",
    "/./../../outside/secret",
    "a/./../../../outside/secret",
    "..//../outside/secret",
    "../../../../../../../../etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "/./etc/passwd",
    "/etc/./passwd",
    "%2e%2e/%2e%2e/outside/secret",
    "%2e%2e%2f%2e%2e%2foutside%2fsecret",
    "..%2f..%2foutside%2fsecret",
    "%2E%2E/outside/secret",
    "%252e%252e%252foutside%252fsecret",
    "..%252f..%252foutside",
    "..%c0%af..%c0%afoutside",
    "%c0%ae%c0%ae/outside",
    "..\\..\\outside\\secret",
    "..\\../outside/secret",
    "\\..\\..\\outside",
    "a\\..\\..\\outside",
    "C:\\outside\\secret",
    "C:/outside/secret",
    "\\\\host\\share",
    "~",
    "~/",
    "~root/.ssh",
    "~/../outside/secret",
    "....//....//outside/secret",
    "..././..././outside",
    "....\\\\outside",
    "…/outside",
    "..;/outside/secret",
    ".../.../outside",
    "file:///etc/passwd",
    "file://../../outside/secret",
    "file:..",
    "http://localhost/etc/passwd",
    ".. /outside",
    " ../outside/secret",
    "..\t/outside",
    "..\n/outside",
    "..\r/outside",
    "\u{ff0e}\u{ff0e}/outside/secret",
    "\u{2024}\u{2024}/outside",
    "..\u{2215}outside",
    "..\u{2044}outside",
    "\u{202e}../outside",
    "..\u{200b}/outside",
    "outside/secret",
    "$HOME/../outside/secret",
    "`..`/outside",
    "*/../../outside/secret",
    "..?/outside",
    "-/../../../outside/secret",
];

// sec/F01
#[tokio::test]
async fn no_spelling_leads_out_of_the_workspace() {
    let local = Local::open().await;
    for spelling in SPELLINGS.into_iter().chain(["a\0/../../outside/secret", "..\0", "\0"]) {
        let path = match WorkspacePath::parse(spelling) {
            Err(error) => {
                let code = error.code();
                assert!(matches!(code, ErrorCode::PathEscapes | ErrorCode::InvalidPath), "{spelling:?}");
                continue;
            }
            Ok(path) => path,
        };
        // What parses names something inside, which is not there or is the root itself.
        let read = crate::fixture::read(local.fs(), &path).await.unwrap_err().code();
        let expected = if path.is_root() { ErrorCode::NotAFile } else { ErrorCode::FileNotFound };
        assert_eq!(read, expected, "{spelling:?}");
        let _ = local.fs().write(&path, contents("x"), WriteMode::Replace).await;
        let _ = local.fs().append(&path, "x".into()).await;
        let _ = local.fs().mkdir(&path).await;
        let _ = local.fs().rm(&path, true).await;
    }
    local.assert_outside_untouched();
}

// control: sec/F01: a provider that joins strings is beaten by the first spelling of the table.
#[test]
fn control_joining_strings_leads_out() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("root")).unwrap();
    std::fs::write(directory.path().join("secret"), "SECRET").unwrap();
    let joined = directory.path().join("root").join("../secret");
    assert_eq!(std::fs::read(joined).unwrap(), b"SECRET");
}

fn grep_for(pattern: &str, root: &str) -> GrepQuery {
    GrepQuery {
        pattern: pattern.into(),
        is_literal: true,
        ignore_case: false,
        root: path(root),
        globs: vec![],
        context_lines: 0,
        respect_ignore_files: false,
        max_matches: 10,
        deadline_ms: 5_000,
    }
}

fn glob_in(root: &str) -> GlobQuery {
    GlobQuery { pattern: "**/*".into(), root: path(root), respect_ignore_files: true, limit: 100 }
}

// sec/F03: fifteen operations through a link to a file and one to a directory outside.
#[tokio::test]
async fn no_operation_goes_through_a_link_to_the_outside() {
    let local = Local::open().await;
    let fs = local.fs();
    symlink(local.outside().join("secret"), local.root().join("file")).unwrap();
    symlink(local.outside(), local.root().join("dir")).unwrap();
    symlink("../../outside", local.root().join("relative")).unwrap();
    let escapes = ErrorCode::PathEscapes;
    for file in ["file", "dir/secret", "relative/secret"] {
        let file = path(file);
        assert_code(crate::fixture::read(fs, &file).await, escapes);
        assert_code(fs.write(&file, contents("x"), WriteMode::Replace).await, escapes);
        assert_code(fs.append(&file, "x".into()).await, escapes);
        let edit = Edit { old: "SECRET".into(), new: "x".into(), all: false };
        assert_code(fs.edit(&file, &edit).await, escapes);
        assert_code(fs.grep(&grep_for("SECRET", file.as_str())).await, escapes);
    }
    for directory in ["dir", "relative"] {
        let inside = path(&format!("{directory}/new"));
        let secret = path(&format!("{directory}/secret"));
        assert_code(fs.write(&inside, contents("x"), WriteMode::CreateNew).await, escapes);
        assert_code(fs.mkdir(&inside).await, escapes);
        assert_code(fs.rm(&secret, true).await, escapes);
        assert_code(fs.mv(&secret, &path("stolen"), true).await, escapes);
        assert_code(fs.cp(&secret, &path("stolen"), CpOptions::default()).await, escapes);
        assert_code(fs.stat(&secret).await, escapes);
        assert_code(fs.ls(&path(directory), &LsQuery::default()).await, escapes);
        assert_code(fs.glob(&glob_in(directory)).await, escapes);
        assert_code(fs.grep(&grep_for("SECRET", directory)).await, escapes);
        assert_code(fs.watch(&path(directory)).await.map(drop), escapes);
        local.put("mine", "mine").await;
        assert_code(fs.mv(&path("mine"), &inside, true).await, escapes);
        assert_code(fs.cp(&path("mine"), &inside, CpOptions::default()).await, escapes);
        let command = Command { cwd: path(directory), ..Command::script("cat secret; touch made") };
        assert_code(local.shell().run(command).await, escapes);
        let spill = Command { spill_to: Some(inside), ..Command::script("echo x") };
        assert_code(local.shell().run(spill).await, escapes);
    }
    // Walks from above pass the links by.
    let everything = fs.glob(&glob_in("/")).await.unwrap().paths;
    assert_eq!(everything, ["dir", "file", "mine", "relative"], "links are listed, not entered");
    assert!(fs.grep(&grep_for("SECRET", "/")).await.unwrap().matches.is_empty());
    let deep = LsQuery { depth: 9, ..LsQuery::default() };
    assert_eq!(fs.ls(&path("/"), &deep).await.unwrap().entries.len(), 4);
    // The link itself can be told, copied, moved and removed; what it names stays.
    assert_eq!(fs.stat(&path("file")).await.unwrap().kind, EntryKind::Symlink);
    fs.cp(&path("dir"), &path("tree/link"), CpOptions { recursive: true, overwrite: false }).await.unwrap();
    fs.mv(&path("file"), &path("tree/moved"), false).await.unwrap();
    fs.rm(&path("tree"), true).await.unwrap();
    fs.rm(&path("dir"), true).await.unwrap();
    local.assert_outside_untouched();
}

// control: sec/F03, F04: the links do lead to the secret for one who follows them.
#[tokio::test]
async fn control_the_links_do_lead_out() {
    let local = Local::open().await;
    symlink("../../outside", local.root().join("relative")).unwrap();
    let followed = std::fs::read(local.root().join("relative/secret")).unwrap();
    assert_eq!(followed, b"SECRET");
}

// sec/F04
#[tokio::test]
async fn magic_links_are_refused() {
    let local = Local::open().await;
    let held = std::fs::File::open(local.outside().join("secret")).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&held);
    for (name, target) in [
        ("fd", format!("/proc/self/fd/{descriptor}")),
        ("root", "/proc/self/root".to_owned()),
        ("cwd", "/proc/self/cwd".to_owned()),
        ("stdin", "/dev/stdin".to_owned()),
        ("exe", "/proc/self/exe".to_owned()),
    ] {
        symlink(target, local.root().join(name)).unwrap();
        let (fs, escapes, below) = (local.fs(), ErrorCode::PathEscapes, format!("{name}/etc/passwd"));
        for at in [name, &below] {
            assert_code(local.get(at).await, escapes);
            assert_code(fs.append(&path(at), "x".into()).await, escapes);
            assert_code(fs.write(&path(at), contents("x"), WriteMode::Replace).await, escapes);
            assert_code(fs.ls(&path(at), &LsQuery::default()).await, escapes);
            assert_code(fs.grep(&grep_for("x", at)).await, escapes);
        }
        assert_code(fs.stat(&path(&below)).await, escapes);
        assert_code(fs.rm(&path(&below), true).await, escapes);
    }
    // The control: who follows them is led out.
    assert_eq!(std::fs::read(local.root().join("fd")).unwrap(), b"SECRET");
    assert!(local.root().join("root/etc/passwd").exists());
    local.assert_outside_untouched();
}

// sec/F05, W24
#[tokio::test]
async fn special_files_are_refused_at_once_and_hang_nobody() {
    let local = Local::open().await;
    let fs = local.fs();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        local.root().join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(local.root().join("socket")).unwrap();
    local.put("plain", "needle").await;
    let mut specials = vec!["fifo", "socket"];
    // Only root makes devices, and so only root's Warren can meet one.
    if rustix::process::geteuid().is_root() {
        let zero = rustix::fs::makedev(1, 5);
        let (kind, mode) = (rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::from_raw_mode(0o666));
        rustix::fs::mknodat(rustix::fs::CWD, local.root().join("device"), kind, mode, zero).unwrap();
        specials.push("device");
    }
    let started = Instant::now();
    for special in specials {
        let at = path(special);
        assert_eq!(fs.stat(&at).await.unwrap().kind, EntryKind::Special);
        assert_code(local.get(special).await, ErrorCode::SpecialFile);
        assert_code(fs.write(&at, contents("x"), WriteMode::Replace).await, ErrorCode::SpecialFile);
        assert_code(fs.append(&at, "x".into()).await, ErrorCode::SpecialFile);
        assert_code(fs.cp(&at, &path("copy"), CpOptions::default()).await, ErrorCode::SpecialFile);
        assert_code(fs.grep(&grep_for("x", special)).await, ErrorCode::SpecialFile);
        let spill = Command { spill_to: Some(at), ..Command::script("echo x") };
        assert_code(local.shell().run(spill).await, ErrorCode::SpecialFile);
    }
    assert_eq!(fs.grep(&grep_for("needle", "/")).await.unwrap().matches.len(), 1);
    fs.mkdir(&path("directory")).await.unwrap();
    assert_code(local.get("directory").await, ErrorCode::NotAFile);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    // The control: who opens the fifo to read waits for a writer.
    let fifo = local.root().join("fifo");
    let opened = fifo.clone();
    let reader = std::thread::spawn(move || std::fs::read(opened).unwrap());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!reader.is_finished());
    std::fs::write(fifo, "late").unwrap();
    assert_eq!(reader.join().unwrap(), b"late");
    fs.rm(&path("fifo"), false).await.unwrap();
}

// sec/F08
#[tokio::test]
async fn no_spelling_of_the_root_is_removed_moved_or_replaced() {
    let local = Local::open().await;
    local.put("kept", "x").await;
    let fs = local.fs();
    for root in ["", ".", "/", "./", "a/..", "//", "/./.", "kept/..", "a/b/../.."] {
        let root = path(root);
        assert_code(fs.rm(&root, true).await, ErrorCode::RootProtected);
        assert_code(fs.mv(&root, &path("elsewhere"), true).await, ErrorCode::RootProtected);
        assert_code(fs.mv(&path("kept"), &root, true).await, ErrorCode::RootProtected);
        let all = CpOptions { recursive: true, overwrite: true };
        assert_code(fs.cp(&path("kept"), &root, all).await, ErrorCode::RootProtected);
        assert_code(fs.write(&root, contents("x"), WriteMode::Replace).await, ErrorCode::NotAFile);
    }
    assert_eq!(local.get("kept").await.unwrap(), b"x");
    // The control: joined as text, one of them is the root.
    std::fs::create_dir(local.root().join("a")).unwrap();
    std::fs::remove_dir_all(local.root().join("a/..")).unwrap();
    assert!(!local.root().join("kept").exists());
}

// sec/F11: names that no client can say do not break what lists them.
#[tokio::test]
async fn names_that_are_not_text_are_listed_and_paged_past() {
    let local = Local::open().await;
    let names: [&[u8]; 5] = [b"a\xff", b"a\xfe", b"a\x80b", b"plain", b"\xf0\x28"];
    for name in names {
        std::fs::write(local.root().join(OsStr::from_bytes(name)), "needle").unwrap();
    }
    let mut after = None;
    let mut seen = Vec::new();
    loop {
        let query = LsQuery { depth: 1, limit: 1, after };
        let page = local.fs().ls(&path("/"), &query).await.unwrap();
        seen.extend(page.entries);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 5);
    assert_eq!(seen.iter().filter(|entry| entry.is_lossy).count(), 4);
    let found = local.fs().grep(&grep_for("needle", "/")).await.unwrap();
    assert_eq!(found.matches.len(), 5);
    assert_eq!(local.fs().glob(&glob_in("/")).await.unwrap().paths.len(), 5);
}

// W20, sec/F03
#[tokio::test]
async fn a_watch_does_not_follow_links_out() {
    let local = Local::open().await;
    symlink(local.outside(), local.root().join("dir")).unwrap();
    let mut changes = local.fs().watch(&path("/")).await.unwrap();
    std::fs::write(local.outside().join("secret"), "SECRET").unwrap();
    symlink(local.outside(), local.root().join("later")).unwrap();
    std::fs::write(local.outside().join("secret"), "SECRET").unwrap();
    local.put("last", "x").await;
    let mut told = Vec::new();
    while !told.contains(&Change::Created("last".into())) {
        let next = tokio::time::timeout(Duration::from_secs(10), changes.next()).await;
        told.push(next.unwrap().unwrap().unwrap());
    }
    assert_eq!(told, [Change::Created("later".into()), Change::Created("last".into())]);
    local.assert_outside_untouched();
}
