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

use warren_model::{Status, Timestamp, Workspace};

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
    /// There is no other.
    Alone,
    /// It has it.
    Mine,
    /// Nobody has it, or whoever had it is gone.
    Free,
    /// Another replica has it, and lives.
    Elsewhere,
}

/// `lives_until` is the end of the holder's lease, if it keeps one.
pub fn standing(
    holder: Option<&Holder>,
    lives_until: Option<Timestamp>,
    me: &str,
    now: Timestamp,
) -> Standing {
    match holder {
        None => Standing::Free,
        Some(holder) if holder.replica == me => Standing::Mine,
        Some(_) if lives_until.is_some_and(|until| until > now) => Standing::Elsewhere,
        Some(_) => Standing::Free,
    }
}

/// Whether a replica goes on with what was asked of another: where the box is its own, so is the work. What could not be
/// stopped is tried again by its own clock, and one that is alone was asked itself.
pub fn takes_up(row: &Workspace, standing: Standing) -> bool {
    let is_unfinished = match row.status {
        Status::Provisioning | Status::Paused | Status::Hibernated => true,
        Status::Removed => row.mending.attempts == 0,
        // By turns, as `secrets::roll_out` says; and one that failed waits to be reset.
        Status::AwaitingAgent | Status::Online | Status::Degraded | Status::Offline | Status::Failed => false,
    };
    is_unfinished && standing == Standing::Mine
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
        assert_eq!(
            standing(Some(&theirs), Some(NOW), "a", NOW),
            Standing::Mine,
            "a start on the same folder"
        );
    }

    // O10
    #[test]
    fn only_the_one_that_has_the_box_goes_on_with_what_was_asked_of_another() {
        let provider = warren_model::ProviderConfig::Memory(warren_model::MemoryConfig::default());
        let row = |status, attempts| Workspace {
            id: warren_model::WorkspaceId::from_parts(NOW, [1; 10]),
            org_id: warren_model::OrgId::DEFAULT,
            parent_id: None,
            name: "a".parse().unwrap(),
            spec: warren_model::WorkspaceSpec::new(provider.clone(), warren_model::CapabilitySet::EMPTY),
            generation: 2,
            observed_generation: 1,
            secrets_since: None,
            version: 1,
            status,
            reason: None,
            reference: None,
            created_at: NOW,
            updated_at: NOW,
            provisioning_started_at: None,
            provision_deadline: None,
            mending: warren_model::Mending { attempts, next_at: None },
            removed_at: None,
            is_purged: false,
        };
        for standing in [Standing::Alone, Standing::Mine, Standing::Free, Standing::Elsewhere] {
            let is_mine = standing == Standing::Mine;
            assert_eq!(takes_up(&row(Status::Paused, 0), standing), is_mine);
            assert_eq!(takes_up(&row(Status::Provisioning, 3), standing), is_mine);
            assert_eq!(takes_up(&row(Status::Removed, 0), standing), is_mine);
            assert!(!takes_up(&row(Status::Removed, 1), standing), "it is tried again by its own clock");
            assert!(!takes_up(&row(Status::Online, 0), standing), "it takes its turn");
        }
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
