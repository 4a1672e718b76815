//! `disk_mb` against what has no name, and against space that is taken without writing.
//!
//! Each attack runs on a small disk of its own, so that what the file system lost is the attacker's doing.

use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;
use warren_doors::Environment;
use warren_model::ErrorCode;
use warren_workspace::shell::Command;

use super::case::{Boxed, Case, Kind, Shape};
use super::in_each_box;
use super::outside::{Mounted, probe_says, program};
use super::probe::{self, results};

in_each_box!(
    deleted_files_count_however_they_are_held,
    a_rule_about_a_deleted_file_cannot_be_made,
    space_is_not_had_without_writing_it,
    a_workspace_has_only_so_many_files,
    what_enforces_the_limit_is_told,
);

const DISK_MB: u64 = 400;
const LIMIT_MB: u32 = 32;
/// Less than the limit each, and together more than the disk.
const PIECE_MB: u64 = 8;
/// Within this a box that is over its limit has ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// A provider on a disk of its own; the disk goes last.
struct Disk {
    case: Case,
    _mounted: Mounted,
    _image: TempDir,
}

fn small_disk(kind: Kind) -> Disk {
    let (image, folder) = (tempfile::tempdir_in("/var/tmp").unwrap(), tempfile::tempdir().unwrap());
    let mounted = Mounted::disk(&image.path().join("disk"), &folder.path().join("base"), DISK_MB);
    Disk { case: Case::below(kind, Environment::default(), folder), _mounted: mounted, _image: image }
}

impl Disk {
    fn free_mb(&self) -> u64 {
        let space = rustix::fs::statvfs(self.case.base()).unwrap();
        (space.f_bavail * space.f_frsize) >> 20
    }
}

async fn hide(boxed: &Boxed, kind: &str) -> Result<String, ErrorCode> {
    let pieces = (DISK_MB / PIECE_MB).to_string();
    let script = format!("/probe hide {kind} {PIECE_MB} {pieces}");
    let command = Command { timeout_ms: Some(PATIENCE.as_millis() as u64), ..Command::script(script) };
    let result = boxed.shell().run(command).await.map_err(|error| error.code())?;
    Ok(String::from_utf8_lossy(&result.stdout.bytes).into_owned())
}

