//! Signals as a program expects to find them when it starts.
//!
//! A disposition "ignore" and a mask pass through exec, and few programs look. Whoever was started by a script with `&`
//! has `SIGINT` and `SIGQUIT` ignored; handed on, an interrupt key would do nothing in any terminal.

#![expect(
    unsafe_code,
    reason = "dispositions and masks have no safe interface; each block says why it holds"
)]

use std::io;

/// The kernel has no more; the C library's own `SIGRTMAX` is the same and may not be asked after a fork.
const LAST_SIGNAL: libc::c_int = if cfg!(target_os = "linux") { 64 } else { 31 };

/// Every disposition the default and nothing blocked. For the child between fork and exec: it makes system calls that are
/// safe there, allocates nothing and takes no lock.
pub fn reset_signals() -> io::Result<()> {
    for signal in 1..=LAST_SIGNAL {
        set_default(signal);
    }
    // SAFETY: the set is plain memory, filled before it is read.
    let result = unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The two that cannot be set are refused, which changes nothing.
#[cfg(target_os = "linux")]
fn set_default(signal: libc::c_int) {
    /// `struct sigaction` as the kernel reads it; all zero is the default. The C library would refuse two numbers that it
    /// keeps for itself, and whoever started us may have ignored them.
    const DEFAULT: [u64; 8] = [0; 8];
    // SAFETY: no handler is installed, and the kernel reads less than is there.
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, DEFAULT.as_ptr(), std::ptr::null::<u64>(), 8);
    }
}

#[cfg(not(target_os = "linux"))]
fn set_default(signal: libc::c_int) {
    // SAFETY: no handler is installed.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}
