//! Opening things beneath a root (W21), in the kernel.
//!
//! ```text
//!   path ──▶ openat2(root, path, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)      Linux 5.6 and later
//!       └──▶ one openat(O_NOFOLLOW) per name, links read and followed by us    elsewhere
//! ```
//!
//! No string is checked and then used: the kernel walks the path and refuses the step that would leave. A link that
//! stays inside is followed; one that leads out (absolute, `..` above the root, `/proc` magic) is refused. Mount
//! points inside the root are crossed: an operator who mounts something there means it.
//!
//! A path is a sequence of bytes: names with slashes between them, relative to the root, which is the empty path.
//!
//! Surprise: an absolute link is refused even where it names a file inside, since "inside" would then depend on where
//! the host keeps the root.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat, statat,
};
use rustix::io::Errno;

use crate::put::Unsynced;

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;
/// The walk holds a handle per directory, since `..` goes back by handle and not by name.
const MAX_WALK_DEPTH: usize = 256;
/// The kernel answers EAGAIN when a rename elsewhere races with `..` in a link; it settles at once.
const MAX_RACES: u32 = 64;

/// The longest path that is resolved. The kernel takes 4,096 bytes at once.
pub const MAX_PATH_BYTES: usize = 8_192;

/// For reading a file: a fifo that was swapped in must not hang us, nor a terminal become ours.
const READ_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW);
/// For a handle that only says where something is.
const PATH_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const DIRECTORY_PATH_FLAGS: OFlags = PATH_FLAGS.union(OFlags::DIRECTORY);
/// For a directory that is listed; a link in its place is refused.
pub const DIRECTORY_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How paths are resolved on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    Openat2,
    Walk,
}

impl Resolution {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openat2 => "openat2 beneath the root",
            Self::Walk => "one name at a time, links followed by hand",
        }
    }
}

/// A handle of the root directory, beneath which paths are resolved.
#[derive(Debug)]
pub struct Root {
    handle: OwnedFd,
    resolution: Resolution,
}

/// A name in an open directory: where something is, or would be.
#[derive(Debug)]
pub struct Location {
    pub directory: OwnedFd,
    pub name: OsString,
}

impl Location {
    /// What is there, without following a link; `None` if nothing is.
    pub fn stat(&self) -> Result<Option<Stat>, Errno> {
        match statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    pub fn link_target(&self) -> Result<OsString, Errno> {
        read_link(self.directory.as_fd(), &self.name)
    }

    /// The directory that is there, for listing. A link is refused.
    pub fn open_directory(&self) -> Result<OwnedFd, Errno> {
        openat(&self.directory, &self.name, DIRECTORY_FLAGS, Mode::empty())
    }

    /// The regular file that is there, for reading.
    pub fn open_regular(&self) -> Result<(OwnedFd, Stat), Errno> {
        open_regular(self.directory.as_fd(), &self.name)
    }
}

impl Root {
    /// Opens the root by its path on the host, which must come from the operator and not from a client.
    pub fn open(directory: &std::path::Path) -> Result<Self, Errno> {
        openat(CWD, directory, DIRECTORY_FLAGS, Mode::empty()).map(Self::from_handle)
    }

    /// A directory that is open already.
    pub fn from_handle(handle: OwnedFd) -> Self {
        let resolution = match beneath(handle.as_fd(), OsStr::new("."), DIRECTORY_PATH_FLAGS, Mode::empty()) {
            // EPERM: an old container's filter that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => Resolution::Walk,
            Ok(_) | Err(_) => Resolution::Openat2,
        };
        Self { handle, resolution }
    }

    /// A second handle of the same directory.
    pub fn try_clone(&self) -> Result<Self, Errno> {
        let handle = self.handle.try_clone().map_err(|_| Errno::MFILE)?;
        Ok(Self { handle, resolution: self.resolution })
    }

    #[cfg(test)]
    pub(crate) fn with_walk(mut self) -> Self {
        self.resolution = Resolution::Walk;
        self
    }

