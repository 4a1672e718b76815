//! Whose a workspace's files and processes are: a user of its own where Warren may give one (as root), else Warren's
//! own user.
//!
//! The owner of the directory is the record of who has it. How far owners were given out is kept beside (`.owners`), so
//! that one whose workspace is gone is not given again: files of it may be left in a mount.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::process::{getegid, geteuid};
use warren_confined_fs::Owner;

/// Far above people, system services, and the ranges that are handed out for rootless containers.
const FIRST: u32 = 2_000_000_000;
/// Each provider of each data folder has a range of its own, so that two Warrens on a host seldom meet.
const RANGES: u32 = 1_400;
const RANGE: u32 = 100_000;

/// Warren's own user.
pub(crate) fn warren() -> Owner {
    Owner { uid: geteuid().as_raw(), gid: getegid().as_raw() }
}

/// Hands out owners for the workspaces below one folder.
#[derive(Debug)]
pub(crate) struct Owners {
    /// Absent: Warren is not root and cannot give any.
    next: Option<Mutex<Next>>,
    first: u32,
    record: PathBuf,
}

#[derive(Debug)]
struct Next {
    uid: u32,
    /// Up to here they count as given, also after a crash.
    reserved: u32,
}

/// How many are reserved at once, so that the record is seldom written.
const RESERVE: u32 = 64;

impl Owners {
    /// Looks at who owns what is there already, so that no owner is given twice.
    pub(crate) fn of(base: &Path) -> std::io::Result<Self> {
        let first = FIRST + range_of(base) * RANGE;
        if !geteuid().is_root() {
            return Ok(Self { next: None, first, record: base.join(".owners") });
        }
        let record = base.join(".owners");
        let recorded: Option<u32> =
            std::fs::read_to_string(&record).ok().and_then(|text| text.trim().parse().ok());
        let mut highest = recorded.filter(|uid| (first..first + RANGE).contains(uid)).unwrap_or(first);
        for entry in std::fs::read_dir(base)? {
            let uid = entry?.metadata()?.uid();
            if (first..first + RANGE).contains(&uid) {
                highest = highest.max(uid);
            }
        }
        if recorded.is_none() {
            std::fs::write(&record, highest.to_string())?;
        }
        Ok(Self { next: Some(Mutex::new(Next { uid: highest + 1, reserved: highest })), first, record })
    }

    /// An owner that no other workspace here has. Absent: this folder has had as many as a range holds.
    pub(crate) fn give(&self) -> Option<Owner> {
        let Some(next) = &self.next else {
            return Some(warren());
        };
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.uid > next.reserved {
            let reserved = (next.uid + RESERVE).min(self.first + RANGE - 1);
            std::fs::write(&self.record, reserved.to_string()).ok()?;
            next.reserved = reserved;
        }
        let uid = next.uid;
        next.uid += 1;
        (uid < self.first + RANGE).then_some(Owner { uid, gid: uid })
    }

    /// The owner of a directory that was made here. Absent: it belongs to somebody who is nobody's owner here.
    pub(crate) fn of_directory(&self, uid: u32, gid: u32) -> Option<Owner> {
        let owner = Owner { uid, gid };
        let is_ours = match self.next {
            Some(_) => (self.first..self.first + RANGE).contains(&uid) && gid == uid,
            None => owner.uid == warren().uid,
        };
        is_ours.then_some(owner)
    }
}

/// New owners for workspaces that are restored into a folder, which has a range of its own.
#[derive(Debug)]
pub struct RestoredOwners {
    next: u32,
    end: u32,
    /// The user that the Warren of the backup ran as, where that was not root: its boxes had no users of their own.
    made_by: Option<u32>,
}

impl RestoredOwners {
    /// For the workspaces below `base`, by the path that it will have; of a Warren that ran as the user `made_by`.
    pub fn of(base: &Path, made_by: u32) -> Self {
        let first = FIRST + range_of(base) * RANGE;
        Self { next: first + 1, end: first + RANGE, made_by: (made_by != 0).then_some(made_by) }
    }

    /// Whom the files of the next workspace are given to. `None`: they stay whose they were, for somebody chose that user.
    pub fn give(&mut self, recorded: Owner) -> Option<Owner> {
        let is_given = (FIRST..FIRST + RANGES * RANGE).contains(&recorded.uid);
        if self.next >= self.end || !(is_given || self.made_by == Some(recorded.uid)) {
            return None;
        }
        let uid = self.next;
        self.next += 1;
        Some(Owner { uid, gid: uid })
    }
}

/// A stable number below `RANGES` for a folder.
fn range_of(base: &Path) -> u32 {
    use std::os::unix::ffi::OsStrExt as _;
    let hash = base
        .as_os_str()
        .as_bytes()
        .iter()
        .fold(0x811c_9dc5_u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % RANGES
}

#[cfg(test)]
mod tests {
    use super::*;

    // O6
    #[test]
    fn restored_workspaces_get_owners_that_their_new_folder_knows() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let mut restored = RestoredOwners::of(&base, 1_000);
        let given = |uid| Owner { uid, gid: uid };
        let first = restored.give(given(FIRST + 7)).unwrap();
        let second = restored.give(given(1_000)).unwrap();
        assert_ne!(first, second);
        assert_eq!(restored.give(given(0)), None);
        assert_eq!(RestoredOwners::of(&base, 0).give(given(1_000)), None);
        if geteuid().is_root() {
            let owners = Owners::of(&base).unwrap();
            assert_eq!(owners.of_directory(first.uid, first.gid), Some(first));
        }
    }

    // sec/S01
    #[test]
    fn every_workspace_gets_an_owner_of_its_own_also_after_a_restart() {
        let base = tempfile::tempdir().unwrap();
        let owners = Owners::of(base.path()).unwrap();
        let (first, second) = (owners.give().unwrap(), owners.give().unwrap());
        if !geteuid().is_root() {
            assert_eq!((first, second), (warren(), warren()));
            return;
        }
        assert!(first != second && first.uid >= 100_000);
        let directory = base.path().join("one");
        std::fs::create_dir(&directory).unwrap();
        std::os::unix::fs::chown(&directory, Some(second.uid), Some(second.gid)).unwrap();
        let later = Owners::of(base.path()).unwrap();
        assert!(later.give().unwrap().uid > second.uid);
        std::fs::remove_dir(&directory).unwrap();
        let latest = Owners::of(base.path()).unwrap().give().unwrap();
        assert!(latest.uid > second.uid, "also when its workspace is gone");
        assert_eq!(later.of_directory(second.uid, second.gid), Some(second));
        assert_eq!(later.of_directory(0, 0), None, "root owns no workspace");
    }
}
