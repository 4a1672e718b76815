//! Calls by the doors of other architectures (sec/S08): their numbers mean something else, so that a filter which does
//! not look at the door is passed.

#![expect(unsafe_code, reason = "the doors are instructions")]

use crate::system::{call, tell_apart};

pub(crate) fn calls() {
    // getpid, by the number that it has there.
    #[cfg(target_arch = "x86_64")]
    tell_apart("int80", || {
        let answer: i64;
        // SAFETY: a call without arguments; the registers that the door may change are named.
        unsafe {
            std::arch::asm!(
                "int 0x80",
                inlateout("rax") 20_i64 => answer,
                lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
            );
        }
        if answer > 0 { Ok(answer) } else { Err(i32::try_from(-answer).unwrap_or(-1)) }
    });
    tell_apart("x32", || call(0x4000_0000 | 39, [0; 6]));
    tell_apart("x32_high", || call((1 << 32) | 0x4000_0000 | 39, [0; 6]));
}
