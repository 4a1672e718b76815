//! Which of several Warrens on one database has a workspace's box (O10).
//!
//! A box lives on one machine. Who has it is a row that names a *replica*, and every replica keeps a lease of its own:
//!
//! ```text
//!   no row ──claim──▶ A's ──A claims again──▶ A's
//!                      │
//!                      └─ A's lease ran out ──B claims──▶ B's, one epoch later
//! ```
//!
//! While A's lease stands, nobody else opens, restarts or ends the box. A replica is a data folder, not a process: one
//! that starts again on the same folder goes on at once.

use warren_model::Timestamp;

/// How long a replica is believed to live without a word.
pub const LEASE_MS: i64 = 30_000;
/// How often it gives one.
pub const RENEW_MS: u64 = 10_000;

/// Who has a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub replica: String,
    /// Grows with each new holder.
    pub epoch: u64,
}

/// What a replica may do about a workspace's box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has it.
    Mine,
    /// Nobody has it, or whoever had it is gone.
    Free,
    /// Another replica has it, and lives.
    Elsewhere,
}

/// `lives_until` is the end of the holder's lease, if it keeps one.
pub fn standing(holder: Option<&Holder>, lives_until: Option<Timestamp>, me: &str, now: Timestamp) -> Standing {
    match holder {
        None => Standing::Free,
        Some(holder) if holder.replica == me => Standing::Mine,
        Some(_) if lives_until.is_some_and(|until| until > now) => Standing::Elsewhere,
        Some(_) => Standing::Free,
    }
}

/// The name of the lease by which a replica shows that it lives.
pub fn lease_name(replica: &str) -> String {
    format!("replica/{replica}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn holder(replica: &str) -> Holder {
        Holder { replica: replica.to_owned(), epoch: 1 }
    }

    // O10
    #[test]
    fn a_box_is_left_to_whoever_has_it_while_they_live() {
        let theirs = holder("a");
        assert_eq!(standing(None, None, "b", NOW), Standing::Free);
        assert_eq!(standing(Some(&theirs), Some(NOW.plus_ms(1)), "b", NOW), Standing::Elsewhere);
        assert_eq!(standing(Some(&theirs), Some(NOW), "b", NOW), Standing::Free);
        assert_eq!(standing(Some(&theirs), None, "b", NOW), Standing::Free, "it gave its lease back");
        assert_eq!(standing(Some(&theirs), Some(NOW), "a", NOW), Standing::Mine, "a start on the same folder");
    }

    proptest! {
        // O10
        #[test]
        fn of_two_replicas_never_both_may(left_ms in -60_000..60_000_i64) {
            let until = Some(NOW.plus_ms(left_ms));
            let (a, b) = (standing(Some(&holder("a")), until, "a", NOW), standing(Some(&holder("a")), until, "b", NOW));
            prop_assert_eq!(a, Standing::Mine);
            prop_assert_eq!(b == Standing::Elsewhere, left_ms > 0);
        }
    }
}
