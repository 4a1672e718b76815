//! Trees that a box prepares for those who work on its files from outside: what they cost, and whether they end anybody.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;
use warren_model::ErrorCode;
use warren_workspace::WorkspacePath;
use warren_workspace::fs::{ByteRange, CpOptions, GlobQuery, GrepQuery, LsQuery};
use warren_workspace::shell::{Command, Start};

use super::case::{Boxed, Case, Shape};
use super::in_each_box;
use super::outside::{probe_says, program, says};
use super::probe::results;
use crate::fixture::read;

in_each_box!(
    a_copy_takes_no_more_than_what_is_copied,
    a_tree_deeper_than_any_path_is_listed_searched_and_deleted,
    a_file_that_becomes_a_fifo_hangs_nobody,
    a_file_that_becomes_shorter_while_it_is_searched_ends_nobody,
    a_file_that_grows_while_it_is_read_ends_where_it_ended,
    space_beyond_the_end_of_a_file_counts,
    output_is_kept_in_no_file_of_others,
    a_crowd_of_directories_takes_no_more_watches_than_one_may_have,
);

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
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
        max_matches: 1_000,
        deadline_ms: 20_000,
    }
}

/// What a folder and all beside it take of the disk.
fn bytes_on_disk(folder: &Path) -> u64 {
    let said = says(program("du").args(["--summarize", "--block-size=1"]).arg(folder));
    said.split_whitespace().next().unwrap().parse().unwrap()
}

/// Something that goes on in the box until it is closed.
async fn meanwhile(boxed: &Boxed, script: &str) {
    boxed.shell().start(Start { command: Command::script(script), pty: None }).await.unwrap();
}

// sec/B01
async fn a_copy_takes_no_more_than_what_is_copied(case: Case) {
    let boxed = case.open_with(&Shape::limited(|limits| limits.disk_mb = 64)).await.unwrap();
    // Nothing on the disk, 2 GB for whoever believes their sizes; and one file under many names.
    boxed.run("mkdir holes names; cd holes; seq 200 | xargs truncate -s 10000000").await;
    boxed.run("cd names; head -c 9000000 /dev/urandom > 0; for i in $(seq 199); do ln 0 $i; done").await;
    let before = bytes_on_disk(&case.base());
    let recursive = CpOptions { recursive: true, overwrite: false };
    boxed.fs().cp(&path("holes"), &path("copy"), recursive).await.unwrap();
    let after = bytes_on_disk(&case.base());
    assert!(after < before + (16 << 20), "{before} became {after}");
    let copy = boxed.fs().stat(&path("copy/7")).await.unwrap();
    assert_eq!(copy.bytes, 10_000_000, "its size is kept");
    let refused = boxed.fs().cp(&path("names"), &path("names-copy"), recursive).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageFull, "{refused}");
    let after = bytes_on_disk(&case.base());
    assert!(after < before + (80 << 20), "{before} became {after}: what was begun is cleared away");
    // Its names count as one file, which is far from the limit: the box is looked at meanwhile, and not ended.
    assert_eq!(boxed.says("sleep 3; ls names | wc -l").await, "200");
}

// control: sec/B01
#[test]
fn a_copy_that_reads_and_writes_fills_the_holes() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (holes, copy) = (folder.path().join("holes"), folder.path().join("copy"));
    std::fs::File::create(&holes).unwrap().set_len(10_000_000).unwrap();
    assert!(bytes_on_disk(&holes) < 100_000);
    std::fs::write(&copy, std::fs::read(&holes).unwrap()).unwrap();
    assert!(bytes_on_disk(&copy) > 9_000_000);
}

/// Puts what is there ever deeper, by short paths: some 900 levels, 180,000 bytes.
const DIG: &str = "n=$(printf 'n%.0s' $(seq 200)); p=$n; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do p=$p/$n; done; \
                   mkdir -p top/$p; echo needle > top/$p/f; i=0; \
                   while [ $i -lt 60 ]; do mkdir -p next/$p && mv top next/$p/ && mv next top || exit 1; i=$((i+1)); done";

// sec/B02
async fn a_tree_deeper_than_any_path_is_listed_searched_and_deleted(case: Case) {
    let boxed = case.open().await;
    boxed.run("echo needle > shallow").await;
    // A box may be ended for it under way: what cannot be measured is over the limit.
    let _ = boxed.shell().run(Command::script(DIG)).await;
    assert!(boxed.root.join("top").exists());
    let began = Instant::now();
    let listed = boxed.fs().ls(&path("/"), &LsQuery { depth: 1_000, ..LsQuery::default() }).await.unwrap();
    assert!(listed.entries.iter().any(|entry| entry.path == "shallow"), "the rest is listed all the same");
    let pattern =
        GlobQuery { pattern: "**/*".into(), root: path("/"), respect_ignore_files: false, limit: 10_000 };
    assert!(boxed.fs().glob(&pattern).await.unwrap().paths.contains(&"shallow".to_owned()));
    let found = boxed.fs().grep(&grep_for("needle", "/")).await.unwrap();
    assert!(found.matches.iter().any(|one| one.path == "shallow"), "{found:?}");
    let recursive = CpOptions { recursive: true, overwrite: false };
    let refused = boxed.fs().cp(&path("top"), &path("copy"), recursive).await.unwrap_err();
    assert!(matches!(refused.code(), ErrorCode::InvalidPath | ErrorCode::StorageFull), "{refused}");
    boxed.fs().rm(&path("top"), true).await.unwrap();
    assert!(!boxed.root.join("top").exists());
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    // And once more, for the end of the workspace.
    boxed.close().await;
    let again = case.resolve(&boxed).await;
    let _ = again.shell().run(Command::script(DIG)).await;
    again.close().await;
    case.provider.destroy(again.id, &again.reference).await.unwrap();
    assert!(!again.root.exists());
}

