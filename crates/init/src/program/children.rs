//! What comes back to init (W32).
//!
//! ```text
//!   init ─┬─ program A (subreaper) ── its children, and theirs that were orphaned
//!         └─ program B (subreaper) ── …
//! ```
//!
//! While a program lives, its orphans become its own children, not ours (see `launch`). So every child of init that is
//! not a program it started is what an ended program left, or what a hostile one pushed away: it is killed, and so are
//! those that its death brings up, until none is left. The kernel moves a dead process's children before it tells of
//! the death, so one look after a program was reaped sees all there is.
//!
//! A program that forks away faster than it can be found is ended by killing everything in the box: only process 1 of
//! a pid namespace can do that, and no fork escapes it.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait};

use super::limits::{KILL_PATIENCE, MAX_SWEEPS, SWEEP_PATIENCE};

#[derive(Debug)]
pub(super) struct Children {
    /// The kernel's list of our children; absent in a box without `/proc`.
    list: Option<OwnedFd>,
    is_process_1: bool,
    /// Strays that were killed, and when: those that do not go are stuck in the kernel.
    killed: BTreeMap<i32, Instant>,
    sweeps: u32,
    since: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sweep {
    /// Nothing is left that is not a living program of ours.
    Clean,
    /// Some were killed and are not gone yet.
    Busy,
}

impl Children {
    pub(super) fn new(is_process_1: bool) -> Self {
        let path = format!("/proc/self/task/{}/children", rustix::thread::gettid().as_raw_nonzero());
        let list = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        Self { list, is_process_1, killed: BTreeMap::new(), sweeps: 0, since: None }
    }

    /// One child that has ended.
    pub(super) fn reap(&mut self) -> Option<(Pid, WaitStatus)> {
        let (pid, status) = wait(WaitOptions::NOHANG).ok().flatten()?;
        self.killed.remove(&pid.as_raw_nonzero().get());
        Some((pid, status))
    }

    /// Looks at our children once, and kills those that are no program of ours.
    pub(super) fn sweep(&mut self, is_program: impl Fn(i32) -> bool, now: Instant) -> Sweep {
        let strays: Vec<i32> = self.pids().into_iter().filter(|pid| !is_program(*pid)).collect();
        let fresh: Vec<i32> = strays.iter().copied().filter(|pid| !self.killed.contains_key(pid)).collect();
        for stray in &fresh {
            self.killed.insert(*stray, now);
            kill_with_group(*stray, &is_program);
        }
        let is_busy = strays.iter().any(|pid| self.is_dying(*pid, now));
        let since = *self.since.get_or_insert(now);
        if !is_busy || now.duration_since(since) > SWEEP_PATIENCE {
            (self.sweeps, self.since) = (0, None);
            return Sweep::Clean;
        }
        self.sweeps += u32::from(!fresh.is_empty());
        if self.sweeps > MAX_SWEEPS {
            self.kill_everything();
        }
        Sweep::Busy
    }

    /// Whether it is worth waiting for one that was killed. After a while only if it needs nothing but its turn.
    fn is_dying(&self, stray: i32, now: Instant) -> bool {
        let is_recent = |at: &Instant| now.duration_since(*at) < KILL_PATIENCE;
        // `D` is stuck in the kernel, and a `Z` that is not reaped is kept by a tracer.
        self.killed.get(&stray).is_some_and(is_recent) || !matches!(state_of(stray), None | Some('D' | 'Z'))
    }

    /// As process 1: every process of the box. Else there is no such thing.
    pub(super) fn kill_everything(&self) {
        if self.is_process_1 {
            kill_all_but_self();
        }
    }

    /// Living and dead children, as many as fit; the rest is there at the next look.
    fn pids(&self) -> Vec<i32> {
        let Some(list) = &self.list else {
            return pids_by_walking();
        };
        let mut buffer = [0; 4096];
        let Ok(count) = rustix::io::pread(list, &mut buffer[..], 0) else {
            return pids_by_walking();
        };
        numbers(&buffer[..count])
    }
}

/// Numbers that are followed by a space: the last one may be cut off.
fn numbers(text: &[u8]) -> Vec<i32> {
    let whole = text.iter().rposition(|byte| *byte == b' ').map_or(&[][..], |end| &text[..end]);
    whole
        .split(|byte| *byte == b' ')
        .filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok())
        .collect()
}

/// For kernels without that list: every process whose parent we are.
fn pids_by_walking() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| parent_of(*pid) == Some(own))
        .collect()
}

fn parent_of(pid: i32) -> Option<i32> {
    stat_fields(pid)?.split(' ').nth(1)?.parse().ok()
}

fn state_of(pid: i32) -> Option<char> {
    stat_fields(pid)?.chars().next()
}

/// `state ppid …` of `pid (name) state ppid …`; the name may hold anything, also `)`.
fn stat_fields(pid: i32) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.windows(2).rposition(|pair| pair == b") ")?;
    std::str::from_utf8(&stat[end + 2..]).ok().map(str::to_owned)
}

/// A group goes at once: nobody in it can fork away meanwhile. It is a child of ours, so neither number is reused.
fn kill_with_group(stray: i32, is_program: &impl Fn(i32) -> bool) {
    let Some(pid) = Pid::from_raw(stray) else { return };
    let group = group_of(stray);
    if let Some(group_pid) = Pid::from_raw(group)
        && group != group_of(0)
        && !is_program(group)
    {
        let _ = kill_process_group(group_pid, Signal::KILL);
    }
    let _ = kill_process(pid, Signal::KILL);
}

/// The safe interface takes it that every group has a number; one from outside the namespace (our own, often) has 0.
#[expect(unsafe_code, reason = "the safe interface cannot say that there is no number")]
fn group_of(pid: i32) -> i32 {
    // SAFETY: a bare system call on numbers.
    unsafe { libc::getpgid(pid) }.max(0)
}

#[expect(unsafe_code, reason = "there is no safe name for `all processes`")]
fn kill_all_but_self() {
    // SAFETY: a bare system call; to process 1 of a pid namespace, -1 is everyone else in it.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

#[cfg(test)]
mod tests {
    use super::*;

    // W32
    #[test]
    fn a_list_of_children_that_was_cut_off_names_no_wrong_process() {
        assert_eq!(numbers(b"12 345 6"), [12, 345]);
        assert_eq!(numbers(b"12 345 67 "), [12, 345, 67]);
        assert!(numbers(b"123").is_empty() && numbers(b"").is_empty());
    }
}
