//! Where things are made before they appear, and where they go before they are deleted.
//!
//! ```text
//!   <base>/.staging/<instance>.lease   flock-held by the process that owns the next line
//!   <base>/.staging/<instance>/        its half-written files and half-made copies
//!   <base>/.trash/                     dead already: renamed here, then deleted by whoever comes first
//! ```
//!
//! Temp files live beside the workspaces, not in them: a workspace never shows one, to its own programs as little as
//! to `ls`, `glob`, `grep` or `watch`, and no agent can tamper with one. Both sides are on one filesystem, so the
//! final rename is atomic. (`O_TMPFILE` with `linkat` would leave no name at all, but cannot replace a file.) The price:
//! a write below a mount point inside a workspace is refused with `permission_denied`.
//!
//! What a dead process left is told by its lease, not by its age (W82): the lock goes when the process does.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::delete::delete_tree;
use crate::entries::list_names;
use crate::root::DIRECTORY_FLAGS;

/// Things one sweep looks at; the next goes on.
const MAX_SWEPT: usize = 65_536;

#[derive(Debug)]
pub struct Staging {
    /// The directory with one directory and one lease per instance.
    instances: OwnedFd,
    own: OwnedFd,
    trash: OwnedFd,
    instance: String,
    made: AtomicU64,
    /// Told when something could not be deleted; the next sweep will.
    report_leftover: fn(Errno),
    /// Dropped last of what this process holds; the kernel lets go of the lock with it.
    _lease: File,
}

impl Staging {
    /// Makes this instance's part of `base`, under a lease. `report_leftover` is told when a temp file could not be deleted,
    /// for the log: the next sweep deletes it.
    pub fn open(base: &Path, instance: String, report_leftover: fn(Errno)) -> Result<Self, Errno> {
        let base = openat(CWD, base, DIRECTORY_FLAGS, Mode::empty())?;
        let instances = make_and_open(base.as_fd(), ".staging")?;
        let trash = make_and_open(base.as_fd(), ".trash")?;
        // The lease first: a directory without a held lease is anyone's to sweep.
        let lease = take_lease(instances.as_fd(), &lease_name(&instance))?;
        let own = make_and_open(instances.as_fd(), &instance)?;
        Ok(Self { instances, own, trash, instance, made: AtomicU64::new(0), report_leftover, _lease: lease })
    }

    pub fn handle(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    fn fresh_name(&self) -> OsString {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.instance).into()
    }

    /// An empty file that is removed again unless it is put somewhere.
    pub fn file(self: &Arc<Self>) -> Result<(Staged, File), Errno> {
        let staged = self.staged();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.own, &staged.name, flags, Mode::from_raw_mode(0o666))?;
        Ok((staged, file.into()))
    }

    /// An empty directory, likewise.
    pub fn directory(self: &Arc<Self>) -> Result<(Staged, OwnedFd), Errno> {
        let staged = self.staged();
        mkdirat(&self.own, &staged.name, Mode::from_raw_mode(0o777))?;
        let handle = openat(&self.own, &staged.name, DIRECTORY_FLAGS, Mode::empty())?;
        Ok((staged, handle))
    }

    /// A name where nothing is yet.
    pub fn staged(self: &Arc<Self>) -> Staged {
        Staged { staging: Arc::clone(self), name: self.fresh_name(), is_placed: false }
    }

    /// Moves a thing to the trash and returns its name there, for `delete_discarded`. After a crash the sweep deletes it.
    pub fn discard(&self, directory: BorrowedFd<'_>, name: &OsStr) -> Result<OsString, Errno> {
        let name_in_trash = self.fresh_name();
        rustix::fs::renameat(directory, name, &self.trash, &name_in_trash)?;
        Ok(name_in_trash)
    }

    pub fn delete_discarded(&self, name: &OsStr) -> Result<(), Errno> {
        delete_tree(self.trash.as_fd(), name)
    }

    /// The instances that have a directory or a lease here, without our own.
    fn others(&self) -> Result<BTreeSet<String>, Errno> {
        let names = list_names(self.instances.as_fd(), MAX_SWEPT)?.into_iter();
        Ok(names
            .filter_map(|name| name.into_string().ok())
            .map(|name| name.strip_suffix(".lease").unwrap_or(&name).to_owned())
            .filter(|instance| *instance != self.instance)
            .collect())
    }

    /// Deletes all that is in the trash, and what processes without a lease left in staging. Returns how many things
    /// were deleted and what could not be. `on_dead` is called with each dead instance first, to end what else it left.
    pub fn sweep(&self, mut on_dead: impl FnMut(&str)) -> Result<(u32, Vec<String>), Errno> {
        let (mut removed, mut problems) = (0, Vec::new());
        let mut count = |result: Result<(), Errno>, what: &str| match result {
            Ok(()) => removed += 1,
            Err(errno) => problems.push(format!("{what} could not be deleted: {errno}")),
        };
        for name in list_names(self.trash.as_fd(), MAX_SWEPT)? {
            count(delete_tree(self.trash.as_fd(), &name), "a discarded directory");
        }
        for instance in &self.others()? {
            let lease = lease_name(instance);
            let Ok(held) = take_dead_lease(self.instances.as_fd(), &lease) else {
                continue;
            };
            on_dead(instance);
            count(delete_tree(self.instances.as_fd(), OsStr::new(instance)), "a dead process's temp files");
            // Only while we hold it: else we could remove the lease of a newcomer.
            let _ = unlinkat(&self.instances, &lease, AtFlags::empty());
            drop(held);
        }
        Ok((removed, problems))
    }
}

