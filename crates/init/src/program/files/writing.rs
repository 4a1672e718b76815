//! Adding to a file, by handle and in place.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use warren_confined_fs::{Root, Unsynced, make_directory, open_for_append};
use warren_init::FileEntry;

use super::listing::entry;

pub(super) fn add(file: &File, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// A file to add to.
#[derive(Debug)]
pub(super) struct Appending {
    pub(super) file: File,
    /// Its directory, where it was made here.
    made_in: Option<OwnedFd>,
}

impl Appending {
    /// Waits until what was added is on disk. Returns whether the file was made here.
    pub(super) fn finish(self, unsynced: &mut Unsynced) -> Result<bool, Errno> {
        rustix::fs::fdatasync(&self.file)?;
        let created = self.made_in.is_some();
        if let Some(directory) = self.made_in {
            unsynced.add(directory);
        }
        Ok(created)
    }
}

/// A file to add to, what it is now, and whether it was made here.
pub(super) fn open_append(root: &Root, path: &[u8]) -> Result<(Appending, FileEntry, bool), Errno> {
    if path.is_empty() {
        return Err(Errno::ISDIR);
    }
    let location = root.location_with_parents(path, true, make_directory)?;
    let (file, stat, created) = open_for_append(&location, None)?;
    let made_in = created.then_some(location.directory);
    Ok((Appending { file, made_in }, entry(path, &stat, None), created))
}
