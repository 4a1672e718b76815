//! Files that no name and no descriptor shows any more, and that take space all the same.

#![expect(unsafe_code, reason = "files are hidden by bare calls")]
#![expect(clippy::print_stdout, reason = "a probe answers on its standard output")]

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use crate::descriptor_passing::{hand, receive};
use crate::system::{at, call, tell};

const MEGABYTE: usize = 1 << 20;

/// Hides files of so many megabytes each, one after the other, tells how many there are, and keeps them.
pub(crate) fn hide(kind: &str, megabytes: usize, pieces: usize) {
    let sockets = UnixStream::pair();
    if let ("handed-on", Ok((sending, receiving))) = (kind, &sockets) {
        hand_on_until_it_ends(sending, receiving);
    }
    if matches!(kind, "folder" | "working-folder") {
        return hide_folders(kind == "working-folder", pieces);
    }
    let listening = SocketAddr::from_abstract_name(format!("hidden-{}", std::process::id()))
        .and_then(|address| UnixListener::bind_addr(&address));
    for piece in 1..=pieces {
        let hidden = deleted(megabytes).and_then(|file| match (kind, &sockets) {
            ("open", _) => {
                let _ = file.into_raw_fd();
                Ok(())
            }
            ("mapped", _) => map_a_page(&file),
            ("in-flight" | "handed-on", Ok((sending, _))) => hand(sending, file.as_raw_fd()),
            ("unaccepted", _) => leave_unaccepted(&file, &listening),
            ("of-a-thread", _) => keep_in_a_thread(file),
            ("in-a-rule", _) => keep_in_a_rule(&file),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        });
        match hidden {
            Ok(()) => println!("hidden {}", piece * megabytes),
            Err(error) => return tell("hide", Err(error.raw_os_error().unwrap_or(-1))),
        }
        let _ = io::stdout().flush();
    }
    tell("hide", Ok(0));
    let _ = io::stdout().flush();
    loop {
        // SAFETY: waits for signals that do not come.
        unsafe { libc::pause() };
    }
}

/// Takes the files that come, in a process that lives for a moment and whose child has them next.
fn hand_on_until_it_ends(sending: &UnixStream, receiving: &UnixStream) {
    // SAFETY: a child of a process with one thread, which goes on as the only one.
    if unsafe { libc::fork() } != 0 {
        return;
    }
    // SAFETY: this process does not send; so it is told when the one that does has ended.
    unsafe { libc::close(sending.as_raw_fd()) };
    let _ = receiving.set_nonblocking(true);
    loop {
        let has_ended = receive(receiving).is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock);
        // SAFETY: as above; the parent leaves at once, without undoing anything.
        unsafe {
            if has_ended || libc::fork() > 0 {
                libc::_exit(0);
            }
        }
    }
}

/// Sent over a connection that is closed at once and that nobody accepts.
fn leave_unaccepted(file: &File, listening: &io::Result<UnixListener>) -> io::Result<()> {
    let address = match listening {
        Ok(listening) => listening.local_addr()?,
        Err(error) => return Err(error.kind().into()),
    };
    hand(&UnixStream::connect_addr(&address)?, file.as_raw_fd())
}

/// A folder keeps the size that it had with its names, and has no name itself: about 3 MB each, held by a descriptor or as the
/// working directory of a process.
fn hide_folders(is_worked_in: bool, count: usize) {
    for piece in 1..=count {
        let folder = format!("folder-{}", std::process::id());
        let hidden = std::fs::create_dir(&folder).and_then(|()| {
            let name = |index: usize| format!("{folder}/{index:0>250}");
            (0..12_000).try_for_each(|index| File::create(name(index)).map(drop))?;
            (0..12_000).try_for_each(|index| std::fs::remove_file(name(index)))?;
            let held = File::open(&folder)?;
            if is_worked_in {
                // SAFETY: a child of a process with one thread; it does nothing but be there.
                unsafe {
                    if libc::fork() == 0 {
                        libc::fchdir(held.as_raw_fd());
                        libc::close(held.as_raw_fd());
                        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                        loop {
                            libc::pause();
                        }
                    }
                }
            } else {
                let _ = held.into_raw_fd();
            }
            std::fs::remove_dir(&folder)
        });
        match hidden {
            Ok(()) => println!("hidden {piece} folders"),
            Err(error) => return tell("hide", Err(error.raw_os_error().unwrap_or(-1))),
        }
        let _ = io::stdout().flush();
    }
    tell("hide", Ok(0));
    let _ = io::stdout().flush();
    loop {
        // SAFETY: waits for signals that do not come.
        unsafe { libc::pause() };
    }
}

