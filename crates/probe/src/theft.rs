//! What another process of the same user has: its open descriptors, its memory, its variables (sec/B15).
//!
//! It waits for processes that come, since the moment at which one has begun and not yet hidden is the one to be there.

#![expect(unsafe_code, reason = "processes are opened and ended by bare calls")]
#![expect(clippy::print_stdout, reason = "a probe answers on its standard output")]

use std::collections::HashSet;
use std::ffi::CString;
use std::time::{Duration, Instant};

use libc::{c_int, c_long};

use crate::system::call;

/// How long a process that was just found is tried, over and over.
const TRYING: Duration = Duration::from_millis(60);

/// How often each way led to something, over all processes of that name.
#[derive(Default)]
struct Taken {
    seen: usize,
    input: usize,
    output: usize,
    memory: usize,
    variables: usize,
    handed: usize,
}

/// Tries every process that is there or comes, and tells what was had of those whose program is named so. With `ends`, each is
/// killed afterwards, so that whoever starts it starts another.
pub(crate) fn steal(name: &str, milliseconds: usize, ends: bool) {
    let until = Instant::now() + Duration::from_millis(milliseconds as u64);
    let (mut known, mut all) = (HashSet::from([1, std::process::id()]), Taken::default());
    while Instant::now() < until {
        for process in processes() {
            if known.insert(process) {
                take(process, name, ends, &mut all);
            }
        }
    }
    println!("seen {}\ninput {}\noutput {}", all.seen, all.input, all.output);
    println!("memory {}\nvariables {}\nhanded {}", all.memory, all.variables, all.handed);
}

fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn take(process: u32, name: &str, ends: bool, all: &mut Taken) {
    let path = |file: &str| CString::new(format!("/proc/{process}/{file}")).unwrap_or_default();
    let (input, output, memory) = (path("fd/0"), path("fd/1"), path("mem"));
    let mut had = Taken::default();
    let began = Instant::now();
    while began.elapsed() < TRYING {
        had.input += usize::from(opens(&input, libc::O_RDONLY));
        had.output += usize::from(opens(&output, libc::O_WRONLY));
        had.memory += usize::from(opens(&memory, libc::O_RDWR));
        had.variables += usize::from(std::fs::read(format!("/proc/{process}/environ")).is_ok());
        had.handed += usize::from(is_handed(process));
    }
    if !is_named(process, name) {
        return;
    }
    all.seen += 1;
    all.input += had.input;
    all.output += had.output;
    all.memory += had.memory;
    all.variables += had.variables;
    all.handed += had.handed;
    if ends {
        // SAFETY: a signal to a number.
        unsafe { libc::kill(c_int::try_from(process).unwrap_or(c_int::MAX), libc::SIGKILL) };
    }
}

/// Without waiting for whoever is at the other end.
fn opens(path: &CString, how: c_int) -> bool {
    // SAFETY: a path that ends with NUL; what is opened is closed at once.
    unsafe {
        let opened = libc::open(path.as_ptr(), how | libc::O_NONBLOCK | libc::O_CLOEXEC);
        opened >= 0 && libc::close(opened) == 0
    }
}

/// Whether the kernel hands over its output.
fn is_handed(process: u32) -> bool {
    let Ok(handle) = call(libc::SYS_pidfd_open, [c_long::from(process), 0, 0, 0, 0, 0]) else { return false };
    let handed = call(libc::SYS_pidfd_getfd, [handle, 1, 0, 0, 0, 0]);
    for descriptor in [Some(handle), handed.ok()].into_iter().flatten() {
        let _ = call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0]);
    }
    handed.is_ok()
}

/// By the first word that it was started with.
fn is_named(process: u32, name: &str) -> bool {
    let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let first = words.split(|byte| *byte == 0).next().unwrap_or_default();
    first.rsplit(|byte| *byte == b'/').next() == Some(name.as_bytes())
}
