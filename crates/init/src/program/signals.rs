//! Signals: none interrupts init. They are blocked for good, and the two that matter are read from a descriptor.

#![expect(unsafe_code, reason = "signal sets have no safe interface; each block says why it holds")]

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::descriptors::own;

/// What a descriptor of signals told.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct SignalInfo {
    pub(super) child_changed: bool,
    /// `SIGTERM` from outside the box. Those inside could send one too; their process id gives them away.
    pub(super) asked_to_leave: bool,
}

/// Default dispositions for the children to inherit (the Rust runtime and the launcher ignore some), everything
/// blocked here, and a descriptor for `SIGCHLD` and `SIGTERM`.
pub(super) fn take_over() -> Result<OwnedFd, Errno> {
    /// `struct sigaction` as the kernel reads it; all zero is the default. The C library would refuse two numbers that
    /// it keeps for itself, and a launcher may have ignored them.
    const DEFAULT: [u64; 8] = [0; 8];
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: no handler is installed; the kernel reads less than is there, and refuses what cannot be set.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, DEFAULT.as_ptr(), std::ptr::null::<u64>(), 8);
        }
    }
    // SAFETY: the sets are plain memory, filled by the calls before they are read.
    let number = unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        let mut read = std::mem::zeroed();
        libc::sigemptyset(&mut read);
        libc::sigaddset(&mut read, libc::SIGCHLD);
        libc::sigaddset(&mut read, libc::SIGTERM);
        libc::signalfd(-1, &read, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    own(number).ok_or(Errno::INVAL)
}

/// Reads what has come. One record of each kind at most is pending in the kernel.
pub(super) fn read(signals: &OwnedFd, is_process_1: bool) -> SignalInfo {
    const RECORD: usize = size_of::<libc::signalfd_siginfo>();
    const SENDER: usize = std::mem::offset_of!(libc::signalfd_siginfo, ssi_pid);
    const CODE: usize = std::mem::offset_of!(libc::signalfd_siginfo, ssi_code);
    let mut told = SignalInfo::default();
    let mut buffer = [0; RECORD * 2];
    while let Ok(count @ RECORD..) = rustix::io::read(signals, &mut buffer[..]) {
        for record in buffer[..count].chunks_exact(RECORD) {
            let number = |at: usize| record[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
            if number(0) == libc::SIGTERM.cast_unsigned() {
                // A sender inside may write any id into what it queues, but cannot pretend to have used `kill`.
                let is_from_outside = number(SENDER) == 0 && number(CODE) == libc::SI_USER.cast_unsigned();
                told.asked_to_leave |= !is_process_1 || is_from_outside;
            } else {
                told.child_changed = true;
            }
        }
        if count < buffer.len() {
            break;
        }
    }
    told
}