fn deleted(megabytes: usize) -> io::Result<File> {
    let path = format!("hidden-{}", std::process::id());
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    std::fs::remove_file(&path)?;
    let piece: Vec<u8> = (0..MEGABYTE).map(|index| (index * 31 % 251) as u8).collect();
    for _ in 0..megabytes {
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// One page holds the whole file.
fn map_a_page(file: &File) -> io::Result<()> {
    // SAFETY: a new mapping that is never touched.
    let memory = unsafe {
        libc::mmap(std::ptr::null_mut(), 4_096, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A thread whose descriptors are its own keeps it, while the others close theirs.
fn keep_in_a_thread(file: File) -> io::Result<()> {
    let (has_it, wait) = std::sync::mpsc::channel();
    let descriptor = file.as_raw_fd();
    std::thread::spawn(move || {
        // SAFETY: plain numbers; from here on this thread's descriptors are copies.
        let unshared = unsafe { libc::unshare(libc::CLONE_FILES) };
        let _ = has_it.send(unshared == 0);
        let _kept = descriptor;
        loop {
            std::thread::park();
        }
    });
    let is_kept = wait.recv().unwrap_or(false);
    drop(file);
    if is_kept { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

/// A rule of Landlock holds what it is about for as long as its ruleset is open.
fn keep_in_a_rule(file: &File) -> io::Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        allowed: u64,
        parent: i32,
    }
    let handled: u64 = 1 << 2;
    let failed = io::Error::from_raw_os_error;
    let ruleset = call(libc::SYS_landlock_create_ruleset, [at(&handled), 8, 0, 0, 0, 0]).map_err(failed)?;
    let rule = PathBeneath { allowed: handled, parent: file.as_raw_fd() };
    call(libc::SYS_landlock_add_rule, [ruleset, 1, at(&rule), 0, 0, 0]).map_err(failed)?;
    Ok(())
}

/// Takes so many megabytes at once without writing any, by each call that could.
pub(crate) fn allocate(path: &str, megabytes: usize) {
    let bytes = i64::try_from(megabytes * MEGABYTE).unwrap_or(i64::MAX);
    let file = match File::options().read(true).write(true).create(true).truncate(false).open(path) {
        Ok(file) => file,
        Err(error) => return tell("open", Err(error.raw_os_error().unwrap_or(-1))),
    };
    let number = file.as_raw_fd().into();
    for (name, mode) in [
        ("plain", 0),
        ("keep-size", libc::FALLOC_FL_KEEP_SIZE),
        ("zero-range", libc::FALLOC_FL_ZERO_RANGE),
        ("unshare-range", libc::FALLOC_FL_UNSHARE_RANGE),
    ] {
        tell(name, call(libc::SYS_fallocate, [number, mode.into(), 0, bytes, 0, 0]));
        let high = i64::from(mode) | 1 << 40;
        tell(&format!("{name}-high-bits"), call(libc::SYS_fallocate, [number, high, 0, bytes, 0, 0]));
    }
    // struct space_resv: l_type and l_whence, then where it begins and how long it is.
    let space: [i64; 6] = [0, 0, bytes, 0, 0, 0];
    for (name, request) in
        [("resvsp", 0x4030_5828), ("resvsp64", 0x4030_582a), ("ioctl-zero-range", 0x4030_5839)]
    {
        tell(name, call(libc::SYS_ioctl, [number, request, at(&space), 0, 0, 0]));
    }
    let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    tell("punch-hole", call(libc::SYS_fallocate, [number, hole.into(), 0, bytes, 0, 0]));
}
