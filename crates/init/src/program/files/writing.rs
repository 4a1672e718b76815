//! Adding to a file, by handle and in place.

use std::fs::File;

use rustix::io::Errno;
use warren_confined_fs::{Root, make_directory, open_for_append};
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

/// A file to add to, what it is now, and whether it was made here.
pub(super) fn open_append(root: &Root, path: &[u8]) -> Result<(File, FileEntry, bool), Errno> {
    if path.is_empty() {
        return Err(Errno::ISDIR);
    }
    let location = root.location_with_parents(path, true, make_directory)?;
    let (file, stat, created) = open_for_append(&location, None)?;
    Ok((file, entry(path, &stat, None), created))
}
