//! The limit on a workspace's files in all, where no file system keeps it for us: measured while its box lives.
//!
//! One task looks once a second whether the disk has become fuller at all. If so, it measures the workspaces in turn; the
//! box of one that is over its limit is ended, and commands are refused until files are deleted. What is written between
//! two looks is the price. A single file is limited at once, by the kernel (`SpawnLimits::file_bytes`).

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;
use warren_model::{ErrorCode, MIB, WorkspaceId};
use warren_workspace::Error;

use super::shell::EndBox;
use crate::directory::{SpaceCheck, blocking};

const INTERVAL: Duration = Duration::from_secs(1);
/// Less than this may be anybody's.
const NOTEWORTHY_BYTES: u64 = 4 * MIB;
/// Each level is an open handle while it is measured. Whoever goes deeper is over the limit.
const MAX_DEPTH: usize = 256;
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// More than a box may have by default; numbers that come round must not keep us for ever.
const MAX_FAMILY: usize = 100_000;
/// What an entry costs besides its contents.
const ENTRY_BYTES: u64 = 2_048;
/// Files with several names that are told apart, about a megabyte of them. Names of further ones count as files.
const MAX_LINKED_FILES: usize = 1 << 16;

/// How much one workspace may hold, and whether it holds more.
#[derive(Debug)]
pub(crate) struct DiskMeter {
    folder: PathBuf,
    max_bytes: u64,
    is_over: AtomicBool,
}

impl DiskMeter {
    pub(crate) fn new(folder: &Path, max_mb: u32) -> Self {
        Self {
            folder: folder.to_path_buf(),
            max_bytes: u64::from(max_mb) * MIB,
            is_over: AtomicBool::new(false),
        }
    }

    fn max_mb(&self) -> u32 {
        u32::try_from(self.max_bytes / MIB).unwrap_or(u32::MAX)
    }

    /// For file operations of our own, which must not add to a workspace that is over its limit.
    pub(crate) fn room(self: &Arc<Self>) -> SpaceCheck {
        let meter = Arc::clone(self);
        SpaceCheck(Arc::new(move |adding| meter.check_now(adding)))
    }

    /// Refuses while the workspace is over its limit; looks again first.
    pub(crate) async fn check(self: &Arc<Self>) -> Result<(), Error> {
        if !self.is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let meter = Arc::clone(self);
        blocking(move || meter.check_now(0)).await
    }

    /// The same where blocking is allowed, for so many bytes more. These are not added to what is there, which would have
    /// to be measured each time; what alone is too much is refused.
    fn check_now(&self, adding: u64) -> Result<(), Error> {
        let is_over = adding > self.max_bytes || (self.is_over.load(Ordering::Relaxed) && self.measure(0));
        if is_over { Err(self.refusal()) } else { Ok(()) }
    }

    /// Looks; `hidden` is what the disk holds for the box besides what its folder shows.
    fn measure(&self, hidden: u64) -> bool {
        let is_over = bytes_below(&self.folder, self.max_bytes).saturating_add(hidden) > self.max_bytes;
        self.is_over.store(is_over, Ordering::Relaxed);
        is_over
    }

    fn refusal(&self) -> Error {
        let detail = format!(
            "the workspace's files take more than {} MB (`limits.disk_mb`); delete some, then commands run again",
            self.max_bytes / MIB
        );
        Error::operation(ErrorCode::StorageFull, detail)
    }
}

/// Keeps the meters of a provider's workspaces, and looks after those whose boxes live.
#[derive(Debug, Clone, Default)]
pub(crate) struct DiskKeeper {
    shared: Arc<Mutex<Watch>>,
    /// Outlive boxes: one that was ended for its files must not be opened again as if nothing were.
    meters: Arc<Mutex<BTreeMap<WorkspaceId, Arc<DiskMeter>>>>,
}

#[derive(Default)]
struct Watch {
    boxes: Vec<Watched>,
    is_running: bool,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("boxes", &self.boxes.len()).finish()
    }
}

#[derive(Clone)]
struct Watched {
    meter: Arc<DiskMeter>,
    end: CancellationToken,
    end_box: EndBox,
    hidden: HiddenBytes,
}

/// What files that were deleted but are still open in a box take of a device.
pub(crate) type HiddenBytes = Arc<dyn Fn(u64) -> u64 + Send + Sync>;

