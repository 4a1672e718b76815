//! Reading a range of a file by handle.

use std::fs::File;

use rustix::io::Errno;
use warren_confined_fs::Root;
use warren_init::{FileAnswer, FileEntry, MAX_PIECE_BYTES};

use super::listing::entry;

pub(super) fn open(root: &Root, path: &[u8]) -> Result<(File, FileEntry), Errno> {
    let (file, stat) = root.file(path)?;
    Ok((file, entry(path, &stat, None)))
}

pub(super) fn read(file: &File, offset: u64, max_bytes: u32) -> Result<FileAnswer, Errno> {
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
