//! The rate limit of the refusal log (W62): what is written, and when.
//!
//! Per kind: the first refusal is written in full at once and opens a window of 60 s. Further ones are counted and
//! written as one roll-up per 5 s, so that full lines and counts together add up to what happened, exactly. When
//! the window is over, the next refusal of that kind is again written in full.
//!
//! The number of kinds is bounded. When the table is full of kinds whose window still runs, a further new kind is
//! counted in one common overflow kind, with the same rhythm and the same exact counts; only its own first line is
//! lost among the others of that kind.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalPlan {
    pub window_ms: u64,
    pub rollup_ms: u64,
    pub max_kinds: usize,
}

impl Default for RefusalPlan {
    fn default() -> Self {
        Self { window_ms: 60_000, rollup_ms: 5_000, max_kinds: 1_000 }
    }
}

/// The kind under which a refusal is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bucket<K> {
    Kind(K),
    /// All kinds that found the table full.
    Overflow,
}

/// What to write now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<K> {
    /// This refusal, in full.
    Full { bucket: Bucket<K> },
    /// So many more since the last line of this bucket.
    RollUp { bucket: Bucket<K>, count: u64 },
}

#[derive(Debug, Clone, Copy)]
struct Window {
    ends_at_ms: u64,
    rollup_at_ms: u64,
    pending: u64,
}

/// The machine. Times are milliseconds of any clock that does not go back.
#[derive(Debug, Clone)]
pub struct Refusals<K> {
    plan: RefusalPlan,
    windows: BTreeMap<Bucket<K>, Window>,
}

impl<K: Ord + Clone> Refusals<K> {
    pub const fn new(plan: RefusalPlan) -> Self {
        Self { plan, windows: BTreeMap::new() }
    }

    /// Takes note of a refusal. At most two lines: the roll-up of a window that is over, and a full line.
    pub fn note(&mut self, kind: K, now_ms: u64) -> Vec<Line<K>> {
        let bucket = self.bucket_of(kind, now_ms);
        let mut lines = Vec::new();
        match self.windows.get_mut(&bucket) {
            Some(window) if now_ms < window.ends_at_ms => {
                window.pending += 1;
                lines.extend(due_roll_up(&bucket, window, now_ms, self.plan.rollup_ms));
            }
            Some(window) => {
                lines.extend(take_roll_up(&bucket, window));
                *window = self.plan.new_window(now_ms);
                lines.push(Line::Full { bucket });
            }
            None => {
                self.windows.insert(bucket.clone(), self.plan.new_window(now_ms));
                lines.push(Line::Full { bucket });
            }
        }
        lines
    }

    /// Writes the roll-ups that are due and forgets kinds whose window is over.
    pub fn tick(&mut self, now_ms: u64) -> Vec<Line<K>> {
        let rollup_ms = self.plan.rollup_ms;
        let mut lines = Vec::new();
        self.windows.retain(|bucket, window| {
            lines.extend(due_roll_up(bucket, window, now_ms, rollup_ms));
            window.pending > 0 || now_ms < window.ends_at_ms
        });
        lines
    }

    /// Writes everything that is still counted, due or not: for a shutdown.
    pub fn flush(&mut self) -> Vec<Line<K>> {
        let windows = self.windows.iter_mut();
        windows.filter_map(|(bucket, window)| take_roll_up(bucket, window)).collect()
    }

    /// When `tick` has a roll-up to write, if nothing else happens.
    pub fn next_due_ms(&self) -> Option<u64> {
        let waiting = self.windows.values().filter(|window| window.pending > 0);
        waiting.map(|window| window.rollup_at_ms).min()
    }

    fn bucket_of(&mut self, kind: K, now_ms: u64) -> Bucket<K> {
        let bucket = Bucket::Kind(kind);
        if self.windows.contains_key(&bucket) || self.windows.len() < self.plan.max_kinds {
            return bucket;
        }
        self.windows.retain(|_, window| window.pending > 0 || now_ms < window.ends_at_ms);
        if self.windows.len() < self.plan.max_kinds { bucket } else { Bucket::Overflow }
    }
}

