//! sec/F02, F06, F12: somebody swaps names while we work.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warren_workspace::fs::{CpOptions, LsQuery, WriteMode};

use crate::fixture::{Local, contents, path, read};

/// Swaps `root/door` between a directory inside and a link to the outside, as fast as it can, until dropped.
struct Swapper {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

impl Swapper {
    fn start(root: PathBuf, outside: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let inside = root.join("real");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("secret"), "inside").unwrap();
        symlink(outside, root.join("evil")).unwrap();
        std::fs::create_dir(root.join("door")).unwrap();
        std::fs::write(root.join("door/secret"), "inside").unwrap();
        let thread = std::thread::spawn(move || {
            let mut swaps = 0;
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            while !stopped.load(Ordering::Relaxed) {
                let (evil, door) = (root.join("evil"), root.join("door"));
                // Exchange is atomic: the name is always there, as a directory or as the link.
                if rustix::fs::renameat_with(rustix::fs::CWD, &evil, rustix::fs::CWD, &door, flags).is_ok() {
                    swaps += 1;
                }
            }
            swaps
        });
        Self { stop, thread: Some(thread) }
    }

    fn finish(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

const ROUNDS: u32 = 3_000;

// F02 (security): seven operations on a path whose directory is swapped for a link to the outside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swapped_directory_never_leads_out() {
    let local = Local::open().await;
    let swapper = Swapper::start(local.root(), &local.outside());
    let fs = local.fs();
    let mut reads = 0;
    for round in 0..ROUNDS {
        if let Ok(seen) = read(fs, &path("door/secret")).await {
            assert_eq!(seen, b"inside", "round {round}");
            reads += 1;
        }
        let _ = fs.stat(&path("door/secret")).await;
        if let Ok(listing) = fs.ls(&path("door"), &LsQuery::default()).await {
            assert!(listing.entries.len() <= 3, "round {round}");
        }
        let _ = fs.append(&path("door/new"), "x".into()).await;
        let _ = fs.mkdir(&path("door/made")).await;
        let _ = fs.rm(&path("door/new"), false).await;
        let _ = fs.mv(&path("door/made"), &path("moved"), true).await;
        let _ = fs.rm(&path("moved"), true).await;
        if round % 20 == 0 {
            let _ = fs.write(&path("door/new"), contents("x"), WriteMode::Replace).await;
            let _ = fs
                .cp(&path("door/secret"), &path("copy"), CpOptions { recursive: false, overwrite: true })
                .await;
        }
    }
    let swaps = swapper.finish();
    assert!(swaps > 1_000, "the attacker was too slow: {swaps} swaps");
    assert!(reads > 0, "nothing was ever read");
    if let Ok(copied) = local.get("copy").await {
        assert_eq!(copied, b"inside");
    }
    local.assert_outside_untouched();
}

/// The control: checking a path and then opening it loses. Made certain by swapping between the two.
#[tokio::test]
async fn control_canonicalize_then_open_loses_the_race() {
    let local = Local::open().await;
    let root = local.root().canonicalize().unwrap();
    std::fs::create_dir(root.join("door")).unwrap();
    std::fs::write(root.join("door/secret"), "inside").unwrap();
    let checked = root.join("door/secret");
    assert!(checked.canonicalize().unwrap().starts_with(&root));
    std::fs::rename(root.join("door"), root.join("away")).unwrap();
    symlink(local.outside(), root.join("door")).unwrap();
    assert_eq!(std::fs::read(checked).unwrap(), b"SECRET");
}

// F06 (security)
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_a_tree_that_is_being_swapped_deletes_nothing_outside() {
    let local = Local::open().await;
    for number in 0..200 {
        std::fs::write(local.outside().join(format!("f{number}")), "x").unwrap();
    }
    let before = std::fs::read_dir(local.outside()).unwrap().count();
    for _ in 0..25 {
        let tree = local.root().join("tree");
        std::fs::create_dir_all(&tree).unwrap();
        for number in 0..40 {
            let directory = tree.join(format!("d{number}"));
            std::fs::create_dir(&directory).unwrap();
            std::fs::write(directory.join("f1"), "x").unwrap();
        }
        // Holds the tree by handle, so that it goes on swapping after the tree was taken out of sight.
        let handle = std::fs::File::open(&tree).unwrap();
        let outside = local.outside();
        let attacker = std::thread::spawn(move || {
            for number in 0..40 {
                let name = format!("d{number}");
                let moved = format!("m{number}");
                let _ = rustix::fs::renameat(&handle, &name, &handle, &moved);
                let _ = rustix::fs::symlinkat(&outside, &handle, &name);
            }
        });
        let removed = local.fs().rm(&path("tree"), true).await;
        attacker.join().unwrap();
        removed.unwrap();
    }
    assert_eq!(std::fs::read_dir(local.outside()).unwrap().count(), before);
}

// F12 (security): torn reads are looked for in the contract suite; here, by a program that does not use our API.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_never_see_half_a_write_either() {
    let local = Local::open().await;
    local.put("f", vec![b'a'; 100_000]).await;
    let file = local.root().join("f");
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let reader = std::thread::spawn(move || {
        let mut reads = 0;
        while !stopped.load(Ordering::Relaxed) {
            let seen = std::fs::read(&file).unwrap();
            assert!(seen.len() == 100_000 && seen.iter().all(|byte| *byte == seen[0]));
            reads += 1;
        }
        reads
    });
    for round in 0..200u8 {
        local.put("f", vec![round; 100_000]).await;
    }
    stop.store(true, Ordering::Relaxed);
    assert!(reader.join().unwrap() > 10);
}
