//! A last filter that init puts on itself and so on every program of the box: no program types into a terminal that is
//! not its own (TIOCSTI, TIOCLINUX), and none makes system calls by another architecture's numbers.
//!
//! Boxes have a filter from outside that says the same. This one holds also where init is started without, or with a weaker
//! one: an operator's runtime may load another profile than ours.

#![expect(unsafe_code, reason = "a filter is handed to the kernel; the block says why it holds")]

use rustix::io::Errno;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Where `struct seccomp_data` has its parts.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const SECOND_ARGUMENT_LOW: u32 = 24;
/// Numbers from here on are x32's; no other architecture has any.
const FIRST_X32_CALL: u32 = 0x4000_0000;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;

const fn step(code: u32, if_true: u8, if_false: u8, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: if_true, jf: if_false, k: value }
}

const PROGRAM: [libc::sock_filter; 12] = [
    step(LOAD, 0, 0, ARCH),
    step(IF_EQUAL, 1, 0, ARCHITECTURE),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    step(LOAD, 0, 0, NUMBER),
    step(IF_AT_LEAST, 0, 1, FIRST_X32_CALL),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    step(IF_EQUAL, 0, 3, libc::SYS_ioctl as u32),
    step(LOAD, 0, 0, SECOND_ARGUMENT_LOW),
    step(IF_EQUAL, 2, 0, libc::TIOCSTI as u32),
    step(IF_EQUAL, 1, 0, TIOCLINUX),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
];
const TIOCLINUX: u32 = 0x541c;

/// For good, for this process and all that it starts. Needs "no new privileges".
pub(super) fn put_on() -> Result<(), Errno> {
    let mut program = PROGRAM;
    let filter = libc::sock_fprog { len: PROGRAM.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the program, whose length is given with it; both live until the call is over.
    let result = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, std::ptr::from_ref(&filter), 0, 0)
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}