// control: sec/B02
#[test]
fn who_goes_by_paths_does_not_get_there() {
    let folder = tempfile::tempdir().unwrap();
    says(program("sh").arg("-c").arg(DIG).current_dir(folder.path()));
    let deep = folder.path().join("top").join(format!("{}/", "n".repeat(200)).repeat(30));
    let error = std::fs::metadata(deep).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENAMETOOLONG), "{error}");
}

// sec/B03
async fn a_file_that_becomes_a_fifo_hangs_nobody(case: Case) {
    let boxed = case.open().await;
    boxed.run("echo plain > plain; mkfifo fifo; ln plain prey").await;
    meanwhile(&boxed, "while :; do ln -f fifo x && mv -f x prey; ln -f plain x && mv -f x prey; done").await;
    let (mut plain, mut special) = (0, 0);
    let until = Instant::now() + Duration::from_secs(4);
    while Instant::now() < until {
        let prey = path("prey");
        let reading = read(boxed.fs(), &prey);
        match tokio::time::timeout(Duration::from_secs(10), reading).await.expect("a read hangs") {
            Ok(bytes) => {
                assert_eq!(bytes, b"plain\n");
                plain += 1;
            }
            Err(error) if error.code() == ErrorCode::SpecialFile => special += 1,
            Err(error) => assert_eq!(error.code(), ErrorCode::FileNotFound, "{error}"),
        }
        let query = grep_for("plain", "/");
        let searched = boxed.fs().grep(&query);
        tokio::time::timeout(Duration::from_secs(10), searched).await.expect("a search hangs").unwrap();
    }
    assert!(plain > 0 && special > 0, "{plain} {special}: it was not swapped");
}

// control: sec/B03
#[tokio::test]
async fn who_looks_first_and_opens_then_waits_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let prey = folder.path().join("prey");
    std::fs::write(&prey, "plain").unwrap();
    let is_plain = std::fs::symlink_metadata(&prey).unwrap().is_file();
    std::fs::remove_file(&prey).unwrap();
    says(program("mkfifo").arg(&prey));
    assert!(is_plain, "it was, a moment ago");
    let opened = prey.clone();
    let reader = std::thread::spawn(move || std::fs::read(opened).unwrap());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!reader.is_finished());
    std::fs::write(prey, "late").unwrap();
    assert_eq!(reader.join().unwrap(), b"late");
}

// sec/B04
async fn a_file_that_becomes_shorter_while_it_is_searched_ends_nobody(case: Case) {
    let boxed = case.open().await;
    meanwhile(&boxed, "while :; do truncate -s 8000000 prey; truncate -s 0 prey; done").await;
    let until = Instant::now() + Duration::from_secs(3);
    let mut rounds = 0;
    while Instant::now() < until {
        boxed.fs().grep(&grep_for("needle", "/")).await.unwrap();
        match read(boxed.fs(), &path("prey")).await {
            Ok(bytes) => assert!(bytes.len() <= 8_000_000),
            Err(error) => assert_eq!(error.code(), ErrorCode::FileNotFound, "{error}"),
        }
        rounds += 1;
    }
    // This process is still there to say so.
    assert!(rounds > 1);
}

// control: sec/B04
#[test]
fn who_maps_a_file_that_becomes_shorter_is_ended_by_the_kernel() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let told = results(&probe_says(&["map", file.path().to_str().unwrap()]));
    assert_eq!(told["map"], format!("signal {}", libc::SIGBUS));
}

