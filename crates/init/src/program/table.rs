//! The jobs that init knows, by slot.
//!
//! A slot is what the kernel's events name. It is free again when its job is forgotten.

use std::collections::BTreeMap;
use std::time::Instant;

use super::job::{Job, Stage};
use super::kept::Kept;
use super::limits::{MAX_ENDED, MAX_ENDED_BYTES, MAX_KEPT_BYTES, MAX_KEPT_RUNS, MAX_PROCESSES, MAX_RUNS};

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Option<Job>>,
    /// Slots of living leaders.
    leaders: BTreeMap<i32, usize>,
    last_process: u32,
}

impl Table {
    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Job> {
        self.slots.get_mut(slot)?.as_mut()
    }

    pub(super) fn insert(&mut self, job: Job) -> usize {
        let slot = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.leaders.insert(job.leader.as_raw_nonzero().get(), slot);
        self.slots[slot] = Some(job);
        slot
    }

    pub(super) fn remove(&mut self, slot: usize) {
        if let Some(job) = self.slots.get_mut(slot).and_then(Option::take) {
            self.forget_leader(job.leader.as_raw_nonzero().get());
        }
    }

    /// The slot of the job that this process led. It leads none any more.
    pub(super) fn forget_leader(&mut self, pid: i32) -> Option<usize> {
        self.leaders.remove(&pid)
    }

    pub(super) fn is_leader(&self, pid: i32) -> bool {
        self.leaders.contains_key(&pid)
    }

    /// Whether no program lives.
    pub(super) fn has_no_leader(&self) -> bool {
        self.leaders.is_empty()
    }

    pub(super) fn slots(&self) -> std::ops::Range<usize> {
        0..self.slots.len()
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.slots.iter().flatten()
    }

    pub(super) fn find(&self, wanted: impl Fn(&Job) -> bool) -> Option<usize> {
        self.slots.iter().position(|slot| slot.as_ref().is_some_and(&wanted))
    }

    pub(super) fn process(&self, process: u32) -> Option<usize> {
        self.find(|job| job.background().is_some_and(|background| background.process == process))
    }

    /// The number that the next process gets.
    pub(super) fn next_process(&mut self) -> u32 {
        self.last_process = self.last_process.wrapping_add(1).max(1);
        self.last_process
    }

    pub(super) fn has_room_for_run(&self) -> bool {
        let running = self.jobs().filter(|job| job.background().is_none() && job.stage != Stage::Ended);
        running.count() < MAX_RUNS
    }

    pub(super) fn has_room_for_process(&self) -> bool {
        let running = self.jobs().filter(|job| job.background().is_some() && job.stage != Stage::Ended);
        running.count() < MAX_PROCESSES
    }

    /// Forgets the processes, and the commands with a key, that ended first when there are too many of them, or they keep
    /// too much.
    pub(super) fn forget_oldest(&mut self) {
        let of_process = |job: &Job| job.background().map(|background| background.output.len());
        self.forget_ended(of_process, MAX_ENDED, MAX_ENDED_BYTES);
        let of_run = |job: &Job| job.kept().filter(|_| !job.is_awaited()).map(Kept::len);
        self.forget_ended(of_run, MAX_KEPT_RUNS, MAX_KEPT_BYTES);
    }

    /// Of those that ended and of which something is kept.
    fn forget_ended(&mut self, kept: impl Fn(&Job) -> Option<usize>, most: usize, most_bytes: usize) {
        let jobs = self.slots.iter().enumerate().filter_map(|(slot, job)| Some((slot, job.as_ref()?)));
        let mut ended: Vec<(Instant, usize, usize)> =
            jobs.filter_map(|(slot, job)| Some((job.ended_at()?, slot, kept(job)?))).collect();
        ended.sort_unstable();
        let mut bytes: usize = ended.iter().map(|(.., bytes)| bytes).sum();
        let mut count = ended.len();
        for (_, slot, kept) in ended {
            if count <= most && bytes <= most_bytes {
                return;
            }
            self.remove(slot);
            count -= 1;
            bytes -= kept;
        }
    }
}
