//! The audit log of refusals, rate-limited (W62). What is written and when is decided by `warren_rules::boxes::refusals`;
//! this keeps the time and hands the lines to a sink.
//!
//! Kinds are counted per workspace, so that one that floods does not hide another's first refusal. A timer runs only
//! while a roll-up is owed. Dropping the last handle writes what is owed.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use warren_model::{RefusalKind, WorkspaceId};
use warren_rules::boxes::command_policy::CommandRefusal;
use warren_rules::boxes::refusals::{Bucket, Line, RefusalPlan, Refusals};

/// Where refusals are written: the log, or an audit table.
pub trait RefusalSink: Send + Sync + std::fmt::Debug {
    fn write(&self, record: &RefusalRecord<'_>);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalRecord<'a> {
    /// One refusal in full.
    Full { workspace_id: WorkspaceId, tool: &'a str, refusal: &'a CommandRefusal },
    /// So many more of one kind since its last record. Without a subject: of kinds that found the table full.
    RollUp { subject: Option<(WorkspaceId, RefusalKind)>, count: u64 },
}

/// A cloneable handle.
#[derive(Debug, Clone)]
pub struct RefusalLog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sink: Arc<dyn RefusalSink>,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    refusals: Refusals<(WorkspaceId, RefusalKind)>,
    has_timer: bool,
}

impl RefusalLog {
    pub fn new(sink: Arc<dyn RefusalSink>) -> Self {
        let refusals = Refusals::new(RefusalPlan::default());
        Self(Arc::new(Inner {
            sink,
            started: Instant::now(),
            state: Mutex::new(State { refusals, has_timer: false }),
        }))
    }

    /// Takes note of a refusal. Must be called within a tokio runtime, for the timer.
    pub fn record(&self, workspace_id: WorkspaceId, tool: &str, refusal: &CommandRefusal) {
        let inner = &self.0;
        let (lines, needs_timer) = {
            let mut state = inner.lock();
            let lines = state.refusals.note((workspace_id, refusal.kind), inner.now_ms());
            let needs_timer = !state.has_timer && state.refusals.next_due_ms().is_some();
            state.has_timer |= needs_timer;
            (lines, needs_timer)
        };
        for line in lines {
            match line {
                Line::Full { .. } => inner.sink.write(&RefusalRecord::Full { workspace_id, tool, refusal }),
                Line::RollUp { bucket, count } => inner.roll_up(&bucket, count),
            }
        }
        if needs_timer {
            tokio::spawn(write_roll_ups(Arc::downgrade(inner)));
        }
    }
}

/// Sleeps until a roll-up is due, writes it, and ends when none is owed any more.
async fn write_roll_ups(log: Weak<Inner>) {
    loop {
        let wait = {
            let Some(inner) = log.upgrade() else { return };
            let mut state = inner.lock();
            let Some(due_ms) = state.refusals.next_due_ms() else {
                state.has_timer = false;
                return;
            };
            Duration::from_millis(due_ms.saturating_sub(inner.now_ms()))
        };
        tokio::time::sleep(wait).await;
        let Some(inner) = log.upgrade() else { return };
        let lines = inner.lock().refusals.tick(inner.now_ms());
        inner.write_roll_ups(lines);
    }
}

impl Inner {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn write_roll_ups(&self, lines: Vec<Line<(WorkspaceId, RefusalKind)>>) {
        for line in lines {
            match line {
                Line::RollUp { bucket, count } => self.roll_up(&bucket, count),
                Line::Full { .. } => debug_assert!(false, "a full line needs its refusal"),
            }
        }
    }

    fn roll_up(&self, bucket: &Bucket<(WorkspaceId, RefusalKind)>, count: u64) {
        let subject = match bucket {
            Bucket::Kind(subject) => Some(*subject),
            Bucket::Overflow => None,
        };
        self.sink.write(&RefusalRecord::RollUp { subject, count });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let lines = self.lock().refusals.flush();
        self.write_roll_ups(lines);
    }
}

/// Writes to the log. Sentences name programs and characters, never whole commands.
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingRefusals;

impl RefusalSink for TracingRefusals {
    fn write(&self, record: &RefusalRecord<'_>) {
        match record {
            RefusalRecord::Full { workspace_id, tool, refusal } => {
                tracing::warn!(event = "workspace.tool.refused", workspace.id = %workspace_id, tool,
                    kind = refusal.kind.as_str(), sentence = refusal.sentence, "a tool call was refused");
            }
            RefusalRecord::RollUp { subject: Some((workspace_id, kind)), count } => {
                tracing::warn!(event = "workspace.tool.refused_again", workspace.id = %workspace_id,
                    kind = kind.as_str(), count, "more tool calls were refused for the same reason");
            }
            RefusalRecord::RollUp { subject: None, count } => {
                tracing::warn!(
                    event = "workspace.tool.refused_again",
                    count,
                    "more tool calls were refused, for many reasons"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Written(Mutex<Vec<(bool, u64)>>);

    impl RefusalSink for Written {
        fn write(&self, record: &RefusalRecord<'_>) {
            let line = match record {
                RefusalRecord::Full { .. } => (true, 1),
                RefusalRecord::RollUp { count, .. } => (false, *count),
            };
            self.0.lock().unwrap().push(line);
        }
    }

    impl Written {
        fn counts(&self) -> (usize, usize, u64) {
            let lines = self.0.lock().unwrap();
            let full = lines.iter().filter(|(is_full, _)| *is_full).count();
            (full, lines.len() - full, lines.iter().map(|(_, count)| count).sum())
        }
    }

    fn refusal(kind: RefusalKind) -> CommandRefusal {
        CommandRefusal { kind, sentence: "no".into(), allowed: "nothing".into() }
    }

    fn id(number: u8) -> WorkspaceId {
        WorkspaceId::from_bytes([number; 16])
    }

    // W62, O2 incident 9
    #[tokio::test(start_paused = true)]
    async fn a_flood_gives_one_line_and_at_most_three_roll_ups_that_add_up() {
        let written = Arc::new(Written::default());
        let log = RefusalLog::new(Arc::clone(&written) as Arc<dyn RefusalSink>);
        for _ in 0..10_000 {
            log.record(id(1), "workspace_run", &refusal(RefusalKind::Metacharacter));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_secs(20)).await;
        let (full, roll_ups, sum) = written.counts();
        assert_eq!((full, sum), (1, 10_000));
        assert!(roll_ups <= 3, "{roll_ups} roll-ups");
    }

    // W62
    #[tokio::test(start_paused = true)]
    async fn a_new_kind_and_another_workspace_pass_at_once() {
        let written = Arc::new(Written::default());
        let log = RefusalLog::new(Arc::clone(&written) as Arc<dyn RefusalSink>);
        for _ in 0..100 {
            log.record(id(1), "workspace_run", &refusal(RefusalKind::Metacharacter));
        }
        log.record(id(1), "workspace_run", &refusal(RefusalKind::ProgramNotAllowed));
        log.record(id(2), "workspace_run", &refusal(RefusalKind::Metacharacter));
        assert_eq!(written.counts(), (3, 0, 3));
    }

    // W62
    #[tokio::test(start_paused = true)]
    async fn dropping_the_log_writes_what_is_owed() {
        let written = Arc::new(Written::default());
        let log = RefusalLog::new(Arc::clone(&written) as Arc<dyn RefusalSink>);
        for _ in 0..5 {
            log.record(id(1), "workspace_run", &refusal(RefusalKind::Mode));
        }
        drop(log);
        assert_eq!(written.counts(), (1, 1, 5));
    }
}
