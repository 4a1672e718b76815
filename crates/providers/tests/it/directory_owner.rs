//! W20, W21, W72: a directory that belongs to another uid, as a box's files do, with that uid at work in it.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Gid, RenameFlags, Uid};
use warren_confined_fs::{Owner, Root, Staging};
use warren_model::ErrorCode;
use warren_providers::directory::{DirectoryFs, FileLimits, OpenDirectory};
use warren_workspace::fs::{CpOptions, Edit, Fs, WriteMode};

use crate::fixture::{assert_code, contents, path, read, tree};

const OWNER: Owner = Owner { uid: 100_123, gid: 100_456 };
const RECURSIVE: CpOptions = CpOptions { recursive: true, overwrite: true };

struct Boxed {
    directory: tempfile::TempDir,
    place: Arc<OpenDirectory>,
    fs: DirectoryFs,
}

impl Boxed {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("base/ws");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir(directory.path().join("outside")).unwrap();
        std::fs::write(directory.path().join("outside/secret"), "SECRET").unwrap();
        if is_root() {
            std::os::unix::fs::chown(&root, Some(OWNER.uid), Some(OWNER.gid)).unwrap();
        }
        let staging = Staging::open(&directory.path().join("base"), "instance".into(), drop).unwrap();
        let limits = FileLimits::from_mb(1, 1);
        let place =
            Arc::new(OpenDirectory::new(Root::open(&root).unwrap(), Arc::new(staging), limits, Some(OWNER)));
        Self { fs: DirectoryFs::new(Arc::clone(&place)), place, directory }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("base/ws")
    }

    fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }

    async fn put(&self, at: &str, text: &str) {
        self.fs.write(&path(at), contents(text), WriteMode::Replace).await.unwrap();
    }

    /// Oracle A, and nothing of it was given away.
    #[track_caller]
    fn assert_outside_untouched(&self) {
        assert_eq!(tree(&self.outside()), [("secret".to_owned(), "SECRET".to_owned())]);
        for (at, uid, _) in owners(&self.outside()) {
            assert_eq!(uid, 0, "{at:?}");
        }
        assert_eq!(self.outside().metadata().unwrap().uid(), 0);
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Everything below a directory, with uid and gid. Links are told, not followed.
fn owners(directory: &Path) -> Vec<(PathBuf, u32, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.path().symlink_metadata().unwrap();
        found.push((entry.path(), metadata.uid(), metadata.gid()));
        if metadata.is_dir() {
            found.extend(owners(&entry.path()));
        }
    }
    found
}

// W72
#[tokio::test]
async fn all_that_is_made_in_an_owned_directory_belongs_to_its_owner() {
    let boxed = Boxed::new();
    if !is_root() {
        // Nobody can give files away without root: then nothing half-owned appears.
        let refused = boxed.fs.write(&path("f"), contents("x"), WriteMode::Replace).await;
        assert_code(refused, ErrorCode::PermissionDenied);
        assert_code(boxed.fs.mkdir(&path("d")).await, ErrorCode::PermissionDenied);
        assert!(owners(&boxed.root()).is_empty());
        return;
    }
    let fs = &boxed.fs;
    boxed.put("deep/er/written", "one two").await;
    boxed.put("deep/er/written", "one two three").await;
    fs.append(&path("logs/today/appended"), "x".into()).await.unwrap();
    fs.append(&path("logs/today/appended"), "y".into()).await.unwrap();
    fs.edit(&path("deep/er/written"), &Edit { old: "two".into(), new: "2".into(), all: false })
        .await
        .unwrap();
    fs.mkdir(&path("made/with/parents")).await.unwrap();
    symlink("er/written", boxed.root().join("deep/link")).unwrap();
    std::os::unix::fs::lchown(boxed.root().join("deep/link"), Some(OWNER.uid), Some(OWNER.gid)).unwrap();
    fs.cp(&path("deep/er/written"), &path("copies/one"), CpOptions::default()).await.unwrap();
    fs.cp(&path("deep/link"), &path("copies/link"), CpOptions::default()).await.unwrap();
    fs.cp(&path("deep"), &path("copies/tree"), RECURSIVE).await.unwrap();
    fs.mv(&path("copies/tree"), &path("moved/here/tree"), false).await.unwrap();
    fs.write(&path("new/created"), contents("x"), WriteMode::CreateNew).await.unwrap();
    assert_eq!(read(fs, &path("moved/here/tree/er/written")).await.unwrap(), b"one 2 three");
    let found = owners(&boxed.root());
    assert!(found.len() > 20, "{found:?}");
    for (at, uid, gid) in found {
        assert_eq!((uid, gid), (OWNER.uid, OWNER.gid), "{at:?}");
    }
    let staged = boxed.directory.path().join("base/.staging/instance");
    assert_eq!(std::fs::read_dir(staged).unwrap().count(), 0, "nothing is left in staging");
}