    pub const fn resolution(&self) -> Resolution {
        self.resolution
    }

    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Whether the directory behind the handle was removed from the host.
    pub fn is_gone(&self) -> bool {
        fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// A directory, as the start of further steps; its handle cannot be listed. Links on the way and at the end are
    /// followed.
    pub fn directory(&self, path: impl AsRef<[u8]>) -> Result<OwnedFd, Errno> {
        let path = path.as_ref();
        if path.is_empty() {
            return openat(&self.handle, ".", DIRECTORY_PATH_FLAGS, Mode::empty());
        }
        match self.resolution {
            Resolution::Openat2 => {
                beneath(self.handle(), OsStr::from_bytes(path), DIRECTORY_PATH_FLAGS, Mode::empty())
            }
            Resolution::Walk => {
                let location = self.walk(names_of(path)?, true)?;
                let flags = DIRECTORY_PATH_FLAGS | OFlags::NOFOLLOW;
                openat(&location.directory, &location.name, flags, Mode::empty())
            }
        }
    }

    /// A directory whose entries can be read.
    pub fn listed_directory(&self, path: impl AsRef<[u8]>) -> Result<OwnedFd, Errno> {
        openat(self.directory(path)?, ".", DIRECTORY_FLAGS, Mode::empty())
    }

    /// What is at `path`, and its target if that is a link: a link at the end is not followed.
    pub fn stat(&self, path: impl AsRef<[u8]>) -> Result<(Stat, Option<OsString>), Errno> {
        let location = self.location(path)?;
        let stat = location.stat()?.ok_or(Errno::NOENT)?;
        let target = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => Some(location.link_target()?),
            _ => None,
        };
        Ok((stat, target))
    }

    /// A regular file for reading, links followed.
    pub fn file(&self, path: impl AsRef<[u8]>) -> Result<(std::fs::File, Stat), Errno> {
        let (file, stat) = self.target_location(path)?.open_regular()?;
        Ok((file.into(), stat))
    }

    /// The directory and name of `path`; links on the way are followed, one at the end is not. The root is `.` in
    /// itself.
    pub fn location(&self, path: impl AsRef<[u8]>) -> Result<Location, Errno> {
        let path = path.as_ref();
        if path.is_empty() {
            return Ok(Location { directory: self.directory(path)?, name: ".".into() });
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(0) => return Err(Errno::XDEV),
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b""[..], path),
        };
        if matches!(name, b"" | b"." | b"..") {
            return Err(Errno::ISDIR);
        }
        Ok(Location { directory: self.directory(parent)?, name: OsStr::from_bytes(name).to_owned() })
    }

