//! The jobs that init knows, by slot.
//!
//! A slot is what the kernel's events name. It is free again when its job is forgotten.

use std::collections::BTreeMap;

use super::job::{Job, Stage};
use super::limits::{MAX_ENDED, MAX_ENDED_BYTES, MAX_PROCESSES, MAX_RUNS};

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
        self.jobs().filter(|job| job.background().is_none()).count() < MAX_RUNS
    }

    pub(super) fn has_room_for_process(&self) -> bool {
        let running = self.jobs().filter(|job| job.background().is_some() && job.stage != Stage::Ended);
        running.count() < MAX_PROCESSES
    }

    /// Forgets the processes that ended first when there are too many, or they keep too much.
    pub(super) fn forget_oldest(&mut self) {
        let mut ended: Vec<(u32, usize, usize)> = self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, job)| Some((slot, job.as_ref()?)))
            .filter(|(_, job)| job.stage == Stage::Ended)
            .filter_map(|(slot, job)| {
                job.background().map(|background| (background.process, slot, background.output.len()))
            })
            .collect();
        ended.sort_unstable();
        let mut bytes: usize = ended.iter().map(|(.., bytes)| bytes).sum();
        let mut count = ended.len();
        for (_, slot, kept) in ended {
            if count <= MAX_ENDED && bytes <= MAX_ENDED_BYTES {
                return;
            }
            self.remove(slot);
            count -= 1;
            bytes -= kept;
        }
    }
}
