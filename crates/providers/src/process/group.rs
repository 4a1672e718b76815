//! Ending all processes of one command (W32).
//!
//! A command is its own session and process group, so one signal reaches those that stayed. A child that called `setsid`
//! left the group; it is found again by the mark in its environment, by its session, or by its ancestry, in `/proc`, and
//! killed through a handle (`pidfd`) so that a reused process id is never hit. This is repeated until nothing is found.
//!
//! Best effort, against programs that are careless rather than hostile: one that clears its environment, leaves its
//! session and outlives its parent is not found. `local` is for trusted input; a box has a pid namespace for this.

use std::collections::{HashMap, HashSet};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::environment::RUN_MARK;

/// Rounds of looking and killing. A fork bomb is outrun in a few, since the killed do not fork.
const MAX_ROUNDS: u32 = 50;
/// How long a round waits for the killed to be gone.
const ROUND_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

#[derive(Debug, Clone)]
pub(super) struct Group {
    leader: Pid,
    mark: String,
    /// In clock ticks since boot: nothing older can be the command's.
    started: u64,
}

/// One line of the process table.
#[derive(Debug, Clone, Copy)]
struct ProcessTableEntry {
    parent: i32,
    group: i32,
    session: i32,
    started: u64,
    is_zombie: bool,
}

impl Group {
    pub(super) fn new(leader: Pid, mark: &str) -> Self {
        Self {
            leader,
            mark: format!("{RUN_MARK}={mark}"),
            started: read_process_entry(leader.as_raw_nonzero().get()).map_or(0, |seen| seen.started),
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        // Nobody left is fine.
        let _ = kill_process_group(self.leader, signal);
    }

    /// Kills until none is left. Blocks for some milliseconds; a process stuck in the kernel can take longer and is
    /// then given up, with an error in the log.
    pub(super) fn kill_all(&self) {
        for _ in 0..MAX_ROUNDS {
            let victims = self.strike();
            if victims.is_empty() {
                return;
            }
            for victim in &victims {
                let _ = poll(&mut [PollFd::new(victim, PollFlags::IN)], Some(&ROUND_WAIT));
            }
        }
        tracing::error!("processes of a command could not be killed");
    }

    /// Looks once and kills what it finds. Looking comes first: a dead parent tells nothing about its children.
    fn strike(&self) -> Vec<OwnedFd> {
        let victims = self.find();
        for victim in &victims {
            let _ = pidfd_send_signal(victim, Signal::KILL);
        }
        self.signal(Signal::KILL);
        victims
    }

    /// Kills on a thread that may block, and waits for it.
    pub(super) async fn kill_all_and_wait(&self) {
        let group = self.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || group.kill_all()).await {
            tracing::error!(%error, "the end of a command's processes was not awaited");
        }
    }

    /// Handles of the command's living processes.
    fn find(&self) -> Vec<OwnedFd> {
        let table = process_table(self.started);
        let leader = self.leader.as_raw_nonzero().get();
        let mut found: HashSet<i32> = table
            .iter()
            .filter(|(pid, seen)| {
                seen.group == leader || seen.session == leader || **pid == leader || self.is_marked(**pid)
            })
            .map(|(pid, _)| *pid)
            .collect();
        loop {
            let children: Vec<i32> = table
                .iter()
                .filter(|(pid, seen)| found.contains(&seen.parent) && !found.contains(pid))
                .map(|(pid, _)| *pid)
                .collect();
            if children.is_empty() {
                break;
            }
            found.extend(children);
        }
        found.into_iter().filter_map(|pid| open_same(pid, table.get(&pid)?)).collect()
    }

    fn is_marked(&self, pid: i32) -> bool {
        has_variable(pid, |variable| variable == self.mark.as_bytes())
    }
}

/// Kills what the commands of a dead Warren left running (W16): nobody else can, since it alone held their leashes.
/// Tells how many processes there were.
pub(crate) fn end_all_of(instance: &str) -> usize {
    let beginning = format!("{RUN_MARK}={instance}.");
    let mut ended = 0;
    for _ in 0..MAX_ROUNDS {
        let table = process_table(0);
        let marked =
            table.iter().filter(|(pid, _)| has_variable(**pid, |one| one.starts_with(beginning.as_bytes())));
        let victims: Vec<_> = marked.filter_map(|(pid, seen)| open_same(*pid, seen)).collect();
        if victims.is_empty() {
            return ended;
        }
        ended += victims.len();
        end(&victims);
    }
    tracing::error!("processes of an earlier Warren could not be killed");
    ended
}

/// Kills, and waits a while for them to be gone.
fn end(victims: &[OwnedFd]) {
    for victim in victims {
        let _ = pidfd_send_signal(victim, Signal::KILL);
    }
    for victim in victims {
        let _ = poll(&mut [PollFd::new(victim, PollFlags::IN)], Some(&ROUND_WAIT));
    }
}

fn has_variable(pid: i32, is_wanted: impl Fn(&[u8]) -> bool) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(is_wanted)
}

/// Kills a command's processes when it is dropped, unless it was let go: whoever stops waiting for a command ends it.
#[derive(Debug)]
pub(super) struct KillGroupOnDrop(Option<Group>);

impl KillGroupOnDrop {
    pub(super) const fn new(group: Group) -> Self {
        Self(Some(group))
    }

    pub(super) fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for KillGroupOnDrop {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            // Once at once, since the program may be ending; then thoroughly, on a thread that may block.
            group.strike();
            let searching =
                std::thread::Builder::new().name("warren-kill".into()).spawn(move || group.kill_all());
            if let Err(error) = searching {
                tracing::error!(%error, "no thread to look for a command's stray processes");
            }
        }
    }
}

/// The process, if it is still the one that was seen and alive.
fn open_same(pid: i32, seen: &ProcessTableEntry) -> Option<OwnedFd> {
    if seen.is_zombie {
        return None;
    }
    let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let now = read_process_entry(pid)?;
    (now.started == seen.started && !now.is_zombie).then_some(handle)
}

/// All processes that started at `since` or later.
fn process_table(since: u64) -> HashMap<i32, ProcessTableEntry> {
    let Ok(directory) = std::fs::read_dir("/proc") else {
        return HashMap::new();
    };
    directory
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, read_process_entry(pid)?)))
        .filter(|(_, seen)| seen.started >= since)
        .collect()
}

fn read_process_entry(pid: i32) -> Option<ProcessTableEntry> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state ppid pgrp session … starttime …`; the name may hold anything, also `)`.
fn parse_stat(stat: &str) -> Option<ProcessTableEntry> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    Some(ProcessTableEntry {
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // W32
    #[test]
    fn a_process_named_like_a_table_line_is_read_right() {
        let line = "42 (a) Z 1 1) S 7 42 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        let seen = parse_stat(line).unwrap();
        assert_eq!((seen.parent, seen.group, seen.session, seen.started), (7, 42, 40, 12345));
        assert!(!seen.is_zombie);
        assert!(parse_stat("42 (x").is_none() && parse_stat("42 (x) S 1").is_none());
    }
}
