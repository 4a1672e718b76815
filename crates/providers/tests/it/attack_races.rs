//! sec/F02, F06, F12: somebody swaps names while we work.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warren_workspace::fs::{CpOptions, Fs, WriteMode};

use crate::fixture::{Local, contents, number_from_env, path, read};

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

/// What one operation met on its way through the door.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    done: u64,
    refused: u64,
}

impl Tally {
    fn count<T>(&mut self, result: &Result<T, warren_workspace::Error>) {
        match result {
            Ok(_) => self.done += 1,
            Err(_) => self.refused += 1,
        }
    }
}

const OPERATIONS: [&str; 7] = ["read", "append", "mkdir", "write", "cp", "mv", "rm"];

/// One worker's rounds of all seven operations. Names end in its number, so that workers meet only the attacker.
async fn work_through_the_door(fs: &dyn Fs, root: &Path, worker: u64, rounds: u64) -> [Tally; 7] {
    let mut tallies = [Tally::default(); 7];
    let at = |name: &str| path(&format!("{name}{worker}"));
    let (bait, made, written) = (at("door/bait"), at("door/made"), at("door/written"));
    let (copy, moved) = (at("copy"), at("moved"));
    let overwrite = CpOptions { recursive: false, overwrite: true };
    for round in 0..rounds {
        let seen = read(fs, &path("door/secret")).await;
        assert!(seen.as_ref().map_or(true, |seen| seen == b"inside"), "round {round}: {seen:?}");
        tallies[0].count(&seen);
        tallies[1].count(&fs.append(&bait, "x".into()).await);
        tallies[2].count(&fs.mkdir(&made).await);
        tallies[3].count(&fs.write(&written, contents("x"), WriteMode::Replace).await);
        let copied = fs.cp(&path("door/secret"), &copy, overwrite).await;
        tallies[4].count(&copied);
        if copied.is_ok() {
            let seen = std::fs::read(root.join(copy.as_str())).unwrap();
            assert_eq!(seen, b"inside", "round {round}");
        }
        tallies[5].count(&fs.mv(&bait, &moved, true).await);
        tallies[6].count(&fs.rm(&made, true).await);
    }
    tallies
}

// sec/F02: seven operations on a path whose directory is swapped for a link to the outside. The full number, a million
// rounds, is `WARREN_RACE_ROUNDS=1000000` (with TMPDIR on a tmpfs, since each write is synced).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swapped_directory_never_leads_out() {
    const WORKERS: u64 = 2;
    let rounds = number_from_env("WARREN_RACE_ROUNDS", 2_000).div_ceil(WORKERS);
    let local = Arc::new(Local::open().await);
    let baits = (0..WORKERS).map(|worker| format!("bait{worker}"));
    for bait in baits.clone() {
        std::fs::write(local.outside().join(bait), "BAIT").unwrap();
    }
    let before = crate::fixture::tree(&local.outside());
    let swapper = Swapper::start(local.root(), &local.outside());
    let workers = (0..WORKERS).map(|worker| {
        let local = Arc::clone(&local);
        tokio::spawn(async move { work_through_the_door(local.fs(), &local.root(), worker, rounds).await })
    });
    let mut totals = [Tally::default(); 7];
    for worker in futures_util::future::join_all(workers).await {
        for (total, one) in totals.iter_mut().zip(worker.unwrap()) {
            total.done += one.done;
            total.refused += one.refused;
        }
    }
    let swaps = swapper.finish();
    assert_eq!(crate::fixture::tree(&local.outside()), before, "oracle A");
    assert!(swaps > 1_000, "the attacker was too slow: {swaps} swaps");
    for (operation, total) in OPERATIONS.into_iter().zip(totals) {
        println!("sec/F02 {operation}: {} done, {} refused, 0 outside", total.done, total.refused);
        assert!(total.done > 0 && total.refused > 0, "{operation} did not meet both sides: {total:?}");
    }
    println!("sec/F02: {} rounds of 7 operations, {swaps} swaps, 0 outside", rounds * WORKERS);
}

// control: sec/F02: checking a path and then opening it loses against the same attacker.
#[tokio::test]
async fn control_canonicalize_then_open_loses_the_race() {
    const MOST: u32 = 2_000_000;
    let local = Local::open().await;
    let root = local.root().canonicalize().unwrap();
    let swapper = Swapper::start(root.clone(), &local.outside());
    let (mut outside, mut rounds) = (0, 0);
    let wanted = root.join("door/secret");
    while outside < 10 && rounds < MOST {
        rounds += 1;
        let is_inside = wanted.canonicalize().is_ok_and(|found| found.starts_with(&root));
        if is_inside && std::fs::read(&wanted).is_ok_and(|seen| seen == b"SECRET") {
            outside += 1;
        }
    }
    swapper.finish();
    println!("sec/F02 control: {outside} of {rounds} reads by name were outside");
    assert!(outside > 0, "nothing to defend against in {rounds} rounds");
}

