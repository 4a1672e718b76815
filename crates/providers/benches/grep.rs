//! P7: grep through the `Fs` trait of an open `local` workspace against `rg`, on a tree of a gigabyte, in one run with
//! rounds interleaved. The goal is at most 1.1 times `rg`.
//!
//! `cargo bench -p warren-providers --bench grep`. The tree is made below the target folder and removed again; both
//! sides find it in the page cache. `rg` prints to a pipe as it finds; Warren sorts, so it answers when all is done.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use warren_doors::{Clock as _, Entropy, Environment, OsEntropy, SystemClock};
use warren_model::{LocalConfig, ProviderConfig, WorkspaceId};
use warren_providers::LocalProvider;
use warren_workspace::fs::{Fs, GrepQuery};
use warren_workspace::{OpenRequest, Provider as _, WorkspacePath};

const ROUNDS: usize = 9;
const FILES: usize = 45_000;
const FILES_PER_DIRECTORY: usize = 30;
const LARGE_FILES: usize = 16;
const LARGE_BYTES: usize = 4 << 20;
/// One file in so many holds what is searched for.
const PLANTED_EVERY: usize = 500;

struct Case {
    label: &'static str,
    pattern: &'static str,
    is_literal: bool,
    ignore_case: bool,
}

const CASES: [Case; 4] = [
    Case { label: "literal", pattern: "needle_in_the_warren", is_literal: true, ignore_case: false },
    Case { label: "literal, any case", pattern: "Needle_In_The", is_literal: true, ignore_case: true },
    Case {
        label: "regex with a literal",
        pattern: r"needle_\w+_warren = \d+",
        is_literal: false,
        ignore_case: false,
    },
    Case {
        label: "regex without one",
        pattern: r"[a-z]+_[a-z]{3}_[a-z]{6} = [0-9]{5}",
        is_literal: false,
        ignore_case: false,
    },
];

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(compare());
}

async fn compare() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the real file system");
    let provider =
        LocalProvider::new(folder.path(), Environment::default(), Arc::new(SystemClock), Arc::new(OsEntropy))
            .expect("the provider starts");
    let id: WorkspaceId = (&OsEntropy as &dyn Entropy).id(SystemClock.now());
    let request = OpenRequest {
        workspace_id: id,
        config: ProviderConfig::Local(LocalConfig::default()),
        declared: provider.capabilities(),
    };
    let opened = provider.open(request).await.expect("the workspace opens");
    let fs = opened.workspace.fs().expect("local has files");
    let root = folder.path().join(id.to_string());
    let bytes = make_tree(&root);
    let gigabytes = as_f64(bytes) / 1e9;
    println!("grep of {} files, {gigabytes:.2} GB, {ROUNDS} rounds (goal: at most 1.1 times rg)", files());
    println!("{:<24} {:>10} {:>10} {:>8} {:>8}", "", "warren ms", "rg ms", "ratio", "matches");
    for case in &CASES {
        let (mut ours, mut theirs, mut matches) = (Vec::new(), Vec::new(), 0);
        // The first round brings the tree into the page cache and is not counted.
        for round in 0..=ROUNDS {
            let (elapsed, found) = search(fs, case).await;
            let (baseline, expected) = ripgrep(&root, case);
            assert_eq!(found, expected, "{}: both find the same", case.label);
            if round > 0 {
                ours.push(elapsed);
                theirs.push(baseline);
            }
            matches = found;
        }
        let (ours, theirs) = (median_ms(ours), median_ms(theirs));
        println!("{:<24} {ours:>10.0} {theirs:>10.0} {:>7.2}x {matches:>8}", case.label, ours / theirs);
    }
}

async fn search(fs: &dyn Fs, case: &Case) -> (Duration, usize) {
    let query = GrepQuery {
        pattern: case.pattern.into(),
        is_literal: case.is_literal,
        ignore_case: case.ignore_case,
        root: WorkspacePath::root(),
        globs: vec![],
        context_lines: 0,
        respect_ignore_files: false,
        max_matches: 10_000,
        deadline_ms: 60_000,
    };
    let started = Instant::now();
    let found = fs.grep(&query).await.expect("the search runs");
    let elapsed = started.elapsed();
    assert!(!found.truncated && found.skipped.is_empty(), "after {elapsed:?}: {:?}", found.skipped);
    assert_eq!(found.files_searched as usize, files());
    (elapsed, found.matches.len())
}

#[expect(clippy::disallowed_methods, reason = "runs the baseline")]
fn ripgrep(root: &Path, case: &Case) -> (Duration, usize) {
    let mut command = Command::new("rg");
    command.args([
        "--no-config",
        "--no-ignore",
        "--hidden",
        "--line-number",
        "--no-heading",
        "--color=never",
    ]);
    if case.is_literal {
        command.arg("--fixed-strings");
    }
    if case.ignore_case {
        command.arg("--ignore-case");
    }
    command.arg("--regexp").arg(case.pattern).arg(root).stdin(Stdio::null());
    let started = Instant::now();
    let output = command.output().expect("rg runs (Debian package ripgrep)");
    let elapsed = started.elapsed();
    (elapsed, output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count())
}

const fn files() -> usize {
    FILES + LARGE_FILES
}

/// Text that looks like source code, the same at every run. Tells how many bytes it has.
fn make_tree(root: &Path) -> u64 {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let lines: Vec<String> = (0..8_192).map(|_| line(&mut random)).collect();
    let mut total = 0;
    for number in 0..files() {
        let bytes = if number < FILES { 2_000 + random.below(39_000) } else { LARGE_BYTES };
        let group = number / FILES_PER_DIRECTORY;
        let directory = root.join(format!("crate{:02}/module{:02}/part{group}", group % 20, group % 7));
        std::fs::create_dir_all(&directory).expect("the tree can be made");
        let file = std::fs::File::create(directory.join(format!("file{number}.rs"))).expect("a file is made");
        let mut file = std::io::BufWriter::with_capacity(1 << 16, file);
        let mut written = 0;
        while written < bytes {
            let line = &lines[random.below(lines.len())];
            file.write_all(line.as_bytes()).expect("the disk takes it");
            written += line.len();
        }
        if number.is_multiple_of(PLANTED_EVERY) {
            let planted = format!("    let needle_in_the_warren = {};\n", 10_000 + number);
            file.write_all(planted.as_bytes()).expect("the disk takes it");
            written += planted.len();
        }
        file.flush().expect("the disk takes it");
        total += written as u64;
    }
    total
}

fn line(random: &mut Random) -> String {
    const WORDS: [&str; 32] = [
        "let", "self", "match", "return", "value", "index", "result", "error", "path", "file", "entry",
        "needs", "length", "state", "queue", "signal", "handle", "config", "worker", "buffer", "lease",
        "session", "provider", "registry", "Option", "Vec", "String", "async", "await", "impl", "struct",
        "warren",
    ];
    let mut line = " ".repeat(4 * random.below(5));
    for _ in 0..3 + random.below(8) {
        line.push_str(WORDS[random.below(WORDS.len())]);
        line.push_str([" ", "_", ".", "(", ") ", ": ", " = ", ", "][random.below(8)]);
    }
    line.push_str(&format!("{};\n", random.below(1_000)));
    line
}

/// Xorshift: small, fast and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn median_ms(mut rounds: Vec<Duration>) -> f64 {
    rounds.sort();
    rounds[rounds.len() / 2].as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
const fn as_f64(number: u64) -> f64 {
    number as f64
}
