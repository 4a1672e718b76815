//! Limits: what a box uses up is its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;
use warren_doors::Environment;
use warren_model::ErrorCode;
use warren_workspace::Error;
use warren_workspace::shell::Command;

use super::case::{Boxed, Case, Kind, Shape, stdout};
use super::in_each_box;
use super::oracles::BoxProcesses;
use super::outside::Mounted;
use super::probe::results;
use crate::fixture::number_from_env;

in_each_box!(
    a_crowd_is_limited_and_leaves_with_its_command,
    memory_in_every_form_is_limited_and_only_the_box_feels_it,
    what_the_kernel_keeps_for_a_box_counts_as_its_memory,
    a_full_disk_is_full_for_the_box_alone,
    a_workspace_over_its_disk_limit_runs_nothing_until_files_are_deleted,
);

const PIDS: u32 = 64;
/// More than a quiet box of that limit could have, and less than a loose one does.
const MANY: usize = 300;

async fn made(boxed: &Boxed, kind: &str, count: usize) -> usize {
    let said = boxed.says(&format!("/probe crowd {kind} {count}")).await;
    results(&said).get("made").map_or(0, |number| number.parse().unwrap())
}

// sec/S14
async fn a_crowd_is_limited_and_leaves_with_its_command(case: Case) {
    let boxed = case.open_with(&Shape::limited(|limits| limits.pids = PIDS)).await.unwrap();
    let neighbour = case.open().await;
    let processes = BoxProcesses::of(&boxed).await;
    let at_rest = processes.alive().len();
    let quiet = slowest_of(&neighbour).await;
    for (kind, count) in [("processes", 10_000), ("threads", 10_000), ("daemons", 200)] {
        let made = made(&boxed, kind, count).await;
        assert!(made <= PIDS as usize || kind == "daemons", "{made} {kind}");
        processes.assert_at_most(at_rest).await;
        assert_eq!(boxed.says("echo fine").await, "fine", "after {kind}");
    }
    // A bomb in the background, and what a neighbour notices of it.
    let bomb = boxed.run_within("bomb() { bomb | bomb & }; bomb; sleep 100", 1_500);
    let (bombed, loud) = tokio::join!(bomb, slowest_of(&neighbour));
    assert!(bombed.timed_out || bombed.exit_code.is_some() || bombed.signal.is_some());
    assert!(processes.alive().len() <= PIDS as usize + at_rest);
    // Twice is the aim; a machine that does other things too must not fail the test.
    println!(
        "sec/S14: a neighbour's slowest of 20 commands took {quiet:?} before, {loud:?} beside a fork bomb"
    );
    assert!(loud < quiet * 20 + Duration::from_secs(2), "{quiet:?} {loud:?}");
    processes.assert_at_most(at_rest).await;
    boxed.close().await;
    processes.assert_gone().await;
}

async fn slowest_of(boxed: &Boxed) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let began = Instant::now();
        boxed.run("true").await;
        slowest = slowest.max(began.elapsed());
    }
    slowest
}

// control: sec/S14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_loose_limit_the_same_crowd_is_there() {
    for case in [Case::sandbox(), Case::docker()] {
        let boxed = case.open_with(&Shape::limited(|limits| limits.pids = 2_000)).await.unwrap();
        for kind in ["processes", "threads"] {
            assert_eq!(made(&boxed, kind, MANY).await, MANY, "{kind}");
        }
        boxed.close().await;
    }
}

const MEMORY_MB: u32 = 64;
const FORMS: [&str; 5] = ["private", "shared", "anonymous", "file:/tmp/fill", "file:/dev/shm/fill"];

/// How many megabytes of `wanted` it got before it was stopped or killed.
async fn filled(boxed: &Boxed, form: &str, wanted: u32) -> Option<u32> {
    try_filled(boxed, form, wanted).await.unwrap()
}

async fn try_filled(boxed: &Boxed, form: &str, wanted: u32) -> Result<Option<u32>, Error> {
    let script = format!("/probe fill {form} {wanted}; rm -f /tmp/fill /dev/shm/fill fill");
    let result = boxed.shell().run(Command::script(script)).await?;
    Ok(results(&stdout(&result)).get("filled").map(|number| number.parse().unwrap()))
}