/// Directories with files, whose names an attacker turns into links to `outside` while they are deleted.
fn make_prey(tree: &Path, directories: u32, files: u32) {
    for directory in 0..directories {
        let directory = tree.join(format!("d{directory}"));
        std::fs::create_dir_all(&directory).unwrap();
        for file in 0..files {
            std::fs::write(directory.join(format!("f{file}")), "").unwrap();
        }
    }
}

/// Holds the tree by handle, so that it goes on swapping after the tree was taken out of sight.
fn swap_for_links(tree: &Path, directories: u32, outside: PathBuf) -> std::thread::JoinHandle<u32> {
    let handle = std::fs::File::open(tree).unwrap();
    std::thread::spawn(move || {
        let mut swapped = 0;
        for number in 0..directories {
            let (name, moved) = (format!("d{number}"), format!("m{number}"));
            if rustix::fs::renameat(&handle, &name, &handle, &moved).is_ok()
                && rustix::fs::symlinkat(&outside, &handle, &name).is_ok()
            {
                swapped += 1;
            }
        }
        swapped
    })
}

// sec/F06: the full number of files is `WARREN_RACE_FILES=100000`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_a_tree_that_is_being_swapped_deletes_nothing_outside() {
    const DIRECTORIES: u32 = 100;
    const FILES: u32 = 20;
    let local = Local::open().await;
    for number in 0..FILES {
        std::fs::write(local.outside().join(format!("f{number}")), "").unwrap();
    }
    let before = std::fs::read_dir(local.outside()).unwrap().count();
    let wanted = number_from_env("WARREN_RACE_FILES", 8_000);
    let (mut deleted, mut swapped) = (0, 0);
    while deleted < wanted {
        let tree = local.root().join("tree");
        make_prey(&tree, DIRECTORIES, FILES);
        let attacker = swap_for_links(&tree, DIRECTORIES, local.outside());
        let removed = local.fs().rm(&path("tree"), true).await;
        swapped += attacker.join().unwrap();
        removed.unwrap();
        deleted += u64::from(DIRECTORIES * FILES);
    }
    println!("sec/F06: {deleted} files deleted, {swapped} directories swapped for links, 0 outside deleted");
    assert!(swapped > 0, "the attacker was too slow");
    assert_eq!(std::fs::read_dir(local.outside()).unwrap().count(), before);
}

// control: sec/F06: a deletion that looks at a name and then deletes by it.
#[tokio::test]
async fn control_deleting_by_name_deletes_outside() {
    fn delete_by_name(directory: &Path) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                delete_by_name(&entry.path());
            } else {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        let _ = std::fs::remove_dir(directory);
    }
    let local = Local::open().await;
    let (mut lost, mut rounds) = (0, 0);
    while lost == 0 && rounds < 500 {
        rounds += 1;
        for number in 0..5 {
            std::fs::write(local.outside().join(format!("f{number}")), "").unwrap();
        }
        let tree = local.root().join(format!("tree{rounds}"));
        make_prey(&tree, 100, 5);
        let attacker = swap_for_links(&tree, 100, local.outside());
        delete_by_name(&tree);
        attacker.join().unwrap();
        lost = 6 - std::fs::read_dir(local.outside()).unwrap().count();
    }
    println!("sec/F06 control: {lost} files outside deleted by name after {rounds} rounds");
    assert!(lost > 0, "nothing to defend against in {rounds} rounds");
}

// control: sec/F12: a file that is written in place is seen torn.
#[test]
fn control_a_file_written_in_place_is_torn() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    std::fs::write(&file, vec![b'a'; 1_000_000]).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, written) = (Arc::clone(&stop), file.clone());
    let writer = std::thread::spawn(move || {
        let mut round = 0u8;
        while !stopped.load(Ordering::Relaxed) {
            round = round.wrapping_add(1);
            std::fs::write(&written, vec![round; 1_000_000]).unwrap();
        }
    });
    let is_torn = |seen: Vec<u8>| seen.len() != 1_000_000 || seen.iter().any(|byte| *byte != seen[0]);
    let torn = (0..100_000).any(|_| is_torn(std::fs::read(&file).unwrap()));
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert!(torn, "nothing to defend against");
}

// sec/F12: torn reads are looked for in the contract suite; here, by a program that does not use our API.
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
