//! Boxes that were made before anybody asked: identical, empty, with files and a user of their own. A new workspace
//! takes one by giving its folder the workspace's name, which the box does not notice.
//!
//! A box is only taken if it is exactly what would be made now: its policy is compared word by word, what it said of its own
//! confinement is judged again, it must be alive, and its folder must be empty.

use super::backend;
use super::living::LiveBox;
use crate::directory::Owner;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A box without a workspace.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) live: LiveBox,
    pub(super) folder: PathBuf,
    pub(super) owner: Owner,
    /// All that decides how it is shut, as text.
    pub(super) policy: String,
}

#[derive(Debug, Default)]
pub(super) struct Pool {
    size: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    spares: VecDeque<Spare>,
    /// Being made.
    coming: usize,
    made: u64,
}

impl Pool {
    pub(super) fn new(size: usize) -> Self {
        Self { size, inner: Mutex::default() }
    }

    /// A spare that is what `policy` says, alive and untouched. Others are ended.
    pub(super) fn take(&self, policy: &str) -> Option<Spare> {
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

    pub(super) fn deliver(&self, spare: Option<Spare>) {
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

fn is_sound(spare: &Spare, policy: &str) -> bool {
    let is_empty = std::fs::read_dir(&spare.folder).is_ok_and(|mut entries| entries.next().is_none());
    spare.policy == policy
        && is_empty
        && !spare.live.has_ended()
        && backend::judge(&spare.live.greeting).is_ok()
}

fn discard(spare: &Spare) {
    spare.live.kill();
    // Empty, or else swept with the next start.
    let _ = std::fs::remove_dir(&spare.folder);
}