    /// As `location`, with links at the end followed too: where a file written through `path` really lives.
    pub fn target_location(&self, path: impl AsRef<[u8]>) -> Result<Location, Errno> {
        let path = path.as_ref();
        let location = self.location(path)?;
        match location.stat()? {
            Some(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => {
                self.walk(names_of(path)?, true)
            }
            Some(_) | None => Ok(location),
        }
    }

    /// Where a file will be written, with its parents made by `make_directory` if need be. A link at the end is followed
    /// if `follows_links`.
    pub fn location_with_parents(
        &self,
        path: impl AsRef<[u8]>,
        follows_links: bool,
        make_directory: impl FnMut(&Location) -> Result<(), Errno>,
    ) -> Result<Location, Errno> {
        let path = path.as_ref();
        let find = || if follows_links { self.target_location(path) } else { self.location(path) };
        match find() {
            Err(Errno::NOENT) => {
                self.make_directories(parent_of(path), make_directory)?;
                find()
            }
            other => other,
        }
    }

    /// Makes a directory and its missing parents with `make_directory`; one that is there already is success. Those that were
    /// made are on disk then.
    pub fn make_directories(
        &self,
        path: impl AsRef<[u8]>,
        mut make_directory: impl FnMut(&Location) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut missing = Vec::new();
        let mut here = path.as_ref();
        loop {
            match self.directory(here) {
                Ok(_) => break,
                Err(Errno::NOENT) if !here.is_empty() => {}
                Err(errno) => return Err(errno),
            }
            missing.push(here);
            here = parent_of(here);
        }
        let mut unsynced = Unsynced::default();
        for directory in missing.iter().rev() {
            let location = self.location(directory)?;
            match make_directory(&location) {
                // Whoever made it meanwhile may not have waited for it yet.
                Ok(()) | Err(Errno::EXIST) => unsynced.add(location.directory),
                Err(errno) => return Err(errno),
            }
        }
        unsynced.sync()?;
        // A dangling link or a file made meanwhile shows here.
        self.directory(path).map(drop)
    }

    /// The equivalent walk: each name is opened without following, and a link is replaced by the names it holds.
    fn walk(&self, mut names: VecDeque<OsString>, follow_last: bool) -> Result<Location, Errno> {
        let mut stack = vec![openat(&self.handle, ".", DIRECTORY_PATH_FLAGS, Mode::empty())?];
        let mut links = 0;
        loop {
            let Some(name) = names.pop_front() else {
                // The path ended in `..` or `.`: it names the directory we stand in.
                let directory = stack.pop().ok_or(Errno::XDEV)?;
                return Ok(Location { directory, name: ".".into() });
            };
            if name == "." || name.is_empty() {
                continue;
            }
            if name == ".." {
                stack.pop();
                if stack.is_empty() {
                    return Err(Errno::XDEV);
                }
                continue;
            }
            let here = stack.last().ok_or(Errno::XDEV)?;
            let is_last = names.iter().all(|rest| rest == "." || rest.is_empty());
            let opened = match openat(here, &name, PATH_FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOENT) if is_last => None,
                other => Some(other?),
            };
            let kind = match &opened {
                Some(opened) => FileType::from_raw_mode(fstat(opened)?.st_mode),
                None => FileType::Unknown,
            };
            match (kind, opened) {
                (FileType::Symlink, Some(link)) if !is_last || follow_last => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP);
                    }
                    prepend(&mut names, &read_link(link.as_fd(), OsStr::new(""))?)?;
                }
                _ if is_last => {
                    let directory = stack.pop().ok_or(Errno::XDEV)?;
                    return Ok(Location { directory, name });
                }
                (FileType::Directory, Some(directory)) => {
                    if stack.len() >= MAX_WALK_DEPTH {
                        return Err(Errno::NAMETOOLONG);
                    }
                    stack.push(directory);
                }
                _ => return Err(Errno::NOTDIR),
            }
        }
    }
}

/// Puts the names of a link before those that are left.
fn prepend(names: &mut VecDeque<OsString>, target: &OsStr) -> Result<(), Errno> {
    if target.as_bytes().starts_with(b"/") {
        return Err(Errno::XDEV);
    }
    for name in target.as_bytes().split(|byte| *byte == b'/').rev() {
        names.push_front(OsString::from_vec(name.to_vec()));
    }
    if names.len() > MAX_PATH_BYTES {
        return Err(Errno::NAMETOOLONG);
    }
    Ok(())
}

fn names_of(path: &[u8]) -> Result<VecDeque<OsString>, Errno> {
    let mut names = VecDeque::new();
    prepend(&mut names, OsStr::from_bytes(path))?;
    Ok(names)
}

/// The path of the directory that `path` is in.
fn parent_of(path: &[u8]) -> &[u8] {
    &path[..path.iter().rposition(|byte| *byte == b'/').unwrap_or(0)]
}

fn beneath(root: BorrowedFd<'_>, path: &OsStr, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut races = 0;
    loop {
        match openat2(root, path, flags, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) if races < MAX_RACES => races += 1,
            result => return result,
        }
    }
}