/// Where the kernel counts the most that a box's control group has held. Looked up while the box lives.
fn peak_file(processes: &BoxProcesses) -> Option<PathBuf> {
    let process = *processes.alive().last()?;
    let groups = std::fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        match rest.split_once(':')? {
            (_, "/") => None,
            ("memory", path) => Some(format!("/sys/fs/cgroup/memory{path}/memory.max_usage_in_bytes").into()),
            ("", path) => {
                Some(PathBuf::from(format!("/sys/fs/cgroup{path}/memory.peak"))).filter(|file| file.exists())
            }
            _ => None,
        }
    })
}

// sec/S15
async fn memory_in_every_form_is_limited_and_only_the_box_feels_it(case: Case) {
    let shape = Shape::limited(|limits| (limits.memory_mb, limits.tmp_mb) = (MEMORY_MB, 512));
    let neighbour = case.open().await;
    for form in FORMS {
        let boxed = case.open_with(&shape).await.unwrap();
        let processes = BoxProcesses::of(&boxed).await;
        let peak = peak_file(&processes);
        match try_filled(&boxed, form, 256).await {
            Ok(got) => assert!(got.is_none_or(|got| got <= MEMORY_MB), "{form}: {got:?}"),
            // Memory that is in files is nobody's, so that the kernel may pick process 1. Then the box has ended.
            Err(error) => assert_eq!(error.code(), ErrorCode::WorkspaceEvicted, "{form}: {error}"),
        }
        assert_within_its_limit(peak.as_deref(), form);
        assert_eq!(neighbour.says("echo fine").await, "fine", "{form}");
        boxed.close().await;
        processes.assert_gone().await;
        let again = case.resolve(&boxed).await;
        assert_eq!(again.says("echo fine").await, "fine", "{form}");
        again.close().await;
    }
}

// sec/S15: what the kernel keeps for a box: pages of its files, and names.
async fn what_the_kernel_keeps_for_a_box_counts_as_its_memory(case: Case) {
    let shape = Shape::limited(|limits| limits.memory_mb = MEMORY_MB);
    let boxed = case.open_with(&shape).await.unwrap();
    let processes = BoxProcesses::of(&boxed).await;
    let peak = peak_file(&processes);
    assert_eq!(filled(&boxed, "file:/workspace/fill", 256).await, Some(256), "pages of files are given back");
    let names = number_from_env("WARREN_SECURITY_NAMES", 5_000);
    let script = format!("mkdir n; i=0; while [ $i -lt {names} ]; do : > n/$i; i=$((i+1)); done; rm -r n");
    match boxed.shell().run(Command::script(script)).await {
        Ok(result) => assert!(!result.timed_out, "{result:?}"),
        // So many that the box had to end; nothing but the box.
        Err(error) => assert_eq!(error.code(), ErrorCode::WorkspaceEvicted, "{error}"),
    }
    assert_within_its_limit(peak.as_deref(), "names");
    boxed.close().await;
    processes.assert_gone().await;
}

/// A tenth more is what the case allows. A box that has ended has no group to ask.
fn assert_within_its_limit(peak: Option<&Path>, what: &str) {
    let peak = peak.and_then(|file| std::fs::read_to_string(file).ok());
    let peak = peak.and_then(|text| text.trim().parse::<u64>().ok()).map(|bytes| bytes >> 20);
    println!("sec/S15: {what}: at most {peak:?} MB of {MEMORY_MB} MB");
    assert!(peak.is_none_or(|peak| peak <= u64::from(MEMORY_MB + MEMORY_MB / 10)), "{what}: {peak:?}");
}

// control: sec/S15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_loose_limit_the_same_memory_is_had() {
    for case in [Case::sandbox(), Case::docker()] {
        let shape = Shape::limited(|limits| (limits.memory_mb, limits.tmp_mb) = (1_024, 512));
        let boxed = case.open_with(&shape).await.unwrap();
        for form in FORMS {
            assert_eq!(filled(&boxed, form, 256).await, Some(256), "{form}");
        }
        boxed.close().await;
    }
}

