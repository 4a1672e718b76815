//! What a search has found so far, shared by the threads that search and the one that answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use warren_workspace::fs::{GrepMatch, GrepResult};

/// All text of one answer; beyond it the answer is truncated, however small each line is.
const MAX_ANSWER_BYTES: u64 = 8 << 20;
const MAX_SKIPPED: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Findings {
    found: Mutex<GrepResult>,
    matches: AtomicU64,
    answer_bytes: AtomicU64,
    is_over: AtomicBool,
    max_matches: u64,
}

impl Findings {
    pub(crate) fn new(max_matches: u32) -> Self {
        Self {
            found: Mutex::default(),
            matches: AtomicU64::new(0),
            answer_bytes: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            max_matches: u64::from(max_matches),
        }
    }

    /// Whether there is room for one more match; where there is not, the search is over.
    pub(super) fn claim_match(&self) -> bool {
        let has_room = self.matches.fetch_add(1, Ordering::Relaxed) < self.max_matches;
        if !has_room {
            self.truncate();
        }
        has_room
    }

    pub(super) fn return_matches(&self, count: usize) {
        self.matches.fetch_sub(count as u64, Ordering::Relaxed);
    }

    pub(super) fn claim_text(&self, bytes: usize) {
        if self.answer_bytes.fetch_add(bytes as u64, Ordering::Relaxed) > MAX_ANSWER_BYTES {
            self.truncate();
        }
    }

    /// Ends the search; what was found stands.
    pub(crate) fn truncate(&self) {
        self.lock().truncated = true;
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn add_file(&self, mut matches: Vec<GrepMatch>) {
        let mut found = self.lock();
        found.files_searched += 1;
        found.matches.append(&mut matches);
    }

    pub(crate) fn skip(&self, path: String) {
        let mut found = self.lock();
        if found.skipped.len() < MAX_SKIPPED {
            found.skipped.push(path);
        } else {
            found.truncated = true;
        }
    }

    /// The answer, in order. Ends the search for whoever is still at it.
    pub(crate) fn take(&self) -> GrepResult {
        self.is_over.store(true, Ordering::Relaxed);
        let mut result = std::mem::take(&mut *self.lock());
        result.matches.sort_by(|a, b| (&a.path, a.line_number).cmp(&(&b.path, b.line_number)));
        result.skipped.sort();
        result
    }

    fn lock(&self) -> MutexGuard<'_, GrepResult> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
