//! Which steps a session's model is shown: spans of steps, of this session or of one it was branched from (A70).
//!
//! ```text
//!   a          1 2 3 4 5 6            [a 1–6]
//!   branch b of a at step 4           [a 1–4]          then its own: [a 1–4] [b 5–7]
//!   a goes back to step 2             [a 1–2]          then new ones: [a 1–2] [a 7–8]; 3–6 stay, unseen
//! ```

use serde::{Deserialize, Serialize};

use crate::SessionId;

/// Steps that follow one another in one session, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSpan {
    pub session: SessionId,
    pub first: u32,
    pub last: u32,
}

/// Spans in the order in which a model is shown them. Numbers of steps only grow along it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lineage(Vec<StepSpan>);

impl Lineage {
    pub fn spans(&self) -> &[StepSpan] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of the last step; 0 where there is none.
    pub fn last(&self) -> u32 {
        self.0.last().map_or(0, |span| span.last)
    }

    /// How many steps there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|span| span.last - span.first + 1).sum()
    }

    pub fn contains(&self, step: u32) -> bool {
        self.0.iter().any(|span| (span.first..=span.last).contains(&step))
    }

    /// The session in which a step of this lineage was taken.
    pub fn session_of(&self, step: u32) -> Option<SessionId> {
        self.0.iter().find(|span| (span.first..=span.last).contains(&step)).map(|span| span.session)
    }

    /// Adds a closed step. Its number must be greater than any before.
    pub fn push(&mut self, session: SessionId, step: u32) {
        debug_assert!(step > self.last(), "numbers of steps grow");
        match self.0.last_mut() {
            Some(span) if span.session == session && span.last + 1 == step => span.last = step,
            _ => self.0.push(StepSpan { session, first: step, last: step }),
        }
    }

    /// The lineage up to this step; nothing if the step is not part of it. Step 0 is the beginning.
    #[must_use]
    pub fn up_to(&self, step: u32) -> Option<Self> {
        if step == 0 {
            return Some(Self::default());
        }
        if !self.contains(step) {
            return None;
        }
        let kept = self.0.iter().filter(|span| span.first <= step);
        Some(Self(kept.map(|span| StepSpan { last: span.last.min(step), ..*span }).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A70
    #[test]
    fn a_way_back_and_a_branch_share_the_steps_before() {
        let (a, b) = (SessionId::from_bytes([1; 16]), SessionId::from_bytes([2; 16]));
        let mut own = Lineage::default();
        (1..=6).for_each(|step| own.push(a, step));
        assert_eq!(own.spans(), [StepSpan { session: a, first: 1, last: 6 }]);
        let mut back = own.up_to(2).unwrap();
        back.push(a, 7);
        assert_eq!((back.len(), back.last()), (3, 7));
        assert_eq!(back.up_to(5), None, "a step that was left behind is no place to go back to");
        let mut branch = own.up_to(4).unwrap();
        branch.push(b, 5);
        assert_eq!(branch.session_of(4), Some(a));
        assert_eq!(branch.session_of(5), Some(b));
        assert_eq!(own.up_to(0), Some(Lineage::default()));
        assert_eq!(own.up_to(7), None);
    }
}