// W72
#[tokio::test]
async fn a_closed_place_serves_nobody() {
    let boxed = Boxed::new();
    boxed.place.check_open().unwrap();
    boxed.place.close();
    assert!(boxed.place.check_open().unwrap_err().is_evicted());
    assert!(boxed.fs.stat(&path("/")).await.unwrap_err().is_evicted());
}

/// The box's own uid, swapping `door` between a directory and a link to the outside through a handle of the root.
struct Inmate {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<u64>,
}

impl Inmate {
    fn start(root: &Path, outside: &Path) -> Self {
        for name in ["door", "real"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        symlink(outside, root.join("evil")).unwrap();
        for name in ["door", "real", "evil"] {
            std::os::unix::fs::lchown(root.join(name), Some(OWNER.uid), Some(OWNER.gid)).unwrap();
        }
        let handle = std::fs::File::open(root).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (uid, gid) = (Uid::from_raw(OWNER.uid), Gid::from_raw(OWNER.gid));
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
            rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            let exchange = |one: &str, other: &str| {
                rustix::fs::renameat_with(&handle, one, &handle, other, RenameFlags::EXCHANGE).is_ok()
            };
            let mut swaps = 0;
            while !stopped.load(Ordering::Relaxed) {
                swaps += u64::from(exchange("evil", "door"));
                // What Warren makes is swapped as well, in the hope that it gives away what it then finds there.
                let _ = exchange("evil", "door/made");
                let _ = exchange("evil", "door/appended");
            }
            swaps
        });
        Self { stop, thread }
    }

    fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

// sec/F02, W72: with its control, the same work done by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_that_swaps_names_meanwhile_is_given_nothing_outside() {
    if !is_root() {
        // Two uids are needed for one to be robbed by the other; without root there is one, and no owner to give to.
        assert_code(Boxed::new().fs.mkdir(&path("d")).await, ErrorCode::PermissionDenied);
        return;
    }
    let boxed = Boxed::new();
    let inmate = Inmate::start(&boxed.root(), &boxed.outside());
    let fs = &boxed.fs;
    let mut made = 0;
    for _ in 0..1_000 {
        made += u32::from(fs.mkdir(&path("door/made/deep")).await.is_ok());
        made += u32::from(fs.append(&path("door/appended"), "x".into()).await.is_ok());
        let _ = fs.write(&path("door/written"), contents("x"), WriteMode::Replace).await;
        let _ = fs.cp(&path("real"), &path("door/copied"), RECURSIVE).await;
        for name in ["door/made", "door/appended", "door/written", "door/copied"] {
            let _ = fs.rm(&path(name), true).await;
        }
    }
    let swaps = inmate.finish();
    println!("sec/F02 owned directory: {made} things made, {swaps} swaps, 0 outside");
    assert!(made > 100 && swaps > 1_000, "{made} made, {swaps} swaps");
    boxed.assert_outside_untouched();
    for (at, uid, gid) in owners(&boxed.root()) {
        assert_eq!((uid, gid), (OWNER.uid, OWNER.gid), "{at:?}");
    }

    let robbed = Boxed::new();
    let inmate = Inmate::start(&robbed.root(), &robbed.outside());
    let mut given = 0;
    for number in 0..20_000 {
        let name = robbed.root().join(format!("door/n{number}"));
        let _ = rustix::fs::mkdirat(CWD, &name, 0o777.into());
        let _ = std::os::unix::fs::chown(&name, Some(OWNER.uid), Some(OWNER.gid));
        given = owners(&robbed.outside()).iter().filter(|(_, uid, _)| *uid != 0).count();
        if given > 0 {
            break;
        }
    }
    inmate.finish();
    assert!(given > 0, "the control never lost the race, so the test above proves nothing");
}
