//! What one who follows a task makes of a look at its row (X4).
//!
//! Hints come fast and tell everything, in order; the row tells only where things stand. It is looked at because hints
//! may have been missed, and must not take the place of those that were not.

/// A row as it was read, and what its follower knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub version: u64,
    pub has_ended: bool,
    /// The newest version of which something was told.
    pub told: u64,
    /// Whether hints wait to be told.
    pub are_hints_waiting: bool,
}

/// What follows from a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLook {
    /// The row tells nothing new.
    Nothing,
    /// What changed is told as the row has it.
    Tell,
    /// Hints that came meanwhile are told first; then it is looked at again.
    HintsFirst,
}

pub const fn after_look(look: Look) -> AfterLook {
    if look.are_hints_waiting {
        return AfterLook::HintsFirst;
    }
    // An end is told even if a piece of the same version was: its own hint may be the one that was missed.
    if look.version > look.told || look.has_ended { AfterLook::Tell } else { AfterLook::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { version: 3, has_ended: false, told: 2, are_hints_waiting: false };

    // X1: all streams of a task hear the same
    #[test]
    fn a_row_never_takes_the_place_of_hints_that_wait() {
        for has_ended in [false, true] {
            for told in 0..5 {
                let look = Look { are_hints_waiting: true, has_ended, told, ..LOOK };
                assert_eq!(after_look(look), AfterLook::HintsFirst, "{look:?}");
            }
        }
    }

    #[test]
    fn what_was_missed_is_told_once_and_an_end_always() {
        assert_eq!(after_look(LOOK), AfterLook::Tell);
        assert_eq!(after_look(Look { told: 3, ..LOOK }), AfterLook::Nothing);
        assert_eq!(after_look(Look { told: 3, has_ended: true, ..LOOK }), AfterLook::Tell);
    }
}
