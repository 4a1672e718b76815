//! The limit on a workspace's files in all, where no file system keeps it for us: measured while its box lives.
//!
//! One task looks four times a second whether the disk has become fuller at all. If so, it measures the workspaces in turn; the
//! box of one that is over its limit is ended, and commands are refused until files are deleted. What is written between
//! two looks is the price: programs of a box cannot have space without writing it (`syscalls`). A single file is limited at
//! once, by the kernel (`SpawnLimits::file_bytes`). What is held without a name is looked for by `hidden_files`, every few
//! seconds even if the disk seems as full as before; what all of it means is judged by `rules::boxes::disk`.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use warren_model::{BoxLimits, ErrorCode, MIB, WorkspaceId};
use warren_workspace::{AllSeen, DiskLimit, DiskUse, Error, Excess, FreeSpace, judge_disk};

use super::hidden_files::HiddenFiles;
use super::shell::EndBox;
use crate::directory::{SpaceCheck, blocking, errno};

/// What `describe()` says of a limit that is kept here.
pub(crate) const MEASURED: &str = "measured four times a second, deleted and mapped files too; single files by rlimit; \
                                   no space without writing it (fallocate is refused)";
/// Between two looks. One that takes longer is followed by as long a pause, within `MAX_INTERVAL`.
const INTERVAL: Duration = Duration::from_millis(250);
const MAX_INTERVAL: Duration = Duration::from_secs(2);
/// How often what has no name is looked for on a disk that becomes no fuller: who evades one look is found by a later one.
const HIDDEN_INTERVAL: Duration = Duration::from_secs(5);
/// How long the others wait for the look at one box.
const LOOK_SHARE: Duration = Duration::from_millis(50);
/// A look that takes longer than this is not waited for any more before a box is judged.
const MAX_LOOK: Duration = Duration::from_secs(10);
/// Less than this may be anybody's.
const NOTEWORTHY_BYTES: u64 = 4 * MIB;
const NOTEWORTHY_ENTRIES: u64 = 4_096;
/// Each level is an open handle while it is measured. Whoever goes deeper is over the limit.
const MAX_DEPTH: usize = 256;
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// What an entry costs besides its contents.
const ENTRY_BYTES: u64 = 2_048;
/// Files with several names that are told apart, about a megabyte of them. Names of further ones count as files.
const MAX_LINKED_FILES: usize = 1 << 16;

/// For `describe()`.
pub(crate) fn told(limits: &BoxLimits, enforced_by: &str) -> serde_json::Value {
    let limit = DiskLimit::of_mb(limits.disk_mb);
    serde_json::json!({ "mb": limits.disk_mb, "files": limit.max_entries, "enforced_by": enforced_by })
}

/// How much one workspace may hold, and whether it holds more.
#[derive(Debug)]
pub(crate) struct DiskMeter {
    folder: PathBuf,
    max_mb: u32,
    limit: DiskLimit,
    is_over: AtomicBool,
    memory: Mutex<Memory>,
}

/// What earlier looks have seen.
#[derive(Debug, Default)]
struct Memory {
    named: Option<Named>,
    all_seen: Option<AllSeen>,
}

/// What files that have a name take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Named {
    bytes: u64,
    entries: u64,
}

impl DiskMeter {
    pub(crate) fn new(folder: &Path, max_mb: u32) -> Self {
        Self {
            folder: folder.to_path_buf(),
            max_mb,
            limit: DiskLimit::of_mb(max_mb),
            is_over: AtomicBool::new(false),
            memory: Mutex::default(),
        }
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
        let is_over = adding > self.limit.max_bytes
            || (self.is_over.load(Ordering::Relaxed) && self.measure_named().is_some());
        if is_over { Err(self.refusal()) } else { Ok(()) }
    }

    /// Measures what has a name, for a workspace whose box does not live or which is known to be over its limit.
    fn measure_named(&self) -> Option<Excess> {
        let named = named_below(&self.folder, self.limit);
        let used = DiskUse { named_bytes: named.bytes, entries: named.entries, ..DiskUse::default() };
        let excess = judge_disk(self.limit, used, FreeSpace::default(), None).excess;
        self.is_over.store(excess.is_some(), Ordering::Relaxed);
        excess
    }

    /// Measures all of it while its box lives.
    fn look(&self, hidden: HiddenFiles, disk: Disk, effort: Effort) -> Option<Excess> {
        let known = self.lock().named.filter(|_| effort == Effort::Hidden);
        let named = known.unwrap_or_else(|| named_below(&self.folder, self.limit));
        let mut memory = self.lock();
        memory.named = Some(named);
        let used = DiskUse {
            named_bytes: named.bytes,
            entries: named.entries,
            deleted_bytes: hidden.bytes,
            deleted_entries: hidden.entries,
            has_unseen: hidden.has_unseen,
        };
        let judgement = judge_disk(self.limit, used, disk.free(), memory.all_seen);
        memory.all_seen = Some(judgement.all_seen);
        drop(memory);
        self.is_over.store(judgement.excess.is_some(), Ordering::Relaxed);
        judgement.excess
    }

