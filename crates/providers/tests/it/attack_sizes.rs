//! sec/F09, F10, F13: much of everything, in little memory and time.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use warren_doors::Environment;
use warren_model::{ErrorCode, LocalConfig};
use warren_workspace::fs::{ByteRange, GlobQuery, GrepQuery, LsQuery};

use crate::fixture::{Local, assert_code, number_from_env, path, resident_bytes};

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

// sec/F09, W22: 10 GB that take no space, of which the first gigabyte is read.
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
    println!("sec/F09: 1 GB of a 10 GB file read, {} MB more resident", grown >> 20);
    assert!(grown < 64 << 20, "{} MB more", grown >> 20);
    // The control: a file that is held in memory does show in the gauge.
    let before = resident_bytes();
    let part = std::fs::File::open(local.root().join("huge")).unwrap();
    let mut held = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(part, 256 << 20), &mut held).unwrap();
    assert!(resident_bytes().saturating_sub(before) > 200 << 20, "{} bytes held", held.len());
    drop(held);
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

// sec/F10
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

// sec/F13: the full number is `WARREN_CROWD_ENTRIES=1000000`.
#[tokio::test]
async fn the_first_page_of_a_crowded_directory_costs_a_page() {
    let local = Local::open().await;
    local.fs().mkdir(&path("crowd")).await.unwrap();
    let crowd = local.root().join("crowd");
    let count = number_from_env("WARREN_CROWD_ENTRIES", 120_000);
    fill(&crowd, count);
    let before = resident_bytes();
    let query = LsQuery { depth: 1, limit: 1_000, after: None };
    let started = Instant::now();
    let first = local.fs().ls(&path("crowd"), &query).await.unwrap();
    let first_page = started.elapsed();
    assert_eq!(first.entries.len(), 1_000);

    // To the end, while others come and go: each that stays is told exactly once.
    let mut seen = std::collections::HashSet::new();
    let (mut page, mut pages, mut longest) = (first, 1, first_page);
    loop {
        for entry in &page.entries {
            assert!(seen.insert(entry.path.clone()), "{} was told twice", entry.path);
        }
        let Some(after) = page.next else { break };
        std::fs::write(crowd.join(format!("new-{pages}")), "").unwrap();
        let started = Instant::now();
        let query = LsQuery { limit: 20_000, after: Some(after), ..query.clone() };
        page = local.fs().ls(&path("crowd"), &query).await.unwrap();
        longest = longest.max(started.elapsed());
        pages += 1;
    }
    let stayed = (0..count).filter(|number| seen.contains(&format!("crowd/{number:07}"))).count();
    let grown = resident_bytes().saturating_sub(before) >> 20;
    println!(
        "sec/F13: {count} entries, first page of 1,000 in {first_page:?}, longest of {pages} in {longest:?}, {grown} MB"
    );
    assert_eq!(stayed as u64, count);
    // Ten times what was measured: sorting a million would take longer. The names seen are the test's own memory.
    assert!(first_page < Duration::from_secs(2), "{first_page:?}");
    assert!(grown < 64 + count / 4_000, "{grown} MB");

    let foreign = LsQuery { after: Some("/0/other/".into()), ..query.clone() };
    assert_code(local.fs().ls(&path("crowd"), &foreign).await, ErrorCode::InvalidCursor);
    let nonsense = LsQuery { after: Some("/zz".into()), ..query };
    assert_code(local.fs().ls(&path("crowd"), &nonsense).await, ErrorCode::InvalidCursor);
}

/// Names for a few files, since a file takes longer to make than a name.
fn fill(directory: &std::path::Path, count: u64) {
    let mut file = std::path::PathBuf::new();
    for number in 0..count {
        let name = directory.join(format!("{number:07}"));
        if number % 60_000 == 0 {
            std::fs::write(&name, "").unwrap();
            file = name;
        } else {
            std::fs::hard_link(&file, &name).unwrap();
        }
    }
}

// sec/F10, F13
#[tokio::test]
async fn a_full_directory_is_paged_in_order_globbed_and_searched() {
    let local = Local::open().await;
    local.fs().mkdir(&path("crowd")).await.unwrap();
    fill(&local.root().join("crowd"), 50_000);
    let before = resident_bytes();
    let started = Instant::now();
    let query = LsQuery { depth: 2, limit: 100, after: None };
    let first = local.fs().ls(&path("crowd"), &query).await.unwrap();
    let second = LsQuery { after: first.next.clone(), ..query };
    let second = local.fs().ls(&path("crowd"), &second).await.unwrap();
    assert_eq!(first.entries[99].path, "crowd/0000099");
    assert_eq!(second.entries[0].path, "crowd/0000100");
    let glob = GlobQuery {
        pattern: "**/**/**/**/*7".into(),
        root: path("/"),
        respect_ignore_files: false,
        limit: 10,
    };
    let found = local.fs().glob(&glob).await.unwrap();
    assert!(found.truncated && found.paths[9] == "crowd/0000097");
    local.fs().grep(&grep_for("needle")).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(resident_bytes().saturating_sub(before) < 400 << 20);
    local.fs().rm(&path("crowd"), true).await.unwrap();
}

// sec/F10, W23: more directories than the walk keeps waiting, each found once.
#[tokio::test]
async fn a_directory_full_of_directories_is_walked_whole_in_little_memory() {
    const DIRECTORIES: usize = 4_000;
    let local = Local::open().await;
    for number in 0..DIRECTORIES {
        let directory = local.root().join(format!("wide/d{number}/inner"));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("f"), "needle").unwrap();
    }
    let glob = GlobQuery {
        pattern: "**/f".into(),
        root: path("/"),
        respect_ignore_files: true,
        limit: 2 * DIRECTORIES as u32,
    };
    let found = local.fs().glob(&glob).await.unwrap();
    let mut once = found.paths.clone();
    once.dedup();
    assert_eq!((found.paths.len(), once.len(), found.truncated), (DIRECTORIES, DIRECTORIES, false));
    let query = GrepQuery { max_matches: 10_000, deadline_ms: 60_000, ..grep_for("needle") };
    let found = local.fs().grep(&query).await.unwrap();
    assert_eq!((found.matches.len(), found.files_searched), (DIRECTORIES, DIRECTORIES as u64));
}
