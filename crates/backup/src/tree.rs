//! Reading the files of a workspace while programs write to them.
//!
//! A file of up to a megabyte is read again if it changed meanwhile, so that it is almost always as it was at one moment. A
//! larger one is taken up to the length that it had when it was opened, which is right for what is appended to and for what is
//! replaced by a rename (as Warren's own file API does); one that was rewritten in place may mix old and new, and is told.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;

use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::fs::{AtFlags, FileType, Mode, Stat, fstat, openat, statat};
use rustix::io::Errno;
use warren_confined_fs::{DIRECTORY_FLAGS, list_names, open_stated_regular, read_link, size_of};

use crate::sparse::{encode_map, pieces_of};
use crate::tar::{EntryKind, padding};
use crate::write::{Writer, stated};

const SMALL_BYTES: u64 = 1 << 20;
const TRIES: u32 = 3;
/// Each level is an open handle while it is read.
const MAX_DEPTH: usize = 256;
/// Files with several names that are told apart; further ones are written once for each name.
const MAX_LINKED_FILES: usize = 1 << 16;
/// Names of one directory, which are held in memory.
const MAX_NAMES: usize = 10_000_000;

pub(crate) struct Tree<'a, W> {
    writer: &'a mut Writer<W>,
    path: Vec<u8>,
    depth: usize,
    entries: u64,
    /// Files with several names, by device and number, and the first name of each.
    linked: HashMap<(u64, u64), Vec<u8>>,
}

impl<'a, W: Write> Tree<'a, W> {
    pub(crate) fn new(writer: &'a mut Writer<W>, name: &str) -> Self {
        Self { writer, path: name.as_bytes().to_vec(), depth: 0, entries: 0, linked: HashMap::new() }
    }

    /// The directory and everything in it; returns how many entries that are.
    pub(crate) fn add(mut self, root: BorrowedFd<'_>) -> io::Result<u64> {
        self.directory(root)?;
        Ok(self.entries)
    }

    fn directory(&mut self, directory: BorrowedFd<'_>) -> io::Result<()> {
        self.entry(EntryKind::Directory, &fstat(directory)?)?;
        let names = match list_names(directory, MAX_NAMES) {
            Ok(names) => names,
            Err(errno) => return self.left_out(&format!("it cannot be listed: {errno}")),
        };
        if self.depth == MAX_DEPTH && !names.is_empty() {
            return self.left_out("what is in it is nested too deeply");
        }
        self.depth += 1;
        let length = self.path.len();
        for name in names {
            self.path.push(b'/');
            self.path.extend_from_slice(name.as_bytes());
            self.child(directory, &name)?;
            self.path.truncate(length);
        }
        self.depth -= 1;
        Ok(())
    }

