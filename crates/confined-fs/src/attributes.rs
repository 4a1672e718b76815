//! What `stat` says about a file, in the terms of a listing.

use rustix::fs::{FileType, Stat};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    /// A device, fifo or socket.
    Special,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    pub kind: Kind,
    /// 0 for what is not a file or a link.
    pub bytes: u64,
    /// Microseconds since 1970.
    pub modified_micros: i64,
    /// The permission bits.
    pub mode: u32,
}

impl From<&Stat> for Attributes {
    fn from(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Special,
        };
        let micros = i128::from(stat.st_mtime) * 1_000_000 + i128::from(stat.st_mtime_nsec) / 1_000;
        Self {
            kind,
            bytes: match kind {
                Kind::File | Kind::Symlink => size_of(stat),
                Kind::Directory | Kind::Special => 0,
            },
            modified_micros: i64::try_from(micros).unwrap_or(i64::MAX),
            mode: stat.st_mode & 0o7777,
        }
    }
}

/// The size that the kernel states, which is never negative for what can be opened.
pub fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