// sec/S16
async fn deleted_files_count_however_they_are_held(case: Case) {
    for kind in
        ["open", "mapped", "in-flight", "unaccepted", "of-a-thread", "handed-on", "folder", "working-folder"]
    {
        let disk = small_disk(case.kind);
        let boxed = disk.case.open_with(&Shape::limited(|limits| limits.disk_mb = LIMIT_MB)).await.unwrap();
        let before = disk.free_mb();
        let began = Instant::now();
        let ended = hide(&boxed, kind).await;
        // Threads of a box have no descriptors of their own: that would be a call that is refused.
        if kind == "of-a-thread" && ended.as_deref().is_ok_and(|said| said.contains("hide EPERM")) {
            boxed.close().await;
            continue;
        }
        assert_eq!(ended, Err(ErrorCode::WorkspaceEvicted), "{kind}");
        println!("sec/S16: {kind}: ended after {:?} at a limit of {LIMIT_MB} MB", began.elapsed());
        let until = Instant::now() + PATIENCE;
        while disk.free_mb() + 8 < before {
            assert!(Instant::now() < until, "{kind}: the space is not given back");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Nothing of it is left, so that the next box works.
        let again = disk.case.resolve(&boxed).await;
        assert_eq!(again.says("echo fine").await, "fine", "{kind}");
        again.close().await;
    }
}

// control: sec/S16: where nothing holds it, each of these ways keeps a disk full that `du` calls empty.
#[test]
fn without_a_box_deleted_files_fill_the_disk_in_each_of_these_ways() {
    let kinds =
        ["open", "mapped", "in-flight", "unaccepted", "of-a-thread", "in-a-rule", "handed-on", "folder"];
    for kind in kinds.into_iter().chain(["working-folder"]) {
        let disk = small_disk(Kind::Sandbox);
        let place = disk.case.base().join("attacker");
        std::fs::create_dir(&place).unwrap();
        let before_mb = disk.free_mb();
        let mut hiding = program(probe::path())
            .args(["hide", kind, &PIECE_MB.to_string(), "12"])
            .current_dir(&place)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let output = std::io::BufReader::new(hiding.stdout.take().unwrap());
        let told = std::io::BufRead::lines(output).map(Result::unwrap).find(|line| line.starts_with("hide "));
        let free_mb = disk.free_mb();
        let shown = std::fs::read_dir(&place).unwrap().count();
        hiding.kill().unwrap();
        hiding.wait().unwrap();
        assert_eq!((told.as_deref(), shown), (Some("hide ok"), 0), "{kind}");
        let piece_mb = if kind.ends_with("folder") { 3 } else { PIECE_MB };
        assert!(free_mb + 12 * piece_mb <= before_mb, "{kind}: {free_mb} MB are free of {before_mb}");
    }
}

// sec/S16: nobody could see what it holds.
async fn a_rule_about_a_deleted_file_cannot_be_made(case: Case) {
    let boxed = case.open().await;
    let said = hide(&boxed, "in-a-rule").await.unwrap();
    assert!(said.contains("hide EOPNOTSUPP"), "{said}");
    boxed.close().await;
}

// sec/S16
async fn space_is_not_had_without_writing_it(case: Case) {
    let disk = small_disk(case.kind);
    let boxed = disk.case.open_with(&Shape::limited(|limits| limits.disk_mb = LIMIT_MB)).await.unwrap();
    let before = disk.free_mb();
    let told = results(&boxed.says("/probe allocate /workspace/file 300").await);
    for (name, result) in &told {
        let expected: &[&str] = match name.as_str() {
            // Gives space back.
            "punch-hole" => &["ok"],
            "resvsp" | "resvsp64" | "ioctl-zero-range" => &["EPERM"],
            // How a library asks whether to write instead; the high bits are none of the kernel's business.
            _ => &["EOPNOTSUPP"],
        };
        assert!(expected.contains(&result.as_str()), "{name}: {result}");
    }
    assert!(told.len() >= 12 && before - disk.free_mb() < 4, "{told:?}");
    // What asks for it gets it by writing: glibc's own way out, where there is a program that uses it.
    let said = boxed.says("fallocate --help 2>&1 | grep -q posix && fallocate -x -l 1M f && wc -c < f").await;
    assert!(said.is_empty() || said == "1048576", "{said}");
    boxed.close().await;
}

// control: sec/S16
#[test]
fn without_a_box_the_same_space_is_taken_in_a_moment() {
    let disk = small_disk(Kind::Sandbox);
    let file = disk.case.base().join("file");
    let began = Instant::now();
    let told = results(&probe_says(&["reserve", file.to_str().unwrap(), "300"]));
    println!("sec/S16: 300 MB without a box in {:?}", began.elapsed());
    assert_eq!(told["reserve"], "ok");
    assert!(disk.free_mb() < DISK_MB - 300);
    let told = results(&probe_says(&["allocate", file.to_str().unwrap(), "200"]));
    for name in ["plain", "keep-size", "resvsp", "resvsp64", "punch-hole"] {
        assert_eq!(told[name], "ok", "{name}");
    }
}

// sec/S16: names without contents take no space, but a file system has only so many.
async fn a_workspace_has_only_so_many_files(case: Case) {
    let disk = small_disk(case.kind);
    let boxed = disk.case.open_with(&Shape::limited(|limits| limits.disk_mb = LIMIT_MB)).await.unwrap();
    // They take no space that would be noticed, but inodes, of which a look is worth some thousands.
    let script = "mkdir d; i=0; while [ $i -lt 30000 ]; do : > d/$i; i=$((i+1)); done; sleep 60";
    let ended = boxed.shell().run(Command::script(script)).await.unwrap_err();
    assert_eq!(ended.code(), ErrorCode::WorkspaceEvicted, "{ended}");
    let again = disk.case.resolve(&boxed).await;
    let full = again.shell().run(Command::script("true")).await.unwrap_err();
    assert_eq!(full.code(), ErrorCode::StorageFull, "{full}");
    again.fs().rm(&crate::fixture::path("d"), true).await.unwrap();
    assert_eq!(again.says("echo fine").await, "fine");
    again.close().await;
}

// W72, W74
async fn what_enforces_the_limit_is_told(case: Case) {
    let boxed = case.open().await;
    let told = boxed.workspace.limits()["box"]["limits"]["disk"].clone();
    let enforced_by = told["enforced_by"].as_str().unwrap();
    for word in ["measured", "deleted", "mapped", "rlimit", "fallocate"] {
        assert!(enforced_by.contains(word), "{told}");
    }
    assert_eq!(told["files"], 1_310_720, "{told}");
    boxed.close().await;
}
