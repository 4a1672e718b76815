//! Copying files and trees, as far as the owner's limits go.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, mkdirat, openat, symlinkat, syncfs, unlinkat};
use rustix::io::Errno;
use warren_confined_fs::{
    CopyError, DIRECTORY_FLAGS, Location, Root, TreeCopy, UnnamedFile, Unsynced, delete_tree, make_directory,
    put_in_place, refuse_other_filesystem, with_unused_name,
};

/// What to copy, and how.
#[derive(Debug)]
pub(super) struct Copy<'a> {
    pub(super) from: &'a [u8],
    pub(super) to: &'a [u8],
    pub(super) recursive: bool,
    pub(super) overwrite: bool,
    pub(super) max_file_bytes: u64,
    /// Of all that is copied together, without holes.
    pub(super) max_bytes: u64,
}

/// The copy is made under a temporary name and renamed into place, so that others see all of it or nothing.
pub(super) fn copy(root: &Root, copy: &Copy<'_>, unsynced: &mut Unsynced) -> Result<(), Errno> {
    let source = root.location(copy.from)?;
    let stat = source.stat()?.ok_or(Errno::NOENT)?;
    let mut left = copy.max_bytes;
    let mut admit = |bytes: u64| {
        left = left.checked_sub(bytes).ok_or(Errno::DQUOT)?;
        Ok(())
    };
    let mut tree_copy = TreeCopy { owner: None, max_file_bytes: copy.max_file_bytes, admit: &mut admit };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory if !copy.recursive => Err(Errno::ISDIR),
        FileType::Directory => copy_directory(root, copy, &source, &mut tree_copy, unsynced),
        FileType::Symlink => copy_link(root, copy, &source, unsynced),
        _ => {
            let staged = UnnamedFile::create(root, copy.to, !copy.overwrite)?;
            tree_copy
                .copy_contents(source.directory.as_fd(), &source.name, staged.file())
                .map_err(errno_of)?;
            staged.commit(root, unsynced).map(drop)
        }
    }
}

fn copy_directory(
    root: &Root,
    copy: &Copy<'_>,
    source: &Location,
    tree_copy: &mut TreeCopy<'_, Errno>,
    unsynced: &mut Unsynced,
) -> Result<(), Errno> {
    let top = root.directory(b"")?;
    let ((), name) = with_unused_name(|name| mkdirat(&top, name, Mode::from_raw_mode(0o700)))?;
    let copied = source
        .open_directory()
        .and_then(|original| {
            let made = openat(&top, &name, DIRECTORY_FLAGS, Mode::empty())?;
            tree_copy.copy_tree(original.as_fd(), made.as_fd()).map_err(errno_of)?;
            // All of its files at once: one after the other, a tree of thousands would take minutes.
            syncfs(&made)
        })
        .and_then(|()| put(root, copy, top.as_fd(), &name, unsynced));
    copied.inspect_err(|_| {
        let _ = delete_tree(top.as_fd(), &name);
    })
}

fn copy_link(root: &Root, copy: &Copy<'_>, source: &Location, unsynced: &mut Unsynced) -> Result<(), Errno> {
    let top = root.directory(b"")?;
    let target = source.link_target()?;
    let ((), name) = with_unused_name(|name| symlinkat(&target, &top, name))?;
    put(root, copy, top.as_fd(), &name, unsynced).inspect_err(|_| {
        let _ = unlinkat(&top, &name, AtFlags::empty());
    })
}

/// Renames the finished copy to where it belongs.
fn put(
    root: &Root,
    copy: &Copy<'_>,
    top: BorrowedFd<'_>,
    name: &OsStr,
    unsynced: &mut Unsynced,
) -> Result<(), Errno> {
    let target = root.location_with_parents(copy.to, false, make_directory)?;
    put_in_place(top, name, &target, copy.overwrite).map_err(refuse_other_filesystem)?;
    unsynced.add(target.directory);
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
fn errno_of(error: CopyError<Errno>) -> Errno {
    match error {
        CopyError::Kernel(errno) | CopyError::Refused(errno) => errno,
        CopyError::FileTooLarge => Errno::FBIG,
        CopyError::TooDeep(_) => Errno::NAMETOOLONG,
        CopyError::SpecialFile(_) => Errno::NXIO,
    }
}
