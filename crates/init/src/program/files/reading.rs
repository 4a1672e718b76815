//! Reading a range of a file by handle.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use warren_init::{FileAnswer, FileEntry, MAX_PIECE_BYTES};

use super::listing::entry;
use super::resolve::{Root, open_regular};

pub(super) fn open(root: &Root, path: &[u8]) -> Result<(OwnedFd, FileEntry), Errno> {
    let spot = root.target_spot(path)?;
    let (file, stat) = open_regular(spot.directory.as_fd(), &spot.name)?;
    Ok((file, entry(path, &stat, None)))
}

pub(super) fn read(file: &OwnedFd, offset: u64, max_bytes: u32) -> Result<FileAnswer, Errno> {
    let length = usize::try_from(max_bytes).unwrap_or(usize::MAX).min(MAX_PIECE_BYTES);
    let mut bytes = vec![0; length];
    let count = loop {
        match rustix::io::pread(file, &mut bytes[..], offset) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    bytes.truncate(count);
    Ok(FileAnswer::Piece { bytes })
}
