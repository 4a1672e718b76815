//! The limit on a workspace's files in all, where no file system keeps it for us: measured while its box lives.
//!
//! One task looks once a second whether the disk has become fuller at all. If so, it measures the workspaces in turn; the
//! box of one that is over its limit is ended, and commands are refused until files are deleted. What is written between
//! two looks is the price. A single file is limited at once, by the kernel (`SpawnLimits::file_bytes`).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warren_model::{ErrorCode, MIB};
use warren_workspace::Error;

use super::channel::Channel;
use super::shell::EndBox;
use crate::directory::blocking;

const INTERVAL: Duration = Duration::from_secs(1);
/// Less than this may be anybody's.
const NOTEWORTHY_BYTES: u64 = 4 * MIB;
/// What an entry costs besides its contents.
const ENTRY_BYTES: u64 = 512;

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

    pub(crate) fn max_mb(&self) -> u32 {
        u32::try_from(self.max_bytes / MIB).unwrap_or(u32::MAX)
    }

    /// Refuses while the workspace is over its limit; looks again first.
    pub(crate) async fn check(self: &Arc<Self>) -> Result<(), Error> {
        if !self.is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let meter = Arc::clone(self);
        blocking(move || if meter.measure() { Err(meter.refusal()) } else { Ok(()) }).await
    }

    fn measure(&self) -> bool {
        let is_over = bytes_below(&self.folder, self.max_bytes) > self.max_bytes;
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

/// Looks after the meters of boxes that live.
#[derive(Debug, Clone, Default)]
pub(crate) struct DiskKeeper {
    shared: Arc<Mutex<Watch>>,
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
    channel: Channel,
    end_box: EndBox,
}

impl DiskKeeper {
    /// From now until its box ends. Must be called within the runtime.
    pub(crate) fn watch(&self, meter: Arc<DiskMeter>, channel: Channel, end_box: EndBox) {
        let mut watch = self.lock();
        watch.boxes.push(Watched { meter, channel, end_box });
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
                watch.boxes.retain(|one| !one.channel.is_gone());
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
    for one in boxes {
        if !one.channel.is_gone() && one.meter.measure() {
            tracing::warn!(folder = %one.meter.folder.display(), "a workspace is over its disk limit; its box is ended");
            (one.end_box)();
        }
    }
    Some(free)
}

/// What is below a folder, or enough of it to know that it is too much. Links are counted, not followed.
fn bytes_below(folder: &Path, enough: u64) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut total = 0;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // What vanishes meanwhile counts for nothing.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            total += facts.blocks() * 512 + ENTRY_BYTES;
            if facts.is_dir() {
                folders.push(entry.path());
            }
            if total > enough {
                return total;
            }
        }
    }
    total
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
        assert!(meter.measure());
        let error = meter.check().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::StorageFull);
        assert!(error.to_string().contains("limits.disk_mb"), "{error}");
        std::fs::remove_file(folder.path().join("deep/large")).unwrap();
        meter.check().await.expect("it looks again before it refuses");
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
}
