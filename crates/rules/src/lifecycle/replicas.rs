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
//!
//! A replica has a role. One that only serves clients has no box and no lease; what nobody has, it leaves to the worker
//! that [`choose_worker`] names, which is the same one at every replica.

use warren_model::{Status, Timestamp, Workspace, WorkspaceId};

/// How long a replica is believed to live without a word.
pub const LEASE_MS: i64 = 30_000;
/// How often it gives one.
pub const RENEW_MS: u64 = 10_000;

/// How long a replica is remembered that was not heard of.
pub const FORGET_MS: i64 = 7 * 24 * 3_600 * 1_000;

/// What a replica does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Serves clients. Opens no boxes and does nothing in the background.
    Api,
    /// Opens boxes and does what goes on in the background. Serves what other replicas pass on, and no clients.
    Worker,
    /// Both.
    #[default]
    All,
}

impl Role {
    pub const fn opens_boxes(self) -> bool {
        match self {
            Self::Worker | Self::All => true,
            Self::Api => false,
        }
    }

    pub const fn serves_clients(self) -> bool {
        match self {
            Self::Api | Self::All => true,
            Self::Worker => false,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Worker => "worker",
            Self::All => "all",
        }
    }
}

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

/// As a replica of this role stands to a box: one that opens none leaves them all to others.
pub fn standing_in_role(role: Role, standing: Standing) -> Standing {
    match standing {
        Standing::Mine | Standing::Free if !role.opens_boxes() => Standing::Elsewhere,
        Standing::Alone | Standing::Mine | Standing::Free | Standing::Elsewhere => standing,
    }
}

/// The worker that is to open a box that nobody has: the one with the highest weight for this workspace, so that all who
/// know the same workers choose the same one, and a worker that comes or goes moves no other's boxes.
pub fn choose_worker<'a>(id: WorkspaceId, workers: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let key = id.to_string();
    workers.into_iter().max_by_key(|name| (weight(&key, name), *name))
}

/// FNV-1a over both, mixed at the end so that names that differ in their last letter weigh differently.
fn weight(key: &str, name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in key.bytes().chain([0]).chain(name.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
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

    // O10
    #[test]
    fn a_replica_that_only_serves_leaves_every_box_to_others() {
        for standing in [Standing::Mine, Standing::Free, Standing::Elsewhere] {
            assert_eq!(standing_in_role(Role::Api, standing), Standing::Elsewhere);
            assert_eq!(standing_in_role(Role::Worker, standing), standing);
            assert_eq!(standing_in_role(Role::All, standing), standing);
        }
        assert_eq!(standing_in_role(Role::Api, Standing::Alone), Standing::Alone, "there is no other");
    }

    // O10
    #[test]
    fn everybody_chooses_the_same_worker_and_the_work_is_spread() {
        let workers = ["a", "b", "c"];
        let mut boxes = [0; 3];
        for number in 0..3_000_u16 {
            let [high, low] = number.to_be_bytes();
            let id = WorkspaceId::from_parts(NOW, [high, low, 0, 0, 0, 0, 0, 0, 0, 0]);
            let chosen = choose_worker(id, workers).unwrap();
            assert_eq!(choose_worker(id, ["c", "a", "b"]), Some(chosen), "in whatever order they are read");
            boxes[workers.iter().position(|name| *name == chosen).unwrap()] += 1;
            let others = workers.into_iter().filter(|name| *name != "c");
            if chosen != "c" {
                assert_eq!(choose_worker(id, others), Some(chosen), "one that goes moves no other's boxes");
            }
        }
        assert!(boxes.iter().all(|count| (800..1_200).contains(count)), "{boxes:?}");
        let id = WorkspaceId::from_parts(NOW, [0; 10]);
        assert_eq!(choose_worker(id, []), None);
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
