//! Cases about finding files: listing, globs, grep and watching.

use std::time::Duration;

use futures_util::StreamExt;
use warren_model::{ErrorCode, MIB};

use super::fs::names;
use super::{Harness, assert_code, files, get, open, path, put};
use crate::WorkspacePath;
use crate::fs::{Change, EntryKind, Fs, GlobQuery, GrepQuery, LsQuery};

// W20
pub async fn listings_are_sorted_by_bytes_at_any_depth(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    for at in ["a/x", "a-b", "a/y/z", "B", "é", "b"] {
        put(fs, at, "x").await;
    }
    assert_eq!(names(fs, "/").await, ["B", "a", "a-b", "b", "é"]);
    let deep = |depth| LsQuery { depth, ..LsQuery::default() };
    let listed = |listing: crate::fs::Listing| -> Vec<String> {
        listing.entries.into_iter().map(|entry| entry.path).collect()
    };
    assert_eq!(
        listed(fs.ls(&path("/"), &deep(9)).await.unwrap()),
        ["B", "a", "a-b", "a/x", "a/y", "a/y/z", "b", "é"]
    );
    assert_eq!(listed(fs.ls(&path("/"), &deep(2)).await.unwrap()), ["B", "a", "a-b", "a/x", "a/y", "b", "é"]);
    assert_eq!(listed(fs.ls(&path("a"), &deep(1)).await.unwrap()), ["a/x", "a/y"]);
}

// W20
pub async fn pages_of_a_listing_join_without_gap_or_repeat(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    for number in 0..40 {
        put(fs, &format!("d{}/f%{number}", number % 7), "x").await;
        put(fs, &format!("g{number}"), "x").await;
    }
    let whole = LsQuery { depth: 3, limit: 1_000, after: None };
    let all = fs.ls(&path("/"), &whole).await.unwrap();
    assert!(all.next.is_none() && all.entries.len() == 87);
    for limit in [1, 3, 10, 86, 87] {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let query = LsQuery { depth: 3, limit, after };
            let page = fs.ls(&path("/"), &query).await.unwrap();
            assert!(page.entries.len() <= limit as usize);
            pages.extend(page.entries);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(pages, all.entries, "in pages of {limit}");
    }
    let bad = LsQuery { after: Some("%".into()), ..LsQuery::default() };
    assert_code(fs.ls(&path("/"), &bad).await, ErrorCode::InvalidCursor);
}

// W20, F11 (security)
pub async fn odd_names_round_trip(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    let long = "n".repeat(255);
    let odd = [
        long.as_str(),
        "new\nline",
        "tab\t",
        " ",
        "-rf",
        "\u{202e}gpj.exe",
        "e\u{301}",
        "é",
        "a\\b",
        "*?[x]",
        "%2e%2e",
        "~",
        "…",
        "...",
        "\u{7f}",
    ];
    for name in odd {
        assert!(put(fs, name, name).await.created, "{name:?}");
    }
    for name in odd {
        assert_eq!(get(fs, name).await.unwrap(), name.as_bytes(), "{name:?}");
    }
    let mut expected: Vec<_> = odd.to_vec();
    expected.sort_unstable();
    assert_eq!(names(fs, "/").await, expected);
    assert_eq!(WorkspacePath::parse(&"x/".repeat(2_500)).unwrap_err().code(), ErrorCode::InvalidPath);
}

fn glob_of(pattern: &str) -> GlobQuery {
    GlobQuery {
        pattern: pattern.into(),
        root: WorkspacePath::root(),
        respect_ignore_files: false,
        limit: 100,
    }
}

// W20
pub async fn globs_find_files_and_stay_within_the_limit(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    for at in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.md", ".hidden/e.rs"] {
        put(fs, at, "x").await;
    }
    let found = |query: GlobQuery| async move { fs.glob(&query).await.unwrap() };
    assert_eq!(found(glob_of("*.rs")).await.paths, ["a.rs"]);
    assert_eq!(found(glob_of("**/*.rs")).await.paths, [".hidden/e.rs", "a.rs", "src/b.rs", "src/deep/c.rs"]);
    let below = GlobQuery { root: path("src"), ..glob_of("*.{rs,md}") };
    assert_eq!(found(below).await.paths, ["src/b.rs", "src/d.md"]);
    let few = GlobQuery { limit: 2, ..glob_of("**/*.rs") };
    let few = found(few).await;
    assert!(few.truncated && few.paths == [".hidden/e.rs", "a.rs"]);
    assert_code(fs.glob(&GlobQuery { root: path("absent"), ..glob_of("*") }).await, ErrorCode::FileNotFound);
}

fn grep_for(pattern: &str) -> GrepQuery {
    GrepQuery {
        pattern: pattern.into(),
        is_literal: false,
        ignore_case: false,
        root: WorkspacePath::root(),
        globs: Vec::new(),
        context_lines: 0,
        respect_ignore_files: false,
        max_matches: 100,
        deadline_ms: 10_000,
    }
}

async fn lines(fs: &dyn Fs, query: &GrepQuery) -> Vec<String> {
    let result = fs.grep(query).await.unwrap();
    let shown = |found: &crate::fs::GrepMatch| format!("{}:{}:{}", found.path, found.line_number, found.line);
    result.matches.iter().map(shown).collect()
}

