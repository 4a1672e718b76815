//! Unpacking an archive into a folder that nobody else has: made beside the data folder, and put in its place at the end.
//!
//! Every entry is made new, by a handle of its part's root, in a directory that this archive made: no path leads out, and no
//! link is followed. Nothing in it can be run by its mode alone: only the nine permission bits are restored.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, linkat, mkdirat, openat, symlinkat, syncfs,
};
use warren_confined_fs::{Location, Owner, Root};

use crate::manifest::Manifest;
use crate::read::{BadArchive, Visitor, read};
use crate::tar::{Entry, EntryKind};
use crate::{CONFIG, DATABASE};

const READ_AHEAD: usize = 1 << 20;

/// Says whom the files of a workspace are given to, if its folder belonged to `recorded`; asked once for each part, by its
/// place (`sandbox`). `None`: as the archive says.
pub type NewOwner<'a> = &'a mut dyn FnMut(&str, Owner) -> Option<Owner>;

/// How an archive is unpacked.
pub struct Unpacking<'a> {
    /// An empty folder of this process.
    pub into: &'a Path,
    /// Whether files can be given away, which takes root.
    pub gives_away: bool,
    pub new_owner: NewOwner<'a>,
}

impl std::fmt::Debug for Unpacking<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacking").field("into", &self.into).finish_non_exhaustive()
    }
}

/// Unpacks and verifies once more on the way. All of it is on disk then; the caller puts the folder in its place. After an
/// error the folder holds a part of it and is to be deleted.
pub fn unpack(archive: impl Read, unpacking: Unpacking<'_>) -> Result<Manifest, BadArchive> {
    let into = unpacking.into.to_owned();
    let mut visitor = Unpack { unpacking, root: None, prefix: 0, file: None, later: Vec::new(), owner: None };
    let manifest = read(BufReader::with_capacity(READ_AHEAD, archive), &mut visitor)?;
    let folder = File::open(&into).map_err(BadArchive::Write)?;
    syncfs(&folder).map_err(|errno| BadArchive::Write(errno.into()))?;
    Ok(manifest)
}

struct Unpack<'a> {
    unpacking: Unpacking<'a>,
    /// Of the part that is unpacked now.
    root: Option<Root>,
    /// How many bytes of a path lead to the root.
    prefix: usize,
    file: Option<File>,
    /// Directories get their modes and times when nothing more is put into them.
    later: Vec<Entry>,
    /// Who the folder of this part belonged to, and to whom it goes.
    owner: Option<(Owner, Owner)>,
}

impl Visitor for Unpack<'_> {
    fn begin_part(&mut self, name: &str, root: &Entry) -> io::Result<()> {
        let single = name == DATABASE || name == CONFIG;
        let folder = if single { PathBuf::new() } else { PathBuf::from(name) };
        let folder = self.unpacking.into.join(folder);
        if !single {
            make_private(&self.unpacking.into.join(place_of(name)), &folder)?;
        }
        let recorded = Owner { uid: root.uid, gid: root.gid };
        self.owner = match single {
            true => None,
            false => (self.unpacking.new_owner)(place_of(name), recorded).map(|new| (recorded, new)),
        };
        self.root = Some(Root::open(&folder)?);
        self.prefix = if single { 0 } else { name.len() + 1 };
        Ok(())
    }

    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        let below = entry.path.get(self.prefix..).unwrap_or_default();
        if below.is_empty() {
            self.later.push(entry.clone());
            return Ok(());
        }
        let at = self.root()?.location(below)?;
        match &entry.kind {
            EntryKind::Directory => {
                mkdirat(&at.directory, &at.name, Mode::from_raw_mode(0o700))?;
                self.later.push(entry.clone());
            }
            EntryKind::Symlink(target) => {
                symlinkat(OsStr::from_bytes(target), &at.directory, &at.name)?;
                if let Some(owner) = self.owner_of(entry) {
                    use rustix::fd::AsFd as _;
                    owner.give_link(at.directory.as_fd(), &at.name)?;
                }
            }
            EntryKind::HardLink(first) => {
                let first = self.root()?.location(first.get(self.prefix..).unwrap_or_default())?;
                linkat(&first.directory, &first.name, &at.directory, &at.name, AtFlags::empty())?;
            }
            EntryKind::File => {
                let file = new_file(&at)?;
                if let Some(length) = entry.sparse_length {
                    file.set_len(length)?;
                }
                self.file = Some(file);
            }
        }
        Ok(())
    }

    fn data(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.as_ref().ok_or(io::ErrorKind::InvalidData)?.write_all_at(bytes, at)
    }

    fn end_entry(&mut self, entry: &Entry) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        self.settle(entry, &file)
    }

    fn end_part(&mut self) -> io::Result<()> {
        for entry in std::mem::take(&mut self.later).into_iter().rev() {
            let below = entry.path.get(self.prefix..).unwrap_or_default();
            let root = self.root()?;
            let directory = match below.is_empty() {
                true => root.listed_directory(b"")?,
                false => root.location(below)?.open_directory()?,
            };
            self.settle(&entry, &File::from(directory))?;
        }
        self.root = None;
        Ok(())
    }
}

impl Unpack<'_> {
    fn root(&self) -> io::Result<&Root> {
        self.root.as_ref().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// To whom an entry is given; `None`: it stays this process's.
    fn owner_of(&self, entry: &Entry) -> Option<Owner> {
        let recorded = Owner { uid: entry.uid, gid: entry.gid };
        if !self.unpacking.gives_away || self.prefix == 0 {
            return None;
        }
        match self.owner {
            Some((from, to)) => Some(Owner {
                uid: if recorded.uid == from.uid { to.uid } else { recorded.uid },
                gid: if recorded.gid == from.gid { to.gid } else { recorded.gid },
            }),
            None => Some(recorded),
        }
    }

    fn settle(&self, entry: &Entry, made: &File) -> io::Result<()> {
        if let Some(owner) = self.owner_of(entry) {
            owner.give(made)?;
        }
        fchmod(made, Mode::from_raw_mode(entry.mode & 0o777))?;
        let modified = Timespec { tv_sec: i64::try_from(entry.modified).unwrap_or(0), tv_nsec: 0 };
        futimens(made, &Timestamps { last_access: modified, last_modification: modified })?;
        Ok(())
    }
}

/// The first name of a part.
fn place_of(part: &str) -> &str {
    part.split('/').next().unwrap_or(part)
}

fn make_private(place: &Path, folder: &Path) -> io::Result<()> {
    // As the providers make theirs: boxes' users must be able to pass through.
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(place)?;
    if let Some(above) = folder.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(above)?;
    }
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}

fn new_file(at: &Location) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&at.directory, &at.name, flags, Mode::from_raw_mode(0o600))?.into())
}
