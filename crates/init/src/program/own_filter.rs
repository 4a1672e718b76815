//! A last filter that init puts on itself and so on every program of the box: no program types into a terminal that is
//! not its own (TIOCSTI, TIOCLINUX), none makes system calls by another architecture's numbers, none changes how large a
//! core file may be, and none makes rules of Landlock.
//!
//! Boxes have a filter from outside that says the first two as well. This one holds also where init is started without, or
//! with a weaker one: an operator's runtime may load another profile than ours.
//!
//! **Core files**: a host may have them piped to a program of its own (`|` in `kernel.core_pattern`), which then runs outside
//! of the box as root with whatever the crashed program wrote into its memory. A limit of 0 does not keep the kernel
//! from that; only the value 1 does, which a program could lower. It is told that it did: those who ask want no core file,
//! and have none.

//!
//! **Landlock**: a rule holds the file that it is about, also after that was deleted, and nobody can see which. So a program
//! could keep a disk full of files that count nowhere. Programs are told that Landlock is switched off, which is what they
//! are prepared for; what init itself has set up by then holds.

#![expect(unsafe_code, reason = "a filter is handed to the kernel; the block says why it holds")]

use rustix::io::Errno;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Where `struct seccomp_data` has its parts; of arguments the low half, which is all that the kernel reads of numbers.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const SECOND_ARGUMENT: u32 = 24;
const THIRD_ARGUMENT: u32 = 32;
const THIRD_ARGUMENT_HIGH: u32 = 36;
/// Numbers from here on are x32's; no other architecture has any.
const FIRST_X32_CALL: u32 = 0x4000_0000;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;

const fn step(code: u32, if_true: u8, if_false: u8, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: if_true, jf: if_false, k: value }
}

/// Jumps count the steps that they leave out.
const PROGRAM: [libc::sock_filter; 29] = [
    step(LOAD, 0, 0, ARCH),
    step(IF_EQUAL, 1, 0, ARCHITECTURE),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    step(LOAD, 0, 0, NUMBER),
    step(IF_AT_LEAST, 0, 1, FIRST_X32_CALL),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    step(IF_EQUAL, 4, 0, libc::SYS_ioctl as u32),
    step(IF_EQUAL, 7, 0, libc::SYS_setrlimit as u32),
    step(IF_EQUAL, 9, 0, libc::SYS_prlimit64 as u32),
    step(IF_EQUAL, 18, 0, libc::SYS_landlock_create_ruleset as u32),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    // ioctl(_, request, …)
    step(LOAD, 0, 0, SECOND_ARGUMENT),
    step(IF_EQUAL, 14, 0, libc::TIOCSTI as u32),
    step(IF_EQUAL, 13, 0, TIOCLINUX),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    // setrlimit(resource, _)
    step(LOAD, 0, 0, FIRST_ARGUMENT),
    step(IF_EQUAL, 9, 0, libc::RLIMIT_CORE),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    // prlimit64(_, resource, new, _); without a new one it only asks.
    step(LOAD, 0, 0, SECOND_ARGUMENT),
    step(IF_EQUAL, 1, 0, libc::RLIMIT_CORE),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    step(LOAD, 0, 0, THIRD_ARGUMENT),
    step(IF_EQUAL, 0, 3, 0),
    step(LOAD, 0, 0, THIRD_ARGUMENT_HIGH),
    step(IF_EQUAL, 0, 1, 0),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    step(ANSWER, 0, 0, DONE_WITHOUT_DOING),
    step(ANSWER, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
    step(ANSWER, 0, 0, SWITCHED_OFF),
];
/// The call is left out, and its caller told that it succeeded.
const DONE_WITHOUT_DOING: u32 = libc::SECCOMP_RET_ERRNO;
/// What a kernel answers in which Landlock is not switched on.
const SWITCHED_OFF: u32 = libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP as u32;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the filter answers, by going through it as the kernel does.
    fn verdict(number: i64, arguments: [u64; 3]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let step = PROGRAM[at];
            at += 1;
            match u32::from(step.code) {
                LOAD => {
                    value = match step.k {
                        NUMBER => number as u32,
                        ARCH => ARCHITECTURE,
                        offset => {
                            let argument = arguments[(offset as usize - 16) / 8];
                            (if offset % 8 == 0 { argument } else { argument >> 32 }) as u32
                        }
                    };
                }
                ANSWER => return step.k,
                code => {
                    let holds = if code == IF_EQUAL { value == step.k } else { value >= step.k };
                    at += usize::from(if holds { step.jt } else { step.jf });
                }
            }
        }
    }

    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
    const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    const HIGH_BIT: u64 = 1 << 40;

    // sec/B14
    #[test]
    fn the_size_of_core_files_is_asked_for_and_never_set() {
        let core = u64::from(libc::RLIMIT_CORE);
        let files = u64::from(libc::RLIMIT_NOFILE);
        for (number, arguments, expected) in [
            (libc::SYS_setrlimit, [core, 0x1000, 0], DONE_WITHOUT_DOING),
            (libc::SYS_setrlimit, [core | HIGH_BIT, 0x1000, 0], DONE_WITHOUT_DOING),
            (libc::SYS_setrlimit, [files, 0x1000, 0], ALLOWED),
            (libc::SYS_prlimit64, [0, core, 0x1000], DONE_WITHOUT_DOING),
            (libc::SYS_prlimit64, [0, core | HIGH_BIT, 0x1000], DONE_WITHOUT_DOING),
            (libc::SYS_prlimit64, [0, core, HIGH_BIT], DONE_WITHOUT_DOING),
            (libc::SYS_prlimit64, [0, core, 0], ALLOWED),
            (libc::SYS_prlimit64, [0, files, 0x1000], ALLOWED),
            (libc::SYS_getrlimit, [core, 0x1000, 0], ALLOWED),
        ] {
            assert_eq!(verdict(number, arguments), expected, "{number} {arguments:x?}");
        }
    }

    // sec/S16
    #[test]
    fn programs_are_told_that_landlock_is_switched_off() {
        assert_eq!(verdict(libc::SYS_landlock_create_ruleset, [0x1000, 16, 0]), SWITCHED_OFF);
        assert_eq!(
            verdict(libc::SYS_landlock_create_ruleset, [0, 0, 1]),
            SWITCHED_OFF,
            "asking for the version too"
        );
        assert_eq!(
            verdict(libc::SYS_landlock_restrict_self, [3, 0, 0]),
            ALLOWED,
            "without rules there is nothing to do"
        );
    }

    // sec/S07, sec/S08
    #[test]
    fn terminals_are_not_typed_into_and_other_numbers_end_the_process() {
        for (number, arguments, expected) in [
            (libc::SYS_ioctl, [0, u64::from(TIOCLINUX), 0], REFUSED),
            (libc::SYS_ioctl, [0, libc::TIOCSTI | HIGH_BIT, 0], REFUSED),
            (libc::SYS_ioctl, [0, 0x5401, 0], ALLOWED),
            (libc::SYS_read, [0, 0x5412, 0], ALLOWED),
            (i64::from(FIRST_X32_CALL) + 1, [0, 0, 0], libc::SECCOMP_RET_KILL_PROCESS),
        ] {
            assert_eq!(verdict(number, arguments), expected, "{number:x} {arguments:x?}");
        }
    }
}