impl DiskKeeper {
    /// The meter of a workspace; a new one when its limit was changed.
    pub(crate) fn meter_of(&self, workspace: WorkspaceId, folder: &Path, max_mb: u32) -> Arc<DiskMeter> {
        let new = || Arc::new(DiskMeter::new(folder, max_mb));
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = meters.entry(workspace).or_insert_with(new);
        if meter.max_mb() != max_mb {
            *meter = new();
        }
        Arc::clone(meter)
    }

    /// Its files are gone.
    pub(crate) fn forget(&self, workspace: WorkspaceId) {
        self.meters.lock().unwrap_or_else(PoisonError::into_inner).remove(&workspace);
    }

    /// From now until its box ends. Must be called within the runtime. Keeps nothing of the box.
    pub(crate) fn watch(
        &self,
        meter: Arc<DiskMeter>,
        end: CancellationToken,
        end_box: EndBox,
        hidden: HiddenBytes,
    ) {
        let mut watch = self.lock();
        watch.boxes.push(Watched { meter, end, end_box, hidden });
        if !std::mem::replace(&mut watch.is_running, true) {
            tokio::spawn(self.clone().run());
        }
    }

    async fn run(self) {
        let mut free_before = None;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let boxes = {
                let mut watch = self.lock();
                watch.boxes.retain(|one| !one.end.is_cancelled());
                if watch.boxes.is_empty() {
                    watch.is_running = false;
                    return;
                }
                watch.boxes.clone()
            };
            let looked = blocking(move || Ok(look(&boxes, free_before))).await;
            free_before = looked.ok().flatten();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is free now, for the next look.
fn look(boxes: &[Watched], free_before: Option<u64>) -> Option<u64> {
    let free =
        rustix::fs::statvfs(&boxes.first()?.meter.folder).ok().map(|stat| stat.f_bavail * stat.f_frsize)?;
    if free_before.is_some_and(|before| before < free + NOTEWORTHY_BYTES) {
        // Remembered as it was, so that slow growth is noticed too.
        return free_before.map(|before| before.max(free));
    }
    let device = rustix::fs::stat(&boxes.first()?.meter.folder).ok()?.st_dev;
    for one in boxes {
        if !one.end.is_cancelled() && one.meter.measure((one.hidden)(device)) {
            tracing::warn!(folder = %one.meter.folder.display(), "a workspace is over its disk limit; its box is ended");
            (one.end_box)();
        }
    }
    Some(free)
}

/// What files that were deleted but are still open in `processes` take of a device.
pub(crate) fn deleted_bytes(processes: impl IntoIterator<Item = u32>, device: u64) -> u64 {
    let mut seen = BTreeMap::new();
    for process in processes {
        let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        for facts in descriptors.filter_map(|descriptor| std::fs::metadata(descriptor.path()).ok()) {
            if facts.is_file() && facts.nlink() == 0 && facts.dev() == device {
                seen.insert(facts.ino(), facts.blocks() * 512);
            }
        }
    }
    seen.values().sum()
}

/// A process and all that descend from it, as far as the kernel tells; in a box that is everybody.
pub(crate) fn family_of(process: u32) -> Vec<u32> {
    let mut family = vec![process];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        next += 1;
        let threads = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            family.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        if family.len() > MAX_FAMILY {
            break;
        }
    }
    family
}

/// What is below a folder, or enough of it to know that it is too much. It is hostile ground: every step goes by handle,
/// no link is followed, no other file system is entered, and what cannot be looked into counts as too much.
fn bytes_below(folder: &Path, enough: u64) -> u64 {
    measure_below(folder, enough).unwrap_or(u64::MAX)
}

fn measure_below(folder: &Path, enough: u64) -> Result<u64, Errno> {
    let root = rustix::fs::open(folder, DIRECTORY, Mode::empty())?;
    let device = fstat(&root)?.st_dev;
    let mut total: u64 = 0;
    let mut linked = LinkedFiles::default();
    let mut open = vec![Dir::new(root)?];
    while let Some(directory) = open.last_mut() {
        let Some(entry) = directory.read().transpose()? else {
            open.pop();
            continue;
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let handle = directory.fd()?;
        let facts = match statat(handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) if facts.st_dev == device => facts,
            // Of another file system, or gone meanwhile.
            Ok(_) | Err(Errno::NOENT) => continue,
            Err(errno) => return Err(errno),
        };
        let contents = if linked.is_another_name(&facts) {
            0
        } else {
            u64::try_from(facts.st_blocks).unwrap_or(0) * 512
        };
        total = total.saturating_add(contents + ENTRY_BYTES);
        if total > enough {
            return Ok(total);
        }
        if FileType::from_raw_mode(facts.st_mode) == FileType::Directory {
            let below = match openat(handle, name, DIRECTORY, Mode::empty()) {
                Ok(below) => below,
                // Swapped for something else meanwhile; what it was is counted.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(errno) => return Err(errno),
            };
            if open.len() >= MAX_DEPTH {
                return Err(Errno::NAMETOOLONG);
            }
            open.push(Dir::new(below)?);
        }
    }
    Ok(total)
}

/// The files with several names that were met so far, all of one file system.
#[derive(Debug, Default)]
struct LinkedFiles(HashSet<u64>);

impl LinkedFiles {
    /// Whether a file was met by another of its names. To divide its size by their number would need no memory, but some may
    /// be elsewhere: backups are made of such links.
    fn is_another_name(&mut self, facts: &Stat) -> bool {
        let is_file = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile;
        if !is_file || facts.st_nlink < 2 {
            return false;
        }
        if self.0.len() >= MAX_LINKED_FILES {
            return self.0.contains(&facts.st_ino);
        }
        !self.0.insert(facts.st_ino)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // W72, sec/S16
    #[tokio::test]
    async fn commands_are_refused_while_a_workspace_is_over_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let meter = Arc::new(DiskMeter::new(folder.path(), 1));
        std::fs::create_dir(folder.path().join("deep")).unwrap();
        std::fs::write(folder.path().join("deep/large"), vec![1; 2 << 20]).unwrap();
        meter.check().await.expect("nobody has looked yet");
        assert!(meter.measure(0));
        let error = meter.check().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::StorageFull);
        assert!(error.to_string().contains("limits.disk_mb"), "{error}");
        std::fs::remove_file(folder.path().join("deep/large")).unwrap();
        meter.check().await.expect("it looks again before it refuses");
    }