// sec/S16
async fn a_full_disk_is_full_for_the_box_alone(case: Case) {
    let boxed =
        case.open_with(&Shape::limited(|limits| (limits.tmp_mb, limits.disk_mb) = (4, 8))).await.unwrap();
    for (form, most) in [("file:/tmp/fill", 4), ("file:/dev/shm/fill", 4), ("file:/workspace/fill", 8)] {
        let got = filled(&boxed, form, 64).await;
        assert!(got.is_none_or(|got| got <= most), "{form}: {got:?}");
    }
    for place in ["/", "/etc", "/usr", "/dev", "/var", "/run", "/.warren"] {
        let said = boxed.says(&format!("echo x > {place}/planted && echo written")).await;
        assert!(!said.contains("written"), "{place}");
    }
    assert_eq!(boxed.says("echo fine > f; cat f").await, "fine");
    case.outside.assert_untouched();
}

/// On a disk: memory that nobody has read does not count as used everywhere.
fn on_disk(case: &Case) -> Case {
    Case::below(case.kind, Environment::default(), tempfile::tempdir_in("/var/tmp").unwrap())
}

// sec/S16, W72, W74: files in all, not one by one; and the next command is for a new box.
async fn a_workspace_over_its_disk_limit_runs_nothing_until_files_are_deleted(case: Case) {
    let case = on_disk(&case);
    let boxed = case.open_with(&Shape::limited(|limits| limits.disk_mb = 16)).await.unwrap();
    let processes = BoxProcesses::of(&boxed).await;
    let fill = "for i in 1 2 3 4 5; do head -c 8000000 /dev/urandom > f$i; done; sleep 60";
    let ended = boxed.shell().run(Command::script(fill)).await.unwrap_err();
    assert_eq!(ended.code(), ErrorCode::WorkspaceEvicted, "{ended}");
    let next = boxed.shell().run(Command::script("true")).await.unwrap_err();
    assert!(next.is_evicted(), "the box is gone, so that whoever asks is given a new one: {next}");
    processes.assert_gone().await;

    let again = case.resolve(&boxed).await;
    let full = again.shell().run(Command::script("true")).await.unwrap_err();
    assert_eq!(full.code(), ErrorCode::StorageFull, "{full}");
    let refused = again.fs().append(&crate::fixture::path("more"), "more".into()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageFull, "nor does the files API add to it");
    for number in 1..=5 {
        let _ = again.fs().rm(&crate::fixture::path(&format!("f{number}")), false).await;
    }
    assert_eq!(again.says("echo fine").await, "fine");
    again.close().await;
}

// sec/S16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_system_that_is_full_is_an_error_inside_and_the_control_plane_goes_on() {
    for kind in [Kind::Sandbox, Kind::Docker] {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        let small = Mounted::memory(&base, 8 << 10);
        let case = Case::below(kind, Environment::default(), folder);
        let boxed = case.open().await;
        let said = boxed.says("/probe fill file:/workspace/fill 64").await;
        assert!(said.contains("fill ENOSPC"), "{kind:?}: {said}");
        // Through the file operations too, with the right code.
        let path = crate::fixture::path("more");
        let contents = crate::fixture::contents(vec![b'x'; 4 << 20]);
        let full = boxed.fs().write(&path, contents, Default::default()).await.unwrap_err();
        assert_eq!(full.code(), ErrorCode::StorageFull, "{kind:?}: {full}");
        // What lies elsewhere, as a database does, is written as before; and room makes the box usable again.
        std::fs::write(case.beside("database").join("row"), vec![0; 1 << 20]).unwrap();
        assert_eq!(boxed.says("rm fill; echo fine > f; cat f").await, "fine");
        boxed.close().await;
        drop((boxed, case, small));
    }
}

// control: sec/S16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_loose_limits_the_same_files_are_written() {
    for case in [Case::sandbox(), Case::docker()] {
        let boxed = case
            .open_with(&Shape::limited(|limits| (limits.tmp_mb, limits.disk_mb) = (128, 128)))
            .await
            .unwrap();
        for form in ["file:/tmp/fill", "file:/dev/shm/fill", "file:/workspace/fill"] {
            assert_eq!(filled(&boxed, form, 64).await, Some(64), "{form}");
        }
    }
}
