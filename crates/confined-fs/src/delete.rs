//! Deleting trees by handle: no name is followed, whatever a program swaps in meanwhile (sec/F06).

use std::ffi::{OsStr, OsString};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, chmod, fchmod, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::entries::list_names;
use crate::root::DIRECTORY_FLAGS;
use crate::unnamed::with_unused_name;

/// Handles held at once. Deeper directories are moved up and deleted after, so no nesting is too deep.
const MAX_DEPTH: usize = 64;
/// Names in memory at once, per level: a crowded directory is emptied in passes.
const NAMES_PER_PASS: usize = 8_192;
/// A directory that keeps filling while it is emptied is given up after this many passes.
const MAX_PASSES: u32 = 10_000;

/// Deletes `name` in `parent`, whatever it is. Gone already is success.
pub fn delete_tree(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    let mut deletion = Deletion { top: parent, waiting: vec![name.to_owned()] };
    while let Some(next) = deletion.waiting.pop() {
        match deletion.delete(parent, &next, 0) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

struct Deletion<'a> {
    top: BorrowedFd<'a>,
    /// Names in `top` that are still to be deleted.
    waiting: Vec<OsString>,
}

impl Deletion<'_> {
    fn delete(&mut self, parent: BorrowedFd<'_>, name: &OsStr, depth: usize) -> Result<(), Errno> {
        for _ in 0..MAX_PASSES {
            match unlinkat(parent, name, AtFlags::empty()) {
                // EISDIR on Linux, EPERM by POSIX.
                Err(Errno::ISDIR | Errno::PERM) => {}
                other => return other,
            }
            if depth >= MAX_DEPTH {
                return self.lift(parent, name);
            }
            match unlinkat(parent, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                // Swapped for something else meanwhile: look again.
                Err(Errno::NOTDIR) => continue,
                other => return other,
            }
            let directory = match open_to_empty(parent, name) {
                Err(Errno::NOTDIR | Errno::LOOP) => continue,
                other => other?,
            };
            for inner in list_names(directory.as_fd(), NAMES_PER_PASS)? {
                match self.delete(directory.as_fd(), &inner, depth + 1) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno),
                }
            }
        }
        Err(Errno::NOTEMPTY)
    }

    /// Moves a directory that lies too deep up to the top, to be deleted from there.
    fn lift(&mut self, parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let ((), lifted) = with_unused_name(|lifted| renameat(parent, name, self.top, lifted))?;
        self.waiting.push(lifted);
        Ok(())
    }
}

/// Opens a directory so that its entries can be removed, granting ourselves the right where only the mode forbids it.
fn open_to_empty(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let handle = openat(parent, name, DIRECTORY_FLAGS | OFlags::PATH, Mode::empty())?;
    // Through the handle: by name, a link swapped in could have its target's mode changed.
    let owner_only = Mode::from_raw_mode(0o700);
    let changed = chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), owner_only);
    let directory = openat(&handle, ".", DIRECTORY_FLAGS, Mode::empty())?;
    if changed.is_err() {
        // A box without `/proc`. This works only for a directory that can be listed already.
        let _ = fchmod(&directory, owner_only);
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn handle(path: &std::path::Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    // F06 (security)
    #[test]
    fn links_are_deleted_and_what_they_point_at_is_not() {
        let base = tempfile::tempdir().unwrap();
        let kept = base.path().join("kept");
        std::fs::create_dir_all(kept.join("deep")).unwrap();
        std::fs::create_dir_all(base.path().join("tree/inner")).unwrap();
        std::os::unix::fs::symlink(&kept, base.path().join("tree/inner/link")).unwrap();
        std::fs::set_permissions(base.path().join("tree/inner"), std::fs::Permissions::from_mode(0o555))
            .unwrap();
        delete_tree(handle(base.path()).as_fd(), OsStr::new("tree")).unwrap();
        assert!(kept.join("deep").is_dir() && !base.path().join("tree").exists());
        delete_tree(handle(base.path()).as_fd(), OsStr::new("tree")).expect("gone already is success");
    }

    #[test]
    fn a_tree_nested_deeper_than_a_path_can_say_is_deleted() {
        let base = tempfile::tempdir().unwrap();
        let mut here = handle(base.path());
        for _ in 0..2_000 {
            rustix::fs::mkdirat(&here, "d", Mode::from_raw_mode(0o755)).unwrap();
            here = openat(&here, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        delete_tree(handle(base.path()).as_fd(), OsStr::new("d")).unwrap();
        assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    }
}
