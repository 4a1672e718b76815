//! sec/F09, F10, F13: much of everything, in little memory and time.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use warren_doors::Environment;
use warren_model::{ErrorCode, LocalConfig};
use warren_workspace::fs::{ByteRange, GlobQuery, GrepQuery, LsQuery};

use crate::fixture::{Local, assert_code, path, resident_bytes};

fn grep_for(pattern: &str) -> GrepQuery {
    GrepQuery {
        pattern: pattern.into(),
        is_literal: false,
        ignore_case: false,
        root: path("/"),
        globs: vec![],
        context_lines: 0,
        respect_ignore_files: false,
        max_matches: 1_000,
        deadline_ms: 2_000,
    }
}

// F09 (security), W22: 10 GB that take no space, of which the first gigabyte is read.
#[tokio::test]
async fn a_huge_sparse_file_streams_in_flat_memory() {
    let local = Local::open().await;
    let file = std::fs::File::create(local.root().join("huge")).unwrap();
    file.set_len(10 << 30).unwrap();
    let before = resident_bytes();
    let contents = local.fs().read(&path("huge"), ByteRange::default()).await.unwrap();
    assert_eq!(contents.length, 10 << 30);
    let (mut stream, mut read, mut most) = (contents.stream, 0u64, 0);
    while read < 1 << 30 {
        read += stream.next().await.unwrap().unwrap().len() as u64;
        if read.is_multiple_of(64 << 20) {
            most = most.max(resident_bytes());
        }
    }
    let grown = most.saturating_sub(before);
    // Other tests of this binary run at the same time; a file held in memory would show as a gigabyte.
    assert!(grown < 400 << 20, "{} MB more", grown >> 20);
    let result = local.fs().grep(&grep_for("x")).await.unwrap();
    assert_eq!(result.skipped, ["huge"]);
    assert_code(
        local
            .fs()
            .edit(&path("huge"), &warren_workspace::fs::Edit { old: "a".into(), new: "b".into(), all: false })
            .await,
        ErrorCode::FileTooLarge,
    );
}

// F10 (security)
#[tokio::test]
async fn slow_patterns_are_cut_at_the_deadline() {
    let local = Local::open_with(
        LocalConfig { max_file_mb: 64, max_grep_file_mb: 64, ..LocalConfig::default() },
        Environment::default(),
    )
    .await;
    let line = format!("{}\n", "ab".repeat(500));
    for number in 0..8 {
        std::fs::write(local.root().join(format!("f{number}")), line.repeat(20_000)).unwrap();
    }
    let slow = GrepQuery { deadline_ms: 300, ..grep_for("(?i)(a|b|ab|ba){300}[^ab]{2,50}z$") };
    let started = Instant::now();
    match local.fs().grep(&slow).await {
        Ok(result) => assert!(result.truncated, "160 MB in 0.3 s: {result:?}"),
        Err(error) => assert_eq!(error.code(), ErrorCode::InvalidPattern),
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

// F10, F13 (security): 50,000 entries in one directory.
#[tokio::test]
async fn a_crowded_directory_is_paged_globbed_and_searched() {
    let local = Local::open().await;
    local.fs().mkdir(&path("crowd")).await.unwrap();
    let crowd = local.root().join("crowd");
    for number in 0..50_000 {
        std::fs::File::create(crowd.join(format!("{number:05}"))).unwrap();
    }
    let before = resident_bytes();
    let started = Instant::now();
    let query = LsQuery { depth: 2, limit: 100, after: None };
    let first = local.fs().ls(&path("crowd"), &query).await.unwrap();
    let second = LsQuery { after: first.next.clone(), ..query };
    let second = local.fs().ls(&path("crowd"), &second).await.unwrap();
    assert_eq!(first.entries[99].path, "crowd/00099");
    assert_eq!(second.entries[0].path, "crowd/00100");
    let glob = GlobQuery {
        pattern: "**/**/**/**/*7".into(),
        root: path("/"),
        respect_ignore_files: false,
        limit: 10,
    };
    let found = local.fs().glob(&glob).await.unwrap();
    assert!(found.truncated && found.paths[9] == "crowd/00097");
    local.fs().grep(&grep_for("needle")).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(resident_bytes().saturating_sub(before) < 400 << 20);
    local.fs().rm(&path("crowd"), true).await.unwrap();
}