impl RefusalPlan {
    const fn new_window(&self, now_ms: u64) -> Window {
        Window {
            ends_at_ms: now_ms.saturating_add(self.window_ms),
            rollup_at_ms: now_ms.saturating_add(self.rollup_ms),
            pending: 0,
        }
    }
}

fn due_roll_up<K: Clone>(
    bucket: &Bucket<K>,
    window: &mut Window,
    now_ms: u64,
    every_ms: u64,
) -> Option<Line<K>> {
    if now_ms < window.rollup_at_ms {
        return None;
    }
    window.rollup_at_ms = now_ms.saturating_add(every_ms);
    take_roll_up(bucket, window)
}

fn take_roll_up<K: Clone>(bucket: &Bucket<K>, window: &mut Window) -> Option<Line<K>> {
    let count = std::mem::take(&mut window.pending);
    (count > 0).then(|| Line::RollUp { bucket: bucket.clone(), count })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted<K>(lines: &[Line<K>]) -> u64 {
        let counts = lines.iter().map(|line| match line {
            Line::Full { .. } => 1,
            Line::RollUp { count, .. } => *count,
        });
        counts.sum()
    }

    // W62, O2 incident 9
    #[test]
    fn ten_thousand_refusals_in_ten_seconds_give_one_line_and_at_most_three_roll_ups() {
        let mut refusals = Refusals::new(RefusalPlan::default());
        let mut lines: Vec<Line<&str>> = Vec::new();
        for at in 0..10_000 {
            lines.extend(refusals.note("metacharacter", at));
        }
        for at in [15_000, 20_000, 60_000] {
            lines.extend(refusals.tick(at));
        }
        let full = lines.iter().filter(|line| matches!(line, Line::Full { .. })).count();
        assert_eq!(full, 1);
        assert!(lines.len() - full <= 3, "{lines:?}");
        assert_eq!(counted(&lines), 10_000);
    }

    // W62
    #[test]
    fn a_new_kind_passes_at_once_in_the_middle_of_a_flood() {
        let mut refusals = Refusals::new(RefusalPlan::default());
        for at in 0..1_000 {
            refusals.note("metacharacter", at);
        }
        let lines = refusals.note("program", 1_000);
        assert_eq!(lines, vec![Line::Full { bucket: Bucket::Kind("program") }]);
    }

    // W62
    #[test]
    fn after_its_window_a_kind_is_written_in_full_again() {
        let mut refusals = Refusals::new(RefusalPlan::default());
        refusals.note("kind", 0);
        assert!(refusals.note("kind", 1_000).is_empty());
        let lines = refusals.note("kind", 60_000);
        assert_eq!(lines.len(), 2);
        assert_eq!(counted(&lines), 2);
        assert!(matches!(lines[1], Line::Full { .. }));
    }

    // W62
    #[test]
    fn past_the_bound_new_kinds_share_one_bucket_and_stay_counted() {
        let plan = RefusalPlan { max_kinds: 3, ..RefusalPlan::default() };
        let mut refusals = Refusals::new(plan);
        let mut lines: Vec<Line<u32>> = (0..100).flat_map(|kind| refusals.note(kind, 0)).collect();
        assert!(refusals.windows.len() <= 4);
        lines.extend(refusals.flush());
        assert_eq!(counted(&lines), 100);
        let overflow = lines.iter().filter(|line| matches!(line, Line::Full { bucket: Bucket::Overflow }));
        assert_eq!(overflow.count(), 1);
        // Windows that are over make room.
        let later = refusals.note(7_000, 60_000);
        assert!(matches!(later[0], Line::Full { bucket: Bucket::Kind(7_000) }));
    }

    /// The lines of one kind: when, and how many refusals each stands for; a full line is told by `true`.
    type Told = BTreeMap<u8, Vec<(u64, bool, u64)>>;

    fn tell(told: &mut Told, lines: Vec<Line<u8>>, now: u64) {
        for line in lines {
            let (bucket, entry) = match line {
                Line::Full { bucket } => (bucket, (now, true, 1)),
                Line::RollUp { bucket, count } => (bucket, (now, false, count)),
            };
            let Bucket::Kind(kind) = bucket else { panic!("the table is large enough") };
            told.entry(kind).or_default().push(entry);
        }
    }

    proptest! {
        // W62, O2 incident 9: kind by kind, with a timer that comes when it is due.
        #[test]
        fn each_kind_is_told_in_full_once_a_window_and_counted_exactly_within_five_seconds(
            steps in proptest::collection::vec((0_u8..3, 0_u64..7_000), 1..300),
        ) {
            let plan = RefusalPlan::default();
            let mut refusals = Refusals::new(plan);
            let (mut now, mut told, mut noted) = (0, Told::new(), BTreeMap::<u8, Vec<u64>>::new());
            for (kind, gap) in steps {
                let until = now + gap;
                while let Some(due) = refusals.next_due_ms().filter(|due| *due <= until) {
                    now = due.max(now);
                    tell(&mut told, refusals.tick(now), now);
                }
                now = until;
                let is_new = !noted.contains_key(&kind);
                noted.entry(kind).or_default().push(now);
                let lines = refusals.note(kind, now);
                prop_assert!(!is_new || lines == [Line::Full { bucket: Bucket::Kind(kind) }], "a new kind passes at once");
                tell(&mut told, lines, now);
            }
            while let Some(due) = refusals.next_due_ms() {
                now = due.max(now);
                tell(&mut told, refusals.tick(now), now);
            }
            for (kind, times) in noted {
                let lines = &told[&kind];
                prop_assert_eq!(lines.iter().map(|(_, _, count)| count).sum::<u64>(), times.len() as u64);
                // In the order of the lines, each refusal is told at once or with the next roll-up.
                let mut waiting = times.into_iter();
                for (at, _, count) in lines {
                    for noted_at in waiting.by_ref().take(usize::try_from(*count).unwrap()) {
                        prop_assert!(noted_at <= *at && at - noted_at <= plan.rollup_ms, "{noted_at} told at {at}");
                    }
                }
                let full: Vec<u64> = lines.iter().filter(|line| line.1).map(|line| line.0).collect();
                prop_assert!(full.windows(2).all(|pair| pair[1] - pair[0] >= plan.window_ms), "{full:?}");
                let roll_ups: Vec<u64> = lines.iter().filter(|line| !line.1).map(|line| line.0).collect();
                for opened in full {
                    let within = roll_ups.iter().filter(|at| (opened..opened + plan.window_ms).contains(*at));
                    prop_assert!(within.count() <= 12, "one per 5 s");
                }
            }
        }

        // W62
        #[test]
        fn lines_and_counts_always_add_up_and_keep_their_distance(
            steps in proptest::collection::vec((0_u8..6, 0_u64..9_000, any::<bool>()), 1..200),
        ) {
            let plan = RefusalPlan { max_kinds: 4, ..RefusalPlan::default() };
            let mut refusals = Refusals::new(plan);
            let (mut now, mut noted, mut lines) = (0, 0, Vec::new());
            let mut last_roll_up = BTreeMap::new();
            for (kind, gap, is_tick) in steps {
                now += gap;
                let new = if is_tick { refusals.tick(now) } else { refusals.note(kind, now) };
                noted += u64::from(!is_tick);
                let starts_window = new.iter().any(|line| matches!(line, Line::Full { .. }));
                for line in &new {
                    if let Line::RollUp { bucket, count } = line {
                        prop_assert!(*count > 0);
                        let last = last_roll_up.insert(bucket.clone(), now);
                        prop_assert!(starts_window || last.is_none_or(|last| now - last >= plan.rollup_ms));
                    }
                }
                lines.extend(new);
                prop_assert!(refusals.windows.len() <= plan.max_kinds + 1);
            }
            lines.extend(refusals.flush());
            prop_assert_eq!(counted(&lines), noted);
        }
    }
}