// W23
pub async fn grep_finds_lines_with_context_and_filters(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "a.txt", "one\nTwo (x)\nthree\n").await;
    put(fs, "src/b.rs", "fn two() {}\r\nlet x = 2;").await;
    put(fs, "bin", "two\0two\n").await;
    assert_eq!(lines(fs, &grep_for("[Tt]wo")).await, ["a.txt:2:Two (x)", "src/b.rs:1:fn two() {}"]);
    let literal = GrepQuery { is_literal: true, ignore_case: true, ..grep_for("two (X)") };
    assert_eq!(lines(fs, &literal).await, ["a.txt:2:Two (x)"]);
    let filtered = GrepQuery { globs: vec!["*.rs".into()], ..grep_for("[Tt]wo") };
    assert_eq!(lines(fs, &filtered).await, ["src/b.rs:1:fn two() {}"]);
    let rooted = GrepQuery { root: path("src"), ..grep_for("x") };
    assert_eq!(lines(fs, &rooted).await, ["src/b.rs:2:let x = 2;"]);
    let one_file = GrepQuery { root: path("a.txt"), context_lines: 1, ..grep_for("Two") };
    let result = fs.grep(&one_file).await.unwrap();
    assert_eq!(result.matches[0].before, ["one"]);
    assert_eq!(result.matches[0].after, ["three"]);
    assert!(!result.truncated && result.files_searched == 1);
}

// W22, W23
pub async fn grep_stops_at_its_limit_and_lists_what_it_skipped(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "many", "x\n".repeat(500)).await;
    let few = GrepQuery { max_matches: 7, ..grep_for("x") };
    let result = fs.grep(&few).await.unwrap();
    assert!(result.truncated && result.matches.len() == 7);
    let limits = workspace.limits();
    let limit = |name: &str| limits[name].as_u64().unwrap() * MIB;
    let (max_grep, max_file) = (limit("max_grep_file_mb"), limit("max_file_mb"));
    assert!(max_grep < max_file, "the harness's config must leave room between the two");
    put(fs, "large", vec![b'y'; usize::try_from(max_grep + 1).unwrap()]).await;
    let result = fs.grep(&grep_for("y")).await.unwrap();
    assert_eq!(result.skipped, ["large"]);
    assert!(result.matches.is_empty());
}

// W23
pub async fn ignore_files_count_only_on_request(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, ".gitignore", "target/\n*.log\n").await;
    put(fs, "src/.ignore", "!keep.log\nsecret\n").await;
    for at in ["target/x", "a.log", "src/keep.log", "src/secret", "src/z", ".git/config"] {
        put(fs, at, "needle\n").await;
    }
    let all = lines(fs, &grep_for("needle")).await;
    assert_eq!(all.len(), 6);
    let respectful = GrepQuery { respect_ignore_files: true, ..grep_for("needle") };
    assert_eq!(lines(fs, &respectful).await, ["src/keep.log:1:needle", "src/z:1:needle"]);
    let glob = GlobQuery { respect_ignore_files: true, root: path("src"), ..glob_of("**/[!.]*") };
    assert_eq!(fs.glob(&glob).await.unwrap().paths, ["src/keep.log", "src/z"]);
}

// W23, F10 (security)
pub async fn bad_patterns_are_refused(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "f", "x").await;
    for pattern in ["(", "(a{100}){100}{100}", ""] {
        assert_code(fs.grep(&grep_for(pattern)).await, ErrorCode::InvalidPattern);
    }
    for pattern in ["[", "{a", ""] {
        assert_code(fs.glob(&glob_of(pattern)).await, ErrorCode::InvalidPattern);
        let filtered = GrepQuery { globs: vec![pattern.into()], ..grep_for("x") };
        assert_code(fs.grep(&filtered).await, ErrorCode::InvalidPattern);
    }
}

// W20
pub async fn changes_are_told_to_watchers(harness: &dyn Harness) {
    let workspace = open(harness).await.workspace;
    let fs = files(&workspace);
    put(fs, "seen/old", "x").await;
    put(fs, "unseen/old", "x").await;
    let mut changes = fs.watch(&path("seen")).await.unwrap();
    put(fs, "unseen/new", "x").await;
    put(fs, "seen/new", "x").await;
    until(&mut changes, |change| told(change) == Some("seen/new")).await;
    put(fs, "seen/dir/inner", "x").await;
    until(&mut changes, |change| told(change) == Some("seen/dir/inner")).await;
    fs.rm(&path("seen/old"), false).await.unwrap();
    until(&mut changes, |change| *change == Change::Removed("seen/old".into())).await;
    assert_code(fs.watch(&path("absent")).await.map(|_| ()), ErrorCode::FileNotFound);
    assert_eq!(fs.stat(&path("seen")).await.unwrap().kind, EntryKind::Directory);
}

fn told(change: &Change) -> Option<&str> {
    match change {
        Change::Created(path) | Change::Modified(path) | Change::Removed(path) => {
            assert!(path.starts_with("seen"), "{path} was not to be told");
            Some(path)
        }
        Change::Lagged => None,
    }
}

async fn until(changes: &mut crate::fs::ChangeStream, wanted: impl Fn(&Change) -> bool) {
    let found = async {
        while let Some(change) = changes.next().await {
            if wanted(&change.unwrap()) {
                return;
            }
        }
        panic!("the stream of changes ended");
    };
    tokio::time::timeout(Duration::from_secs(20), found).await.expect("the change was told");
}
