//! Q20: what was answered is there after a power loss.
//!
//! A workspace lies on a filesystem of its own, in a file. After each answer that file is copied as it is: what the kernel has
//! not written by then is not in the copy, as it would not be on the disk if the power failed in that moment. The copy is
//! mounted, which repairs it as a start does, and read.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use warren_doors::{Environment, OsEntropy, SystemClock};
use warren_model::{Capability, LocalConfig, ProviderConfig, SandboxConfig};
use warren_providers::{SandboxProvider, SandboxSettings};
use warren_workspace::fs::{CpOptions, Edit, Fs, WriteMode};
use warren_workspace::{OpenRequest, Provider};

use crate::fixture::{contents, new_id, path, provider};

const IMAGE_MB: u64 = 64;

/// A filesystem in a file, mounted.
struct Disk {
    folder: tempfile::TempDir,
}

#[expect(clippy::disallowed_methods, reason = "mounting takes the system's own programs")]
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; it is in e2fsprogs or mount"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {} (this test needs root)",
        String::from_utf8_lossy(&output.stderr)
    );
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::File::create(folder.path().join("image")).unwrap().set_len(IMAGE_MB << 20).unwrap();
        let disk = Self { folder };
        run("mkfs.ext4", &["-q", "-F", &text(&disk.image())]);
        mount(&disk.image(), &disk.place());
        disk
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    /// What would be there if the power failed now.
    fn after_power_loss<T>(&self, look: impl FnOnce(&Path) -> T) -> T {
        let (copy, place) = (self.folder.path().join("copy"), self.folder.path().join("after"));
        run("cp", &["--sparse=always", &text(&self.image()), &text(&copy)]);
        mount(&copy, &place);
        let seen = look(&place);
        run("umount", &[&text(&place)]);
        seen
    }
}

impl Drop for Disk {
    #[expect(clippy::disallowed_methods, reason = "mounting takes the system's own programs")]
    fn drop(&mut self) {
        for place in ["after", "mounted"] {
            let _ = Command::new("umount").arg(self.folder.path().join(place)).output();
        }
    }
}

/// The kernel writes by itself only after ten minutes.
fn mount(image: &Path, place: &Path) {
    std::fs::create_dir_all(place).unwrap();
    run("mount", &["-o", "loop,commit=600", &text(image), &text(place)]);
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn read(at: &Path) -> Option<String> {
    std::fs::read_to_string(at).ok()
}

// Q20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_survives_a_power_loss() {
    let disk = Disk::new();
    let provider = provider(&disk.place().join("base"), Environment::default());
    survives(&disk, &provider, ProviderConfig::Local(LocalConfig::default())).await;
}

// Q20: files of a box are in a folder of the host as well
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_in_a_sandbox_survives_a_power_loss() {
    let disk = Disk::new();
    let (base, settings) = (disk.place().join("base"), SandboxSettings::default());
    let provider =
        SandboxProvider::new(&base, settings, Environment::default(), Arc::new(SystemClock), &OsEntropy);
    let provider = provider.unwrap();
    survives(&disk, &provider, ProviderConfig::Sandbox(SandboxConfig::default())).await;
}

async fn survives(disk: &Disk, provider: &dyn Provider, config: ProviderConfig) {
    let id = new_id();
    let declared = [Capability::Fs, Capability::Shell].into_iter().collect();
    let opened = provider.open(OpenRequest { workspace_id: id, config, declared }).await.unwrap();
    let fs: &dyn Fs = opened.workspace.fs().unwrap();
    let within = |place: &Path| place.join("base").join(id.to_string());
    let seen = |name: &str| disk.after_power_loss(|place| read(&within(place).join(name)));
    let is_there = |name: &str| disk.after_power_loss(|place| within(place).join(name).exists());
    assert!(is_there("."), "a workspace that was made");

    fs.mkdir(&path("a/b/c")).await.unwrap();
    assert!(is_there("a/b/c"), "directories that were made");
    fs.write(&path("a/b/c/one.txt"), contents("one"), WriteMode::CreateNew).await.unwrap();
    assert_eq!(seen("a/b/c/one.txt").as_deref(), Some("one"), "a new file");
    fs.write(&path("new/two.txt"), contents("two"), WriteMode::Replace).await.unwrap();
    assert_eq!(seen("new/two.txt").as_deref(), Some("two"), "one in a new directory");
    fs.write(&path("a/b/c/one.txt"), contents("uno"), WriteMode::Replace).await.unwrap();
    assert_eq!(seen("a/b/c/one.txt").as_deref(), Some("uno"), "one that was replaced");
    let edit = Edit { old: "uno".into(), new: "eins".into(), all: false };
    fs.edit(&path("a/b/c/one.txt"), &edit).await.unwrap();
    assert_eq!(seen("a/b/c/one.txt").as_deref(), Some("eins"), "one that was edited");
    fs.append(&path("a/b/c/one.txt"), Bytes::from_static(b"!")).await.unwrap();
    assert_eq!(seen("a/b/c/one.txt").as_deref(), Some("eins!"), "one that was added to");
    fs.append(&path("log.txt"), Bytes::from_static(b"line")).await.unwrap();
    assert_eq!(seen("log.txt").as_deref(), Some("line"), "one that was made by adding");
    fs.mv(&path("a/b/c/one.txt"), &path("moved/one.txt"), false).await.unwrap();
    assert_eq!(seen("moved/one.txt").as_deref(), Some("eins!"), "one that was moved");
    assert!(!is_there("a/b/c/one.txt"), "and is not where it was");
    fs.cp(&path("moved"), &path("copied"), CpOptions { recursive: true, overwrite: false }).await.unwrap();
    assert_eq!(seen("copied/one.txt").as_deref(), Some("eins!"), "a tree that was copied");
    fs.cp(&path("log.txt"), &path("log2.txt"), CpOptions::default()).await.unwrap();
    assert_eq!(seen("log2.txt").as_deref(), Some("line"), "a file that was copied");
    fs.rm(&path("log.txt"), false).await.unwrap();
    assert!(!is_there("log.txt"), "a file that was removed");
    fs.rm(&path("copied"), true).await.unwrap();
    assert!(!is_there("copied"), "a tree that was removed");
    opened.workspace.close().await.unwrap();
}

// Q20: the control; a test that loses nothing here would find nothing
#[test]
fn what_nobody_waited_for_is_lost_with_the_power() {
    let disk = Disk::new();
    std::fs::create_dir(disk.place().join("made")).unwrap();
    std::fs::write(disk.place().join("written.txt"), "text").unwrap();
    let (made, written) = disk.after_power_loss(|place| {
        (place.join("made").exists(), read(&place.join("written.txt")).is_some_and(|text| !text.is_empty()))
    });
    assert_eq!((made, written), (false, false));
}
