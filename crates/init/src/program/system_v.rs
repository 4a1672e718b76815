//! System V shared memory, semaphores and message queues: unlike everything else that a program makes besides files, they
//! outlive it. In a box of its own nobody could use them again but by guessing, while they take its memory; so they are
//! removed when the last program has ended.

#![expect(unsafe_code, reason = "there is no safe interface to these system calls")]

use libc::{c_int, c_long};

/// Room for the largest structure that any of the calls fills.
type KernelStruct = [u64; 64];

/// One of the three kinds of things.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// How many there are, and the highest place in the kernel's table that is taken.
    info: fn(&mut KernelStruct) -> c_long,
    /// The number of what is at a place.
    number_at: fn(c_int, &mut KernelStruct) -> c_long,
    remove: fn(c_int) -> c_long,
    /// Which of the numbers (of 32 bits) in the answer says how many there are.
    count_at: usize,
}

const IPC_RMID: c_int = 0;
const SHM_STAT: c_int = 13;
const SHM_INFO: c_int = 14;
const MSG_STAT: c_int = 11;
const MSG_INFO: c_int = 12;
const SEM_STAT: c_int = 18;
const SEM_INFO: c_int = 19;
const NOTHING: usize = 0;

// SAFETY, of all of them: the kernel writes one structure to the answer, which is longer than any of these structures,
// and otherwise takes numbers only.
const KINDS: [Kind; 3] = [
    Kind {
        info: |answer| unsafe { libc::syscall(libc::SYS_shmctl, 0, SHM_INFO, answer) },
        number_at: |place, answer| unsafe { libc::syscall(libc::SYS_shmctl, place, SHM_STAT, answer) },
        remove: |number| unsafe { libc::syscall(libc::SYS_shmctl, number, IPC_RMID, NOTHING) },
        count_at: 0,
    },
    Kind {
        info: |answer| unsafe { libc::syscall(libc::SYS_msgctl, 0, MSG_INFO, answer) },
        number_at: |place, answer| unsafe { libc::syscall(libc::SYS_msgctl, place, MSG_STAT, answer) },
        remove: |number| unsafe { libc::syscall(libc::SYS_msgctl, number, IPC_RMID, NOTHING) },
        count_at: 0,
    },
    Kind {
        info: |answer| unsafe { libc::syscall(libc::SYS_semctl, 0, 0, SEM_INFO, answer) },
        number_at: |place, answer| unsafe { libc::syscall(libc::SYS_semctl, place, 0, SEM_STAT, answer) },
        remove: |number| unsafe { libc::syscall(libc::SYS_semctl, number, 0, IPC_RMID, NOTHING) },
        count_at: 7,
    },
];

/// Only where this namespace is the box's own, and no program lives.
pub(super) fn remove_all() {
    for kind in KINDS {
        let mut answer: KernelStruct = [0; 64];
        let highest = (kind.info)(&mut answer);
        // Two to a word, the first in its lower half: all systems that this is built for are little-endian.
        let word = answer[kind.count_at / 2] >> (32 * (kind.count_at % 2));
        let is_none = word as u32 == 0;
        // A kernel that does not have them has none. Without any, the highest place is 0 all the same.
        if highest < 0 || is_none {
            continue;
        }
        for place in 0..=c_int::try_from(highest).unwrap_or(c_int::MAX) {
            let number = (kind.number_at)(place, &mut answer);
            if let Ok(number @ 0..) = c_int::try_from(number) {
                (kind.remove)(number);
            }
        }
    }
}