// sec/B05
async fn a_file_that_grows_while_it_is_read_ends_where_it_ended(case: Case) {
    let boxed = case.open().await;
    boxed.run("head -c 100000 /dev/zero > prey").await;
    meanwhile(&boxed, "while :; do head -c 1000 /dev/zero >> prey; done").await;
    let mut contents = boxed.fs().read(&path("prey"), ByteRange::default()).await.unwrap();
    let size = contents.length;
    let mut got = 0;
    while let Some(piece) = contents.stream.next().await {
        got += piece.unwrap().len() as u64;
        // It grows while somebody reads slowly.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(got, size, "as long as it was when it was opened");
    let grown = boxed.fs().stat(&path("prey")).await.unwrap().bytes;
    // The control: who reads to the end has not come to it.
    assert!(grown > size, "{grown} {size}: it did not grow");
}

// sec/B06
async fn space_beyond_the_end_of_a_file_counts(case: Case) {
    let boxed = case.open_with(&Shape::limited(|limits| limits.disk_mb = 16)).await.unwrap();
    let told = results(&boxed.probe(&["reserve", "/workspace/empty", "15"]).await);
    assert_eq!(told["reserve"], "EOPNOTSUPP", "a box takes no space that it does not write");
    // Somebody else's is found.
    for name in ["empty", "empty-too"] {
        let file = boxed.root.join(name);
        let told = results(&probe_says(&["reserve", file.to_str().unwrap(), "15"]));
        assert_eq!(told["reserve"], "ok");
    }
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match boxed.shell().run(Command::script("true")).await {
            Err(error) if error.code() == ErrorCode::StorageFull || error.is_evicted() => break,
            Ok(_) | Err(_) if Instant::now() < until => tokio::time::sleep(Duration::from_millis(50)).await,
            other => panic!("30 MB beyond the end of two empty files were not noticed: {other:?}"),
        }
    }
}

// control: sec/B06
#[test]
fn sizes_do_not_tell_of_space_beyond_the_end() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("empty");
    let told = results(&probe_says(&["reserve", file.to_str().unwrap(), "15"]));
    assert_eq!(told["reserve"], "ok");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);
    assert!(bytes_on_disk(&file) >= 15 << 20);
}

// sec/B07
async fn output_is_kept_in_no_file_of_others(case: Case) {
    let boxed = case.open().await;
    let outside = case.outside.folder.display();
    boxed
        .run(&format!(
            "ln -s {outside}/secret link; ln -s {outside} folder; mkfifo fifo; ln -s /proc/1/mem mem"
        ))
        .await;
    for spill in ["link", "folder/new", "fifo", "mem"] {
        let command = Command { spill_to: Some(path(spill)), ..Command::script("echo planted") };
        let run = tokio::time::timeout(Duration::from_secs(20), boxed.shell().run(command)).await;
        assert!(run.expect("it hangs").is_err(), "{spill}");
    }
    // A folder that is swapped for a link while output comes.
    boxed.run("mkdir prey").await;
    meanwhile(
        &boxed,
        &format!("while :; do mv prey aside; ln -s {outside} prey; rm prey; mv aside prey; done"),
    )
    .await;
    for number in 0..200 {
        let command =
            Command { spill_to: Some(path(&format!("prey/{number}"))), ..Command::script("echo planted") };
        let _ = boxed.shell().run(command).await;
    }
    case.outside.assert_untouched();
}

// control: sec/B07
#[test]
fn who_writes_by_name_writes_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    std::fs::write(&link, "planted").unwrap();
    assert_eq!(std::fs::read_to_string(target).unwrap(), "planted");
}

/// Watches that this process has set, by what the kernel tells of its queues.
fn watches() -> usize {
    let queues = std::fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let texts = queues.filter_map(|queue| std::fs::read_to_string(queue.path()).ok());
    let of = |text: String| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("inotify ")).map(str::to_owned).collect()
    };
    // A queue may have two descriptors.
    let queues: std::collections::BTreeSet<Vec<String>> = texts.map(of).collect();
    queues.iter().map(Vec::len).sum()
}

// sec/B08
async fn a_crowd_of_directories_takes_no_more_watches_than_one_may_have(case: Case) {
    let (boxed, neighbour) = (case.open().await, case.open().await);
    boxed.run("mkdir few crowd; i=0; while [ $i -lt 90 ]; do mkdir few/$i; i=$((i+1)); done").await;
    // The control: what is not too much is watched whole.
    let few = boxed.fs().watch(&path("few")).await.unwrap();
    assert_eq!(watches(), 91);
    let crowd = "cd crowd; i=0; while [ $i -lt 9000 ]; do echo $i; i=$((i+1)); done | xargs mkdir";
    assert_eq!(boxed.run_within(crowd, 60_000).await.exit_code, Some(0));
    let refused = boxed.fs().watch(&path("/")).await.err().unwrap();
    assert_eq!(refused.code(), ErrorCode::TooManyRequests, "{refused}");
    assert_eq!(watches(), 91, "what was begun is let go of");
    // Directories that come later, by the thousand.
    drop(few);
    let mut later = boxed.fs().watch(&path("few")).await.unwrap();
    let more = "cd few; i=0; while [ $i -lt 9000 ]; do echo later-$i; i=$((i+1)); done | xargs mkdir";
    assert_eq!(boxed.run_within(more, 60_000).await.exit_code, Some(0));
    let drained = async { while later.next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_secs(2), drained).await;
    assert!(watches() <= 8_192, "{}", watches());
    drop(neighbour.fs().watch(&path("/")).await.unwrap());
}
