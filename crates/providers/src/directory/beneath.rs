//! Opening things beneath the workspace root (W21), in the kernel.
//!
//! ```text
//!   WorkspacePath ──▶ openat2(root, path, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)      Linux 5.6 and later
//!                └──▶ one openat(O_NOFOLLOW) per name, links read and followed by us    elsewhere
//! ```
//!
//! No string is checked and then used: the kernel walks the path and refuses the step that would leave. A link that
//! stays inside is followed; one that leads out (absolute, `..` above the root, `/proc` magic) is refused. Mount
//! points inside the root are crossed: an operator who mounts something there means it.
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
use warren_workspace::WorkspacePath;

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;
/// The walk holds a handle per directory, since `..` goes back by handle and not by name.
const MAX_WALK_DEPTH: usize = 256;
/// The kernel answers EAGAIN when a rename elsewhere races with `..` in a link; it settles at once.
const MAX_RACES: u32 = 64;

pub(super) const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const PLACE_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const DIRECTORY_FLAGS: OFlags = PLACE_FLAGS.union(OFlags::DIRECTORY);

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

/// A handle of the workspace root.
#[derive(Debug)]
pub struct Root {
    handle: OwnedFd,
    resolution: Resolution,
}

/// A name in an open directory: where something is, or would be.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) directory: OwnedFd,
    pub(super) name: OsString,
}

impl Root {
    /// `directory` is the provider's own path, not a client's.
    pub fn open(directory: &std::path::Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(CWD, directory, flags, Mode::empty())?;
        let resolution = match beneath(handle.as_fd(), OsStr::new("."), DIRECTORY_FLAGS, Mode::empty()) {
            // EPERM: an old container's filter that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => Resolution::Walk,
            Ok(_) | Err(_) => Resolution::Openat2,
        };
        Ok(Self { handle, resolution })
    }

    #[cfg(test)]
    pub(super) fn with_walk(mut self) -> Self {
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
    pub(super) fn is_gone(&self) -> bool {
        fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// A directory, for use as the start of further steps. Links on the way and at the end are followed.
    pub(super) fn directory(&self, path: &WorkspacePath) -> Result<OwnedFd, Errno> {
        if path.is_root() {
            return openat(&self.handle, ".", DIRECTORY_FLAGS, Mode::empty());
        }
        match self.resolution {
            Resolution::Openat2 => {
                beneath(self.handle(), OsStr::new(path.as_str()), DIRECTORY_FLAGS, Mode::empty())
            }
            Resolution::Walk => {
                let spot = self.walk(names_of(path), true)?;
                openat(&spot.directory, &spot.name, DIRECTORY_FLAGS | OFlags::NOFOLLOW, Mode::empty())
            }
        }
    }

    /// The thing itself, told but not opened: a link is not followed at the end.
    pub(super) fn stat(&self, path: &WorkspacePath) -> Result<(Stat, Option<OsString>), Errno> {
        let spot = self.spot(path)?;
        let stat = statat(&spot.directory, &spot.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let target = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => Some(read_link(spot.directory.as_fd(), &spot.name)?),
            _ => None,
        };
        Ok((stat, target))
    }

    /// A regular file for reading, links followed. Anything else is refused before it is opened, and again after,
    /// should it have been swapped in between; `O_NONBLOCK` keeps a fifo from hanging even then (W24).
    pub(super) fn file(&self, path: &WorkspacePath) -> Result<(std::fs::File, Stat), Errno> {
        let spot = self.target_spot(path)?;
        refuse_special(&statat(&spot.directory, &spot.name, AtFlags::SYMLINK_NOFOLLOW)?)?;
        let file = openat(&spot.directory, &spot.name, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty())?;
        let stat = fstat(&file)?;
        refuse_special(&stat)?;
        Ok((file.into(), stat))
    }

    /// The directory and name of `path`; links on the way are followed, one at the end is not. The root is `.` in
    /// itself.
    pub(super) fn spot(&self, path: &WorkspacePath) -> Result<Spot, Errno> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Spot { directory: self.directory(path)?, name: ".".into() });
        };
        Ok(Spot { directory: self.directory(&parent)?, name: name.into() })
    }

    /// As `spot`, with links at the end followed too: where a file written through `path` really lives.
    pub(super) fn target_spot(&self, path: &WorkspacePath) -> Result<Spot, Errno> {
        let spot = self.spot(path)?;
        match statat(&spot.directory, &spot.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => self.walk(names_of(path), true),
            Ok(_) | Err(Errno::NOENT) => Ok(spot),
            Err(errno) => Err(errno),
        }
    }

    /// The equivalent walk: each name is opened without following, and a link is replaced by the names it holds.
    fn walk(&self, mut names: VecDeque<OsString>, follow_last: bool) -> Result<Spot, Errno> {
        let mut stack = vec![openat(&self.handle, ".", DIRECTORY_FLAGS, Mode::empty())?];
        let mut links = 0;
        loop {
            let Some(name) = names.pop_front() else {
                // The path ended in `..` or `.`: it names the directory we stand in.
                let directory = stack.pop().ok_or(Errno::XDEV)?;
                return Ok(Spot { directory, name: ".".into() });
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
            let place = match openat(here, &name, PLACE_FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOENT) if is_last => None,
                other => Some(other?),
            };
            let kind = match &place {
                Some(place) => FileType::from_raw_mode(fstat(place)?.st_mode),
                None => FileType::Unknown,
            };
            match (kind, place) {
                (FileType::Symlink, Some(link)) if !is_last || follow_last => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP);
                    }
                    prepend(&mut names, &read_link(link.as_fd(), OsStr::new(""))?)?;
                }
                _ if is_last => {
                    let directory = stack.pop().ok_or(Errno::XDEV)?;
                    return Ok(Spot { directory, name });
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
    if names.len() > WorkspacePath::MAX_BYTES {
        return Err(Errno::NAMETOOLONG);
    }
    Ok(())
}

fn names_of(path: &WorkspacePath) -> VecDeque<OsString> {
    path.names().map(OsString::from).collect()
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

pub(super) fn read_link(directory: BorrowedFd<'_>, name: &OsStr) -> Result<OsString, Errno> {
    let target = readlinkat(directory, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}

/// EISDIR for a directory, ENXIO for a device, fifo or socket.
pub(super) fn refuse_special(stat: &Stat) -> Result<(), Errno> {
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
        let (mut file, _) = root.file(&WorkspacePath::parse(path).unwrap())?;
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
            let spot = root.target_spot(&WorkspacePath::parse("dangling").unwrap()).unwrap();
            assert_eq!(spot.name, "nowhere");
            let spot = root.target_spot(&WorkspacePath::parse("a/roundabout").unwrap()).unwrap();
            assert_eq!(spot.name, "file");
        }
    }
}
