//! The mount namespace that bubblewrap is started in where Warren is root. It is made once and holds only what all boxes
//! have in common.
//!
//! ```text
//!   /usr, /bin …   the host's, as in every box       /proc        the host's; a box gets its own
//!   /etc           ours, with process 1 in it        /dev         made for boxes: six devices, read-only
//!   /tmp           the stage of one box (`launch`)   /dev/pts     one box's terminals (`launch`)
//! ```
//!
//! Bubblewrap reads the whole list of mounts again for each mount that it makes. A short list, and a `/dev` that comes with
//! one mount instead of eight, save it a fifth of its time; and the rest of the host is out of its reach before it begins.
//!
//! Each box is started in a copy. What the host mounts below `/usr` later is followed here, and seen by boxes that are
//! opened from then on.

#![expect(
    unsafe_code,
    reason = "a thread leaves the mount namespace of the others; the block says why it holds"
)]

use std::fs::File;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, mount_remount, move_mount, open_tree, unmount,
};
use rustix::process::pivot_root;
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::arguments::System;

/// Where the new root is built, in our own namespace only. The folder is there on every system.
const SITE: &str = "/tmp";
const SMALL: &std::ffi::CStr = c"size=64k,nr_inodes=128,mode=0755";
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

#[derive(Debug)]
pub(super) struct MountNamespace {
    namespace: OwnedFd,
}

impl MountNamespace {
    /// `etc` is what boxes find there.
    pub(super) fn make(system: &System, etc: &Path) -> io::Result<Self> {
        let built = std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().name("mount-namespace".into());
            Ok::<_, io::Error>(builder.spawn_scoped(scope, || build(system, etc))?.join())
        })?;
        let namespace = built.map_err(|_| io::Error::other("the thread that builds it panicked"))??;
        Ok(Self { namespace })
    }
}

impl AsFd for MountNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }
}

/// On a thread of its own, which ends right after: it must not be used for anything else.
fn build(system: &System, etc: &Path) -> io::Result<OwnedFd> {
    // SAFETY: nobody shares this thread's view of the file system from here on. It holds no path that others resolve, and
    // descriptors are not concerned.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
    let etc = open_tree(CWD, etc, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    mount("warren", SITE, "tmpfs", PLAIN, SMALL)?;
    let root = Path::new(SITE);
    for (folder, link) in system.folders() {
        let here = root.join(folder.strip_prefix("/").unwrap_or(folder));
        match link {
            Some(target) => symlink(target, here)?,
            None => {
                make_folder(&here)?;
                mount_bind_recursive(folder, &here)?;
            }
        }
    }
    for name in ["etc", "proc", "dev", "tmp"] {
        make_folder(&root.join(name))?;
    }
    move_mount(&etc, "", CWD, root.join("etc"), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    mount_bind_recursive("/proc", root.join("proc"))?;
    make_devices(&root.join("dev"))?;
    mount_remount(root, MountFlags::BIND | MountFlags::RDONLY | PLAIN, c"")?;
    rustix::process::chdir(root)?;
    // The old root is put over the new one, and taken away.
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/proc/thread-self/ns/mnt", flags, Mode::empty())?)
}

/// A `/dev` as bubblewrap would make it, without terminals: each box has its own.
fn make_devices(folder: &Path) -> io::Result<()> {
    mount("warren", folder, "tmpfs", PLAIN, SMALL)?;
    for name in DEVICES {
        let here = folder.join(name);
        File::create(&here)?;
        mount_bind(Path::new("/dev").join(name), &here)?;
        mount_remount(&here, MountFlags::BIND | MountFlags::NOSUID | MountFlags::NOEXEC, c"")?;
    }
    for (name, target) in DEVICE_LINKS {
        symlink(target, folder.join(name))?;
    }
    for name in ["pts", "shm"] {
        make_folder(&folder.join(name))?;
    }
    Ok(mount_remount(folder, MountFlags::BIND | MountFlags::RDONLY | PLAIN, c"")?)
}

/// With the mode 0755, whatever Warren's own umask is.
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::create_dir(folder)?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}
