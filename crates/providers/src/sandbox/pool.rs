//! Boxes that were made before anybody asked: identical, empty, with files and a user of their own. A new workspace
//! takes one by giving its folder the workspace's name, which the box does not notice.
//!
//! A box is only taken if it is exactly what would be made now: its policy must be the same, what it said of its own
//! confinement is judged again, it must be alive, and its folder must be empty.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags, RawDir, open};
use warren_confined_fs::Owner;
use warren_model::{BoxLimits, Isolation, Mount, SandboxConfig};

use super::backend::{self, Bubblewrap};
use super::live_box::LiveBox;

/// A box without a workspace.
#[derive(Debug)]
pub(super) struct SpareBox {
    pub(super) live: LiveBox,
    pub(super) folder: PathBuf,
    pub(super) owner: Owner,
    pub(super) policy: Policy,
}

/// All that decides how a box is shut.
#[derive(Debug, PartialEq)]
pub(super) struct Policy {
    bubblewrap: Bubblewrap,
    isolation: Isolation,
    limits: BoxLimits,
    mounts: Vec<Mount>,
}

impl Policy {
    pub(super) fn of(config: &SandboxConfig, bubblewrap: Bubblewrap) -> Self {
        let SandboxConfig { isolation, limits, mounts, .. } = config;
        Self { bubblewrap, isolation: *isolation, limits: limits.clone(), mounts: mounts.clone() }
    }
}

#[derive(Debug, Default)]
pub(super) struct Pool {
    size: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    spares: VecDeque<SpareBox>,
    /// Being made.
    coming: usize,
    made: u64,
}

impl Pool {
    pub(super) fn new(size: usize) -> Self {
        Self { size, inner: Mutex::default() }
    }

    /// A spare that is what `policy` says, alive and untouched. Others are ended.
    pub(super) fn take(&self, policy: &Policy) -> Option<SpareBox> {
        loop {
            let spare = self.inner().spares.pop_front()?;
            if is_sound(&spare, policy) {
                return Some(spare);
            }
            discard(&spare);
        }
    }

    /// How many are missing; they count as coming from now on.
    pub(super) fn order(&self) -> usize {
        let mut inner = self.inner();
        let missing = self.size.saturating_sub(inner.spares.len() + inner.coming);
        inner.coming += missing;
        missing
    }

    pub(super) fn deliver(&self, spare: Option<SpareBox>) {
        let mut inner = self.inner();
        inner.coming = inner.coming.saturating_sub(1);
        inner.spares.extend(spare);
    }

    pub(super) fn next_number(&self) -> u64 {
        let mut inner = self.inner();
        inner.made += 1;
        inner.made
    }

    /// Ends all of them.
    pub(super) fn drain(&self) {
        let spares = std::mem::take(&mut self.inner().spares);
        spares.iter().for_each(discard);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.drain();
    }
}

fn is_sound(spare: &SpareBox, policy: &Policy) -> bool {
    spare.policy == *policy
        && is_empty(&spare.folder)
        && !spare.live.has_ended()
        && backend::judge(&spare.live.greeting).is_ok()
}

/// Somebody waits meanwhile, so that this asks the kernel once, with no more room than nothing needs.
fn is_empty(folder: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(handle) = open(folder, flags, Mode::empty()) else {
        return false;
    };
    let mut buffer = [MaybeUninit::uninit(); 512];
    let mut entries = RawDir::new(handle, &mut buffer);
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
            _ => return false,
        }
    }
    true
}

pub(super) fn discard(spare: &SpareBox) {
    spare.live.kill();
    // Empty, or else swept with the next start.
    let _ = std::fs::remove_dir(&spare.folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    // W72
    #[test]
    fn a_folder_with_anything_in_it_is_not_taken_for_empty() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_empty(folder.path()));
        for name in ["...", ".hidden", &"long".repeat(60)] {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            assert!(!is_empty(folder.path()), "{name}");
            std::fs::remove_file(path).unwrap();
        }
        assert!(!is_empty(&folder.path().join("gone")));
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        assert!(!is_empty(&folder.path().join("link")));
    }
}