    // sec/S16
    #[test]
    fn what_cannot_be_looked_into_is_too_much_and_links_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/usr", folder.path().join("link")).unwrap();
        assert!(bytes_below(folder.path(), u64::MAX) < 1 << 20, "a link is not followed");
        let mut here = rustix::fs::open(folder.path(), DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..=MAX_DEPTH {
            rustix::fs::mkdirat(&here, "deeper", Mode::from_raw_mode(0o700)).unwrap();
            here = openat(&here, "deeper", DIRECTORY, Mode::empty()).unwrap();
        }
        assert_eq!(bytes_below(folder.path(), u64::MAX), u64::MAX);
    }

    // sec/S16
    #[test]
    fn many_small_files_count_too() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..100 {
            std::fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        assert!(bytes_below(folder.path(), u64::MAX) >= 100 * ENTRY_BYTES);
    }

    // sec/S16
    #[test]
    fn a_file_counts_once_however_many_names_it_has_and_each_name_a_little() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), vec![1; 1 << 20]).unwrap();
        std::fs::create_dir(path("deep")).unwrap();
        let alone = bytes_below(folder.path(), u64::MAX);
        for name in ["second", "deep/third"] {
            std::fs::hard_link(path("file"), path(name)).unwrap();
        }
        assert_eq!(bytes_below(folder.path(), u64::MAX), alone + 2 * ENTRY_BYTES);
        // A name elsewhere makes it no smaller.
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::hard_link(path("file"), elsewhere.path().join("backup")).unwrap();
        assert_eq!(bytes_below(folder.path(), u64::MAX), alone + 2 * ENTRY_BYTES);
        // And what has the same size is another file.
        std::fs::write(path("like it"), vec![1; 1 << 20]).unwrap();
        assert!(bytes_below(folder.path(), u64::MAX) > alone + (1 << 20));
    }

    // sec/S16
    #[test]
    fn so_many_files_with_several_names_are_told_apart_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        std::fs::hard_link(folder.path().join("file"), folder.path().join("second")).unwrap();
        let mut facts = rustix::fs::stat(folder.path().join("file")).unwrap();
        let mut linked = LinkedFiles::default();
        let mut meet = |number: u64| {
            facts.st_ino = number;
            linked.is_another_name(&facts)
        };
        assert!((0..MAX_LINKED_FILES as u64).all(|number| !meet(number)));
        assert!(meet(0), "those that are known stay known");
        let one_more = MAX_LINKED_FILES as u64;
        assert!(!meet(one_more) && !meet(one_more), "the next one counts by each name");
    }
}