    /// While one look at it takes very long: whether the disk has lost more since the last than it may hold at all.
    fn judge_unmeasured(&self, disk: Disk) -> Option<Excess> {
        let before = self.lock().all_seen?.free;
        let lost = before.bytes.saturating_sub(disk.free_bytes);
        (lost > self.limit.max_bytes).then_some(Excess::Unseen)
    }

    /// A new box: what was seen of an earlier one says nothing about it.
    fn begin(&self) {
        *self.lock() = Memory::default();
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusal(&self) -> Error {
        let detail = format!(
            "the workspace's files take more than {} MB (`limits.disk_mb`) or are more than {}; delete some, then commands \
             run again",
            self.max_mb, self.limit.max_entries
        );
        Error::operation(ErrorCode::StorageFull, detail)
    }
}

/// What a look takes the trouble to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    All,
    /// What has no name; the rest is as it was.
    Hidden,
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
    hidden: LookForHidden,
    /// When the look at it began that has not ended yet.
    looking_since: Arc<Mutex<Option<Instant>>>,
}

impl Watched {
    fn looking_since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.looking_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, disk: Disk, effort: Effort) {
        self.judge(self.meter.look((self.hidden)(disk.device), disk, effort));
    }

    fn judge(&self, excess: Option<Excess>) {
        if let Some(excess) = excess {
            let folder = self.meter.folder.display();
            tracing::warn!(%folder, reason = excess.as_str(), "a workspace is over its disk limit; its box is ended");
            (self.end_box)();
        }
    }
}

/// What a box holds of a device without a name.
pub(crate) type LookForHidden = Arc<dyn Fn(u64) -> HiddenFiles + Send + Sync>;

