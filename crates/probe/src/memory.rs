//! Memory in every form that there is (sec/S15, S16), and a program that is in no file (sec/T06).

#![expect(unsafe_code, reason = "memory is mapped and programs are executed by bare calls")]
#![expect(clippy::print_stdout, reason = "a probe answers on its standard output")]

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};

use crate::system::tell;

const MEGABYTE: usize = 1 << 20;

/// Fills so many megabytes and says how many it got. One that is killed has said how far it came.
pub(crate) fn fill(kind: &str, megabytes: usize) {
    let mut held = Vec::new();
    let mut file = match kind.split_once(':') {
        Some(("file", path)) => File::create(path).ok(),
        _ if kind == "anonymous" => unnamed().ok(),
        _ => None,
    };
    for filled in 0..megabytes {
        let result = match (&mut file, kind) {
            (Some(file), _) => file.write_all(&vec![1; MEGABYTE]),
            (None, "private" | "shared") => map(kind == "shared").map(|memory| held.push(memory)),
            (None, _) => Err(io::Error::from_raw_os_error(libc::EACCES)),
        };
        if let Err(error) = result {
            println!("filled {filled}");
            return tell("fill", Err(error.raw_os_error().unwrap_or(-1)));
        }
    }
    println!("filled {megabytes}");
    tell("fill", Ok(0));
}

fn map(is_shared: bool) -> io::Result<*mut u8> {
    let sharing = if is_shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    // SAFETY: a new mapping of ours, touched within its length, and never given back.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            MEGABYTE,
            libc::PROT_READ | libc::PROT_WRITE,
            sharing | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        std::ptr::write_bytes(memory.cast::<u8>(), 1, MEGABYTE);
        Ok(memory.cast())
    }
}

fn unnamed() -> io::Result<File> {
    // SAFETY: the descriptor that is answered is new and ours.
    unsafe {
        let descriptor = libc::memfd_create(c"probe".as_ptr(), 0);
        if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(File::from_raw_fd(descriptor)) }
    }
}

/// Becomes a copy of itself that no policy on files could know.
pub(crate) fn execute() {
    let copied = std::fs::read("/proc/self/exe").and_then(|program| {
        let mut file = unnamed()?;
        file.write_all(&program)?;
        Ok(file)
    });
    let Ok(file) = copied else {
        return tell("execute", Err(libc::ENOENT));
    };
    let words = [c"probe".as_ptr(), c"identity".as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null()];
    // SAFETY: null-terminated lists of static strings; on success it does not return.
    unsafe { libc::fexecve(file.as_raw_fd(), words.as_ptr(), environment.as_ptr()) };
    tell("execute", Err(crate::system::last_error()));
}

/// What a careless reader does: maps a file, and reads on after somebody made it shorter.
pub(crate) fn map_and_shorten(path: &str) {
    crate::system::tell_apart("map", || {
        let failed = |error: io::Error| error.raw_os_error().unwrap_or(-1);
        let file = File::options().read(true).write(true).open(path).map_err(failed)?;
        // SAFETY: a new mapping of a file of ours; that reading it may end this process is what is to be shown.
        unsafe {
            let (protection, sharing) = (libc::PROT_READ, libc::MAP_SHARED);
            let memory = libc::mmap(std::ptr::null_mut(), MEGABYTE, protection, sharing, file.as_raw_fd(), 0);
            if memory == libc::MAP_FAILED {
                return Err(crate::system::last_error());
            }
            file.set_len(0).map_err(failed)?;
            Ok(std::ptr::read_volatile(memory.cast::<u8>()).into())
        }
    });
}

/// Takes space that no size tells of.
pub(crate) fn reserve(path: &str, megabytes: usize) {
    let reserved = File::create(path).map(|file| {
        let bytes = i64::try_from(megabytes * MEGABYTE).unwrap_or(i64::MAX);
        // SAFETY: plain numbers, and a descriptor of ours.
        let answer = unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, bytes) };
        if answer < 0 { Err(crate::system::last_error()) } else { Ok(0) }
    });
    tell("reserve", reserved.unwrap_or_else(|error| Err(error.raw_os_error().unwrap_or(-1))));
}