impl Drop for Staging {
    /// A process that ends in order leaves nothing to sweep.
    fn drop(&mut self) {
        let _ = delete_tree(self.instances.as_fd(), OsStr::new(&self.instance));
        let _ = unlinkat(&self.instances, lease_name(&self.instance), AtFlags::empty());
    }
}

/// Something in staging. Dropped without having been placed, it is deleted.
#[derive(Debug)]
pub struct Staged {
    staging: Arc<Staging>,
    pub name: OsString,
    is_placed: bool,
}

impl Staged {
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.staging.handle()
    }

    /// It was renamed to where it belongs.
    pub fn placed(mut self) {
        self.is_placed = true;
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_placed
            && let Err(errno) = delete_tree(self.staging.handle(), &self.name)
        {
            (self.staging.report_leftover)(errno);
        }
    }
}

fn lease_name(instance: &str) -> String {
    format!("{instance}.lease")
}

fn make_and_open(base: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    match mkdirat(base, name, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => openat(base, name, DIRECTORY_FLAGS, Mode::empty()),
        Err(errno) => Err(errno),
    }
}

/// Makes and locks a lease. A sweeper may have taken it for dead between the two, so look again afterwards.
fn take_lease(instances: BorrowedFd<'_>, name: &str) -> Result<File, Errno> {
    loop {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lease = openat(instances, name, flags, Mode::from_raw_mode(0o600))?;
        flock(&lease, FlockOperation::NonBlockingLockExclusive)?;
        if is_same_file(instances, name, lease.as_fd()) {
            return Ok(lease.into());
        }
    }
}

/// The lease of a process that is gone; `Err` while it lives. Absent counts as dead: leases are made first.
fn take_dead_lease(instances: BorrowedFd<'_>, name: &str) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(instances, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
        Ok(lease) => {
            flock(&lease, FlockOperation::NonBlockingLockExclusive)?;
            Ok(Some(lease))
        }
    }
}

fn is_same_file(directory: BorrowedFd<'_>, name: &str, file: BorrowedFd<'_>) -> bool {
    match (statat(directory, name, AtFlags::SYMLINK_NOFOLLOW), fstat(file)) {
        (Ok(named), Ok(held)) => (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    // W82
    #[test]
    fn temp_files_are_swept_by_lease_and_never_while_their_owner_lives() {
        let base = tempfile::tempdir().unwrap();
        let sweeper = Staging::open(base.path(), "aaa".into(), drop).unwrap();
        let living = Arc::new(Staging::open(base.path(), "bbb".into(), drop).unwrap());
        let (staged, _) = living.file().unwrap();
        // A dead owner: its lease exists and nobody holds it. As new as can be, so age says nothing.
        let instances = base.path().join(".staging");
        std::fs::create_dir(instances.join("ccc")).unwrap();
        std::fs::write(instances.join("ccc/half"), "x").unwrap();
        std::fs::write(instances.join("ccc.lease"), "").unwrap();
        // One whose lease was lost altogether.
        std::fs::create_dir(instances.join("ddd")).unwrap();
        std::fs::create_dir_all(base.path().join(".trash/old/deep")).unwrap();

        let mut dead = Vec::new();
        let (removed, problems) = sweeper.sweep(|instance| dead.push(instance.to_owned())).unwrap();
        assert_eq!(dead, ["ccc", "ddd"]);
        assert_eq!((removed, problems), (3, vec![]));
        assert_eq!(names(&instances), ["aaa", "aaa.lease", "bbb", "bbb.lease"]);
        assert_eq!(names(&instances.join("bbb")).len(), 1);
        assert!(names(&base.path().join(".trash")).is_empty());

        drop(staged);
        assert!(names(&instances.join("bbb")).is_empty(), "an unplaced file is removed");
        drop(living);
        assert_eq!(names(&instances), ["aaa", "aaa.lease"], "an orderly end leaves nothing");
    }
}
