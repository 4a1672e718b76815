//! Whom the kernel ends first when the box's memory runs out: programs, before process 1 (sec/S15).
//!
//! A process's score can only be changed through `/proc`, and a child that borrows our memory counts as us there: as
//! untraceable, its own file is out of its reach. But children inherit the score. So init has its own file open from before
//! it became untraceable, and raises itself for the moment of a clone.
//!
//! A program may lower its score again, to what init has. Then the kernel picks by size, as it does without all this.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

const FILE: &str = "/proc/self/oom_score_adj";
/// As if a program held half of the memory besides what it holds.
const OF_PROGRAMS: i32 = 500;
const HIGHEST: i32 = 1_000;

#[derive(Debug)]
pub(super) struct OutOfMemoryScore {
    file: OwnedFd,
    own: String,
    of_programs: String,
}

impl OutOfMemoryScore {
    /// Absent in a box without `/proc`. Must be called while init can still be traced.
    pub(super) fn open() -> Option<Self> {
        let own: i32 = std::fs::read_to_string(FILE).ok()?.trim().parse().ok()?;
        let file = rustix::fs::open(FILE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let of_programs = own.saturating_add(OF_PROGRAMS).min(HIGHEST);
        Some(Self { file, own: own.to_string(), of_programs: of_programs.to_string() })
    }

    /// Until it is lowered, what is cloned has the score of programs.
    pub(super) fn raise(&self) {
        self.set(&self.of_programs);
    }

    pub(super) fn lower(&self) {
        self.set(&self.own);
    }

    /// A kernel that refuses leaves things as they are without it.
    fn set(&self, score: &str) {
        let _ = rustix::io::pwrite(&self.file, score.as_bytes(), 0);
    }
}
