//! Space that is kept for the database, so that a disk that somebody else has filled does not keep Warren from committing and
//! from deleting what fills it (D6). It has two parts:
//!
//! - blocks beyond the end of the log, where commits go first: nobody else can take them, however hungry;
//! - a file of its own, `…-reserve`, that is deleted when a write finds no space, and made again once there is plenty.
//!
//! A file system that cannot set blocks aside (`fallocate`) gets none of it, and the log says so.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FallocateFlags;

/// Between two looks whether all of it is there.
const INTERVAL: Duration = Duration::from_secs(5);

pub(super) struct Reserve {
    log: PathBuf,
    file: PathBuf,
    bytes: u64,
    looked_at: Option<Instant>,
    has_complained: bool,
}

impl Reserve {
    /// For the database at `path`; a quarter of it is in the log. 0 bytes: none.
    pub(super) fn new(path: &Path, bytes: u64) -> Self {
        let beside = |ending: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Self { log: beside("-wal"), file: beside("-reserve"), bytes, looked_at: None, has_complained: false }
    }

    /// Makes what is missing of it, at most every few seconds.
    pub(super) fn keep(&mut self) {
        if self.bytes == 0 || self.looked_at.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        self.looked_at = Some(Instant::now());
        if let Err(error) = self.make()
            && !std::mem::replace(&mut self.has_complained, true)
        {
            tracing::warn!(%error, "no space can be kept for the database here; a full disk will stop it");
        }
    }

    fn make(&self) -> std::io::Result<()> {
        // The database itself must not be opened a second time: closing it would drop SQLite's locks. Its log has none.
        let log = File::options().write(true).open(&self.log)?;
        let in_log = self.bytes / 4;
        let space = rustix::fs::fstatvfs(&log)?;
        let has_plenty = space.f_bavail * space.f_frsize > self.bytes * 2;
        if has_plenty {
            rustix::fs::fallocate(&log, FallocateFlags::KEEP_SIZE, 0, in_log)?;
        }
        if has_plenty && !self.file.exists() {
            let file = File::options().write(true).create_new(true).mode(0o600).open(&self.file)?;
            let taken = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, self.bytes - in_log);
            if taken.is_err() {
                let _ = std::fs::remove_file(&self.file);
            }
            taken?;
        }
        Ok(())
    }

    /// Gives the file up. Returns true if there was one, so that trying again makes sense.
    pub(super) fn release(&mut self) -> bool {
        let is_released = self.bytes > 0 && std::fs::remove_file(&self.file).is_ok();
        if is_released {
            // Not made again at once.
            self.looked_at = Some(Instant::now());
            tracing::warn!(
                bytes = self.bytes,
                "the disk is full; the space that was kept for the database is used"
            );
        }
        is_released
    }
}