pub fn read_link(directory: BorrowedFd<'_>, name: &OsStr) -> Result<OsString, Errno> {
    let target = readlinkat(directory, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}

/// A regular file for reading. It is looked at before it is opened, and again after, should it have been swapped in
/// between; `O_NONBLOCK` keeps a fifo from hanging even then (W24).
pub fn open_regular(directory: BorrowedFd<'_>, name: &OsStr) -> Result<(OwnedFd, Stat), Errno> {
    refuse_special(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    open_stated_regular(directory, name)
}

/// As `open_regular`, for a name that the directory states to be a regular file: one look less.
pub fn open_stated_regular(directory: BorrowedFd<'_>, name: &OsStr) -> Result<(OwnedFd, Stat), Errno> {
    let file = openat(directory, name, READ_FLAGS, Mode::empty())?;
    let stat = fstat(&file)?;
    refuse_special(&stat)?;
    Ok((file, stat))
}

/// Refuses what is not a regular file: EISDIR for a directory, ENXIO for a device, fifo or socket.
pub fn refuse_special(stat: &Stat) -> Result<(), Errno> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Errno::ISDIR),
        // Only by a race: what was a file when its path was resolved is a link now.
        FileType::Symlink => Err(Errno::LOOP),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(Errno::NXIO),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Fixture {
        _outside: tempfile::TempDir,
        root: std::path::PathBuf,
    }

    fn fixture() -> Fixture {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("a/b/file"), "inside").unwrap();
        for (target, link) in [
            ("a/b", "to_directory"),
            ("a/b/file", "to_file"),
            ("../a/./b/../b/file", "a/roundabout"),
            ("to_file", "twice"),
            ("../secret", "out"),
            ("a/../../secret", "out_later"),
            ("/etc/passwd", "absolute"),
            ("/proc/self/root", "magic"),
            ("ring_b", "ring_a"),
            ("ring_a", "ring_b"),
            ("..", "up"),
            ("nowhere", "dangling"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        Fixture { _outside: outside, root }
    }

    fn read(root: &Root, path: &str) -> Result<String, Errno> {
        let (mut file, _) = root.file(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    // W21: both ways of resolving agree, so the walk is "equivalent".
    #[test]
    fn both_resolutions_follow_inner_links_and_refuse_outer_ones() {
        let fixture = fixture();
        let fast = Root::open(&fixture.root).unwrap();
        assert_eq!(fast.resolution(), Resolution::Openat2, "needs Linux 5.6 or later");
        let walked = Root::open(&fixture.root).unwrap().with_walk();
        for root in [&fast, &walked] {
            for path in ["a/b/file", "to_directory/file", "to_file", "a/roundabout", "twice"] {
                assert_eq!(read(root, path).as_deref(), Ok("inside"), "{path} {root:?}");
            }
            for path in [
                "out",
                "out_later",
                "absolute",
                "magic",
                "magic/etc/passwd",
                "up",
                "up/secret",
                "up/root/a/b/file",
            ] {
                let errno = read(root, path).unwrap_err();
                assert!(matches!(errno, Errno::XDEV | Errno::LOOP), "{path} {errno} {root:?}");
            }
            assert_eq!(read(root, "ring_a").unwrap_err(), Errno::LOOP);
            assert_eq!(read(root, "dangling").unwrap_err(), Errno::NOENT);
            assert_eq!(read(root, "a/missing").unwrap_err(), Errno::NOENT);
            assert_eq!(read(root, "missing/x").unwrap_err(), Errno::NOENT);
            assert_eq!(read(root, "a/b/file/x").unwrap_err(), Errno::NOTDIR);
            assert_eq!(read(root, "a/b").unwrap_err(), Errno::ISDIR);
        }
    }

    // W21
    #[test]
    fn the_walk_says_where_a_new_file_behind_a_link_would_be() {
        let fixture = fixture();
        for root in [Root::open(&fixture.root).unwrap(), Root::open(&fixture.root).unwrap().with_walk()] {
            let location = root.target_location("dangling").unwrap();
            assert_eq!(location.name, "nowhere");
            let location = root.target_location("a/roundabout").unwrap();
            assert_eq!(location.name, "file");
        }
    }
}
