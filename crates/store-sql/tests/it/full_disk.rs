//! A disk that somebody else has filled (D6). The disk is a small one of the test's own.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use warren_store::{Error, Store};
use warren_store_sql::sqlite::{SqliteOptions, SqliteStore};

use crate::rows;

const DISK_MB: u64 = 256;
const RESERVE_MB: u64 = 64;

/// Mounted until it is dropped.
struct Disk {
    folder: TempDir,
}

#[expect(clippy::disallowed_methods, reason = "a test's own disk is mounted by the system's programs")]
fn run(program: &str, words: &[&str]) {
    assert!(rustix::process::geteuid().is_root(), "run this test as root: it mounts a file system");
    let status = std::process::Command::new(program).args(words).status().unwrap();
    assert!(status.success(), "{program} {words:?}");
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let disk = Self { folder };
        let (image, at) = (disk.folder.path().join("image"), disk.path());
        std::fs::create_dir(&at).unwrap();
        std::fs::File::create(&image).unwrap().set_len(DISK_MB << 20).unwrap();
        let (image, at) = (image.to_str().unwrap(), at.to_str().unwrap());
        run("mkfs.ext4", &["-q", "-m", "0", image]);
        run("mount", &["-o", "loop", image, at]);
        disk
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    async fn open(&self, reserve_bytes: u64) -> Arc<dyn Store> {
        let options = SqliteOptions { reserve_bytes, ..SqliteOptions::default() };
        Arc::new(SqliteStore::open(self.path().join("warren.db"), options).await.unwrap())
    }

    /// Somebody else takes all that is left.
    fn fill(&self) -> PathBuf {
        let path = self.path().join("greedy");
        let mut file = std::fs::File::options().append(true).create(true).open(&path).unwrap();
        for piece in [1 << 20, 4_096, 1] {
            while file.write_all(&vec![1; piece]).and_then(|()| file.sync_data()).is_ok() {}
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run("umount", &["--lazy", self.path().to_str().unwrap()]);
    }
}

async fn commit(store: &Arc<dyn Store>) -> Result<(), Error> {
    store.write(|tx| tx.append_event(&rows::event("x".repeat(2_000)))).await
}

/// How many of so many commits were kept.
async fn commits(store: &Arc<dyn Store>, tries: usize) -> usize {
    let mut kept = 0;
    for _ in 0..tries {
        match commit(store).await {
            Ok(()) => kept += 1,
            Err(error) => assert_eq!(error, Error::Full),
        }
    }
    kept
}

fn has_reserve(path: &Path) -> bool {
    path.join("warren.db-reserve").metadata().is_ok_and(|facts| facts.len() == (RESERVE_MB << 20) * 3 / 4)
}

// D6, sec/S16
#[tokio::test]
async fn on_a_full_disk_commits_go_on_and_the_reserve_comes_back_with_the_space() {
    let disk = Disk::new();
    let store = disk.open(RESERVE_MB << 20).await;
    commit(&store).await.unwrap();
    assert!(has_reserve(&disk.path()), "it is kept from the first write on");
    let greedy = disk.fill();
    assert_eq!(commits(&store, 200).await, 200, "in what is kept in the log");
    // Whoever is greedy takes what is given up too, and the log has its own.
    for _ in 0..3 {
        disk.fill();
        assert_eq!(commits(&store, 50).await, 50);
    }
    // It recovers alone.
    std::fs::remove_file(greedy).unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !has_reserve(&disk.path()) {
        assert!(std::time::Instant::now() < until, "it does not come back");
        commit(&store).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    store.close().await;
    let again = disk.open(0).await;
    assert!(again.health().await.is_ok());
    again.close().await;
}

// D6: large commits need more than the log has, and get what was set aside.
#[tokio::test]
async fn a_large_commit_on_a_full_disk_takes_the_reserve_and_is_kept() {
    let disk = Disk::new();
    let store = disk.open(RESERVE_MB << 20).await;
    commit(&store).await.unwrap();
    disk.fill();
    let large: Result<(), Error> = store
        .write(|tx| (0..1_500).try_for_each(|_| tx.append_event(&rows::event("x".repeat(20_000)))))
        .await;
    assert_eq!(large, Ok(()), "30 MB, and the log has 16");
    assert!(!has_reserve(&disk.path()), "it was used");
    store.close().await;
}

// control: D6
#[tokio::test]
async fn without_a_reserve_a_full_disk_stops_commits() {
    let disk = Disk::new();
    let store = disk.open(0).await;
    commit(&store).await.unwrap();
    let greedy = disk.fill();
    assert!(commits(&store, 300).await < 300);
    std::fs::remove_file(greedy).unwrap();
    assert_eq!(commits(&store, 10).await, 10, "and with space they go on");
    store.close().await;
}