impl DiskKeeper {
    /// The meter of a workspace; a new one when its limit was changed.
    pub(crate) fn meter_of(&self, workspace: WorkspaceId, folder: &Path, max_mb: u32) -> Arc<DiskMeter> {
        let new = || Arc::new(DiskMeter::new(folder, max_mb));
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = meters.entry(workspace).or_insert_with(new);
        if meter.max_mb != max_mb {
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
        hidden: LookForHidden,
    ) {
        meter.begin();
        let mut watch = self.lock();
        watch.boxes.push(Watched { meter, end, end_box, hidden, looking_since: Arc::default() });
        if !std::mem::replace(&mut watch.is_running, true) {
            tokio::spawn(self.clone().run());
        }
    }

    async fn run(self) {
        let mut last = Looked::default();
        let mut pause = INTERVAL;
        loop {
            tokio::time::sleep(pause).await;
            let boxes = {
                let mut watch = self.lock();
                watch.boxes.retain(|one| !one.end.is_cancelled());
                if watch.boxes.is_empty() {
                    watch.is_running = false;
                    return;
                }
                watch.boxes.clone()
            };
            let began = Instant::now();
            last = look(&boxes, last).await;
            pause = began.elapsed().clamp(INTERVAL, MAX_INTERVAL);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the disk was, for the next look.
#[derive(Debug, Clone, Copy, Default)]
struct Looked {
    /// Free bytes and names at the last look that measured everything, or more if there have been more since.
    free: Option<(u64, u64)>,
    /// When what has no name was last looked for.
    hidden_at: Option<Instant>,
}

/// The disk that the workspaces of a provider are on.
#[derive(Debug, Clone, Copy)]
struct Disk {
    device: u64,
    free_bytes: u64,
    free_entries: u64,
}

impl Disk {
    fn of(folder: &Path) -> Result<Self, Errno> {
        let (space, facts) = (rustix::fs::statvfs(folder)?, rustix::fs::stat(folder)?);
        let free_bytes = space.f_bavail * space.f_frsize;
        Ok(Self { device: facts.st_dev, free_bytes, free_entries: space.f_favail })
    }

    fn free(self) -> FreeSpace {
        FreeSpace { bytes: self.free_bytes, entries: self.free_entries }
    }
}

async fn look(boxes: &[Watched], last: Looked) -> Looked {
    let Some(folder) = boxes.first().map(|first| first.meter.folder.clone()) else {
        return Looked::default();
    };
    let disk = blocking(move || Disk::of(&folder).map_err(|errno| errno::opening(errno, "the disk"))).await;
    let Ok(disk) = disk else { return Looked::default() };
    let free = (disk.free_bytes, disk.free_entries);
    let is_fuller = last.free.is_none_or(|(bytes, entries)| {
        bytes >= free.0 + NOTEWORTHY_BYTES || entries >= free.1 + NOTEWORTHY_ENTRIES
    });
    let effort = if is_fuller {
        Effort::All
    } else if last.hidden_at.is_none_or(|at| at.elapsed() >= HIDDEN_INTERVAL) {
        Effort::Hidden
    } else {
        return Looked { free: fullest(last.free, free), ..last };
    };
    let mut are_all_seen = true;
    for one in boxes.iter().filter(|one| !one.end.is_cancelled()) {
        are_all_seen &= look_at_box(one, disk, effort).await;
    }
    // Whoever was not seen is looked at again, though the disk be as full as it is.
    let is_done = effort == Effort::All && are_all_seen;
    Looked {
        free: if is_done { Some(free) } else { fullest(last.free, free) },
        hidden_at: Some(Instant::now()),
    }
}

/// Returns true if the look has ended. One that takes long goes on by itself, so that a box that makes it long, by many files
/// or processes, keeps nobody from looking at the others.
async fn look_at_box(one: &Watched, disk: Disk, effort: Effort) -> bool {
    let before = *one.looking_since();
    if let Some(since) = before {
        if since.elapsed() >= MAX_LOOK {
            one.judge(one.meter.judge_unmeasured(disk));
        }
        return false;
    }
    *one.looking_since() = Some(Instant::now());
    let own = one.clone();
    let looking = tokio::task::spawn_blocking(move || {
        own.look(disk, effort);
        *own.looking_since() = None;
    });
    tokio::time::timeout(LOOK_SHARE, looking).await.is_ok()
}

/// The disk is remembered as it was, so that slow growth is noticed too, unless there is more room now.
fn fullest(before: Option<(u64, u64)>, now: (u64, u64)) -> Option<(u64, u64)> {
    Some(before.map_or(now, |before| (before.0.max(now.0), before.1.max(now.1))))
}

/// What is below a folder, or enough of it to know that it is too much. It is hostile ground: every step goes by handle,
/// no link is followed, no other file system is entered, and what cannot be looked into counts as too much.
fn named_below(folder: &Path, enough: DiskLimit) -> Named {
    measure_below(folder, enough).unwrap_or(Named { bytes: u64::MAX, entries: u64::MAX })
}

fn measure_below(folder: &Path, enough: DiskLimit) -> Result<Named, Errno> {
    let root = rustix::fs::open(folder, DIRECTORY, Mode::empty())?;
    let device = fstat(&root)?.st_dev;
    let mut total = Named::default();
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
        total.bytes = total.bytes.saturating_add(contents + ENTRY_BYTES);
        total.entries += 1;
        if total.bytes > enough.max_bytes || total.entries > enough.max_entries {
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

    const NO_LIMIT: DiskLimit = DiskLimit { max_bytes: u64::MAX, max_entries: u64::MAX };

    fn bytes_below(folder: &Path) -> u64 {
        named_below(folder, NO_LIMIT).bytes
    }

    // W72, sec/S16
    #[tokio::test]
    async fn commands_are_refused_while_a_workspace_is_over_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let meter = Arc::new(DiskMeter::new(folder.path(), 1));
        std::fs::create_dir(folder.path().join("deep")).unwrap();
        std::fs::write(folder.path().join("deep/large"), vec![1; 2 << 20]).unwrap();
        meter.check().await.expect("nobody has looked yet");
        assert_eq!(meter.measure_named(), Some(Excess::Bytes));
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
        assert!(bytes_below(folder.path()) < 1 << 20, "a link is not followed");
        let mut here = rustix::fs::open(folder.path(), DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..=MAX_DEPTH {
            rustix::fs::mkdirat(&here, "deeper", Mode::from_raw_mode(0o700)).unwrap();
            here = openat(&here, "deeper", DIRECTORY, Mode::empty()).unwrap();
        }
        assert_eq!(bytes_below(folder.path()), u64::MAX);
    }

    // sec/S16
    #[test]
    fn many_small_files_count_too() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..100 {
            std::fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        assert!(bytes_below(folder.path()) >= 100 * ENTRY_BYTES);
    }

    // sec/S16
    #[test]
    fn a_file_counts_once_however_many_names_it_has_and_each_name_a_little() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), vec![1; 1 << 20]).unwrap();
        std::fs::create_dir(path("deep")).unwrap();
        let alone = bytes_below(folder.path());
        for name in ["second", "deep/third"] {
            std::fs::hard_link(path("file"), path(name)).unwrap();
        }
        assert_eq!(bytes_below(folder.path()), alone + 2 * ENTRY_BYTES);
        // A name elsewhere makes it no smaller.
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::hard_link(path("file"), elsewhere.path().join("backup")).unwrap();
        assert_eq!(bytes_below(folder.path()), alone + 2 * ENTRY_BYTES);
        // And what has the same size is another file.
        std::fs::write(path("like it"), vec![1; 1 << 20]).unwrap();
        assert!(bytes_below(folder.path()) > alone + (1 << 20));
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