    fn child(&mut self, directory: BorrowedFd<'_>, name: &OsString) -> io::Result<()> {
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // Deleted since its directory was listed.
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return self.left_out(&format!("it cannot be looked at: {errno}")),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => match openat(directory, name, DIRECTORY_FLAGS, Mode::empty()) {
                Ok(below) => self.directory(below.as_fd()),
                Err(Errno::NOENT) => Ok(()),
                Err(errno) => self.left_out(&format!("it cannot be opened: {errno}")),
            },
            FileType::Symlink => match read_link(directory, name) {
                Ok(target) => self.entry(EntryKind::Symlink(target.as_bytes().to_vec()), &stat),
                Err(Errno::NOENT) => Ok(()),
                Err(errno) => self.left_out(&format!("it cannot be read: {errno}")),
            },
            FileType::RegularFile => self.file(directory, name),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => self.left_out("it is a device, fifo or socket"),
        }
    }

    fn file(&mut self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        let (file, stat) = match open_stated_regular(directory, name) {
            Ok((file, stat)) => (File::from(file), stat),
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return self.left_out(&format!("it cannot be opened: {errno}")),
        };
        if stat.st_nlink > 1 {
            let number = (stat.st_dev, stat.st_ino);
            if let Some(first) = self.linked.get(&number) {
                let link = EntryKind::HardLink(first.clone());
                return self.entry(link, &stat);
            }
            if self.linked.len() < MAX_LINKED_FILES {
                self.linked.insert(number, self.path.clone());
            }
        }
        let pieces = match pieces_of(&file, size_of(&stat)) {
            Ok(pieces) => pieces,
            Err(error) => return self.left_out(&format!("it cannot be read: {error}")),
        };
        match pieces {
            Some(pieces) => {
                let map = encode_map(&pieces);
                let data: u64 = pieces.iter().map(|piece| piece.length).sum();
                let mut entry = stated(&self.path, EntryKind::File, &stat);
                entry.stored_bytes = map.len() as u64 + data;
                entry.sparse_length = Some(size_of(&stat));
                self.begin(&entry)?;
                self.writer.out.write_all(&map)?;
                for piece in pieces {
                    self.stretch(&file, piece.at, piece.length)?;
                }
                self.writer.zeros(padding(data))?;
                self.tell_change(&file, &stat)
            }
            None if size_of(&stat) <= SMALL_BYTES => self.small_file(&file, stat),
            None => {
                let mut entry = stated(&self.path, EntryKind::File, &stat);
                entry.stored_bytes = size_of(&stat);
                self.begin(&entry)?;
                self.stretch(&file, 0, size_of(&stat))?;
                self.writer.zeros(padding(size_of(&stat)))?;
                self.tell_change(&file, &stat)
            }
        }
    }

    fn small_file(&mut self, file: &File, mut stat: Stat) -> io::Result<()> {
        let mut contents = Vec::new();
        let mut is_whole = false;
        for _ in 0..TRIES {
            // A byte more than it has shows that it grew.
            contents = match read_up_to(file, size_of(&stat).min(SMALL_BYTES) + 1) {
                Ok(contents) => contents,
                Err(error) => return self.left_out(&format!("it cannot be read: {error}")),
            };
            let now = fstat(file)?;
            is_whole = is_same(&stat, &now) && contents.len() as u64 == size_of(&now);
            stat = now;
            if is_whole {
                break;
            }
        }
        let mut entry = stated(&self.path, EntryKind::File, &stat);
        entry.stored_bytes = contents.len() as u64;
        self.begin(&entry)?;
        self.writer.out.write_all(&contents)?;
        self.writer.zeros(padding(entry.stored_bytes))?;
        if !is_whole {
            self.writer.noticed.changed(&self.path);
        }
        Ok(())
    }

    /// So many bytes of a file, with zeros for those that are not there any more: their number stands in the header.
    fn stretch(&mut self, mut file: &File, at: u64, length: u64) -> io::Result<()> {
        file.seek(io::SeekFrom::Start(at))?;
        let mut missing = length - self.writer.copy(file, length)?;
        while missing > 0 {
            let count = usize::try_from(missing).unwrap_or(usize::MAX).min(crate::tar::BLOCK);
            self.writer.zeros(count)?;
            missing -= count as u64;
        }
        Ok(())
    }

    fn tell_change(&mut self, file: &File, before: &Stat) -> io::Result<()> {
        if !is_same(before, &fstat(file)?) {
            self.writer.noticed.changed(&self.path);
        }
        Ok(())
    }

    fn entry(&mut self, kind: EntryKind, stat: &Stat) -> io::Result<()> {
        let entry = stated(&self.path, kind, stat);
        self.begin(&entry)
    }

    fn begin(&mut self, entry: &crate::tar::Entry) -> io::Result<()> {
        self.entries += 1;
        self.writer.entry(entry)
    }

    fn left_out(&mut self, why: &str) -> io::Result<()> {
        self.writer.noticed.left_out(&self.path, why);
        Ok(())
    }
}

fn read_up_to(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let mut contents = vec![0; usize::try_from(limit).unwrap_or(0)];
    let mut read = 0;
    while read < contents.len() {
        match file.read_at(&mut contents[read..], read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    contents.truncate(read);
    Ok(contents)
}

/// Whether a file was left alone between two looks.
fn is_same(before: &Stat, after: &Stat) -> bool {
    let of =
        |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
    of(before) == of(after)
}
