//! What each sweep does about a workspace whose deadline has passed (F20).
//!
//! The database finds what is due; the row may have moved on since, so that each plan looks at row, record and time
//! again and does nothing about a workspace that is well. Effects are data; the fleet carries them out.

use warren_model::{Desired, Status, Timestamp, Vitals, Workspace};

use crate::lifecycle::reconcile::{is_mended, next_mending};
use crate::lifecycle::vitals::is_stalled;
use crate::lifecycle::{Signal, is_booting};

macro_rules! sweeps {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, every $seconds:literal;)*) => {
        /// The sweeps, each with a name and an interval.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Sweep { $($(#[doc = $doc])+ $variant),* }

        impl Sweep {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// A sentence for people.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+)),* }
            }

            pub const fn interval_ms(self) -> u64 {
                match self { $(Self::$variant => $seconds * 1_000),* }
            }
        }
    };
}

sweeps! {
    /// Takes runtimes offline that fell silent.
    Liveness = "liveness", every 5;
    /// Finds work in flight that shows no progress.
    Stalls = "stalls", every 5;
    /// Asks runtimes that were found stalled whether they are there.
    Probes = "probes", every 5;
    /// Looks whether open boxes are still there, used or not.
    Health = "health", every 30;
    /// Gives up on workspaces that were not ready in time.
    Provisioning = "provisioning", every 5;
    /// Tries again what is to be tried again: restarts after silence, removals, changes whose carrier died.
    Mending = "mending", every 5;
    /// Brings up, a few at a time, what runs with something older than is wanted, such as a secret that was changed.
    CatchingUp = "catching_up", every 5;
    /// Puts workspaces to sleep that had no task for as long as their spec says.
    Hibernation = "hibernation", every 30;
    /// Fetches images anew and makes boxes anew that were made from older ones. By itself only where `fleet.watch_images` is set.
    Images = "images", every 300;
    /// Ends boxes and deletes folders that belong to no workspace.
    Orphans = "orphans", every 60;
    /// Clears away events and ended tokens that are older than they are kept.
    Retention = "retention", every 600;
}

impl Sweep {
    /// Whether a start does not wait for the first interval: a process before this one may have left something behind.
    pub const fn runs_at_start(self) -> bool {
        match self {
            Self::Orphans => true,
            Self::Liveness
            | Self::Stalls
            | Self::Probes
            | Self::Health
            | Self::CatchingUp
            | Self::Images
            | Self::Provisioning
            | Self::Mending
            | Self::Hibernation
            | Self::Retention => false,
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|sweep| sweep.as_str() == name)
    }
}

/// What a sweep decides about one workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing: somebody was faster.
    Leave,
    /// Send the signal through the table.
    Signal(Signal),
    /// Bring it up anew, as a further try.
    Restart,
    /// Write what is desired and send the signal towards it.
    SetDesired(Desired),
    /// Have the reconciler look at it now, and note when to look again should that one die.
    Reconcile { look_again_at: Timestamp },
    /// Find out whether the runtime is there, and note when to ask again should the one who asks die.
    Probe { ask_again_at: Timestamp },
    /// The deadline means nothing any more.
    ClearDeadline,
}

/// How long things are kept (F42), in days. Absent: for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub events_days: Option<u32>,
    /// Tokens after they ended.
    pub ended_tokens_days: Option<u32>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { events_days: Some(90), ended_tokens_days: Some(30) }
    }
}

/// The moment before which something that is kept for so many days is cleared away.
pub fn cleared_before(days: Option<u32>, now: Timestamp) -> Option<Timestamp> {
    const DAY_MS: i64 = 24 * 3_600 * 1_000;
    days.map(|days| now.plus_ms(-DAY_MS * i64::from(days)))
}

/// How long a replica may be at one sweep without a word before another takes over (F22).
pub const LEASE_MS: i64 = 30_000;

/// The lease on a sweep as it stands in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub fence: u64,
    pub expires_at: Timestamp,
}

/// What a run does about its lease before each batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// It lasts.
    Keep,
    /// It is near its end, or past it with nobody else having come.
    Renew { until: Timestamp },
    /// Somebody else had it since: the run ends here, and what it planned is theirs.
    Stop,
}

/// `fence` is the one under which the run began; `standing` is absent when nobody has the lease.
pub fn hold(fence: u64, standing: Option<Standing>, now: Timestamp) -> Hold {
    match standing {
        Some(standing) if standing.fence == fence => {
            if standing.expires_at.ms_since(now) > LEASE_MS / 2 {
                Hold::Keep
            } else {
                Hold::Renew { until: now.plus_ms(LEASE_MS) }
            }
        }
        Some(_) | None => Hold::Stop,
    }
}

/// How long a carrier has before somebody else may take its work up.
const CARRIER_MS: i64 = 60_000;

/// What a sweep does about a workspace. `Health`, `CatchingUp`, `Images`, `Orphans` and `Retention` are not about single workspaces.
fn plan(sweep: Sweep, row: &Workspace, vitals: &Vitals, now: Timestamp) -> Effect {
    match sweep {
        Sweep::Liveness => silent(row, vitals, now),
        Sweep::Stalls => stalled(row, vitals, now),
        Sweep::Provisioning => late(row, now),
        Sweep::Mending => to_be_mended(row, now),
        Sweep::Hibernation => idle(row, vitals, now),
        Sweep::Probes => to_be_probed(row, vitals, now),
        Sweep::Health | Sweep::CatchingUp | Sweep::Images | Sweep::Orphans | Sweep::Retention => {
            Effect::Leave
        }
    }
}

/// All that follows from an effect, ready to be written: whoever carries it out chooses nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    /// With what the sweep itself changes; what is signalled may change it further.
    pub row: Workspace,
    /// The runtime's record, if that changes too.
    pub vitals: Option<Vitals>,
    pub act: Act,
    /// Once all of it is written.
    pub then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Write what changed, and no more.
    Write,
    /// Send the signal through the table first.
    Signal(Signal),
    /// Write what is desired and send the signal towards it.
    SetDesired(Desired),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Nothing,
    /// Have the reconciler look at it.
    Reconcile,
    /// Find out whether its runtime is there.
    Probe,
}

/// What a sweep writes about a workspace; absent: nothing.
pub fn deed(sweep: Sweep, row: &Workspace, vitals: &Vitals, now: Timestamp) -> Option<Deed> {
    let (mut row, vitals) = (row.clone(), vitals.clone());
    let known = vitals.clone();
    let (vitals, act, then) = match plan(sweep, &row, &known, now) {
        Effect::Leave => return None,
        Effect::ClearDeadline => (clear_deadline(sweep, &mut row, vitals), Act::Write, Then::Nothing),
        // A stall is found once, and then looked into (F14). The next report says whether it goes on.
        Effect::Signal(Signal::StallFound) => {
            let looked_into = Vitals { stall_deadline: None, probe_at: Some(now), ..vitals };
            (looked_into, Act::Signal(Signal::StallFound), Then::Nothing)
        }
        Effect::Signal(signal) => (vitals, Act::Signal(signal), Then::Nothing),
        Effect::Restart => {
            row.raise_generation();
            row.mending.attempts = row.mending.attempts.saturating_add(1);
            (vitals, Act::Signal(Signal::Restart), Then::Reconcile)
        }
        Effect::SetDesired(desired) => (vitals, Act::SetDesired(desired), Then::Reconcile),
        Effect::Reconcile { look_again_at } => {
            row.mending.next_at = Some(look_again_at);
            (vitals, Act::Write, Then::Reconcile)
        }
        Effect::Probe { ask_again_at } => {
            (Vitals { probe_at: Some(ask_again_at), ..vitals }, Act::Write, Then::Probe)
        }
    };
    Some(Deed { row, vitals: (vitals != known).then_some(vitals), act, then })
}

/// A runtime that Warren can call is asked before it counts as silent, and one that is offline is asked from time to time:
/// it need not report to be alive (F16). Returns its record with the time to ask again should the one who asks die; absent:
/// nothing is due.
pub fn ask_first(row: &Workspace, vitals: &Vitals, now: Timestamp) -> Option<Vitals> {
    match row.status {
        _ if !is_past(vitals.liveness_deadline, now) => None,
        Status::Online | Status::Degraded | Status::Offline => {
            Some(Vitals { liveness_deadline: Some(now.plus_ms(CARRIER_MS)), ..vitals.clone() })
        }
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => None,
    }
}

/// Takes away the deadline that a sweep found to mean nothing any more, wherever it stands.
fn clear_deadline(sweep: Sweep, row: &mut Workspace, mut vitals: Vitals) -> Vitals {
    match sweep {
        Sweep::Liveness => vitals.liveness_deadline = None,
        Sweep::Stalls => vitals.stall_deadline = None,
        Sweep::Probes => vitals.probe_at = None,
        Sweep::Hibernation => vitals.idle_deadline = None,
        Sweep::Provisioning => row.provision_deadline = None,
        Sweep::Mending => row.mending.next_at = None,
        Sweep::Health | Sweep::CatchingUp | Sweep::Images | Sweep::Orphans | Sweep::Retention => {}
    }
    vitals
}

fn is_past(deadline: Option<Timestamp>, now: Timestamp) -> bool {
    deadline.is_some_and(|at| at <= now)
}

fn silent(row: &Workspace, vitals: &Vitals, now: Timestamp) -> Effect {
    match row.status {
        _ if !is_past(vitals.liveness_deadline, now) => Effect::Leave,
        Status::Online | Status::Degraded => Effect::Signal(Signal::LivenessExpired),
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Effect::ClearDeadline,
    }
}

fn stalled(row: &Workspace, vitals: &Vitals, now: Timestamp) -> Effect {
    match row.status {
        _ if !is_stalled(vitals, now) => Effect::Leave,
        Status::Online => Effect::Signal(Signal::StallFound),
        Status::Degraded
        | Status::Provisioning
        | Status::AwaitingAgent
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Effect::ClearDeadline,
    }
}

fn to_be_probed(row: &Workspace, vitals: &Vitals, now: Timestamp) -> Effect {
    match row.status {
        _ if !is_past(vitals.probe_at, now) => Effect::Leave,
        Status::Degraded => Effect::Probe { ask_again_at: now.plus_ms(CARRIER_MS) },
        Status::Online
        | Status::Provisioning
        | Status::AwaitingAgent
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Effect::ClearDeadline,
    }
}

fn late(row: &Workspace, now: Timestamp) -> Effect {
    match row.status {
        _ if !is_past(row.provision_deadline, now) => Effect::Leave,
        status if is_booting(status) => Effect::Signal(Signal::ProvisionTimedOut),
        _ => Effect::ClearDeadline,
    }
}

fn to_be_mended(row: &Workspace, now: Timestamp) -> Effect {
    if !is_past(row.mending.next_at, now) {
        return Effect::Leave;
    }
    match row.status {
        Status::Offline if is_mended(row.spec.runtime) => Effect::Restart,
        Status::Removed if row.mending.attempts > 0 => {
            // Should this carrier die, the next look is no sooner than after a failure.
            let look_again_at = next_mending(row.mending.attempts, now).max(now.plus_ms(CARRIER_MS));
            Effect::Reconcile { look_again_at }
        }
        Status::Provisioning | Status::Paused | Status::Hibernated | Status::Removed => {
            Effect::Reconcile { look_again_at: now.plus_ms(CARRIER_MS) }
        }
        Status::AwaitingAgent | Status::Online | Status::Degraded | Status::Offline | Status::Failed => {
            Effect::ClearDeadline
        }
    }
}

fn idle(row: &Workspace, vitals: &Vitals, now: Timestamp) -> Effect {
    match row.status {
        _ if !is_past(vitals.idle_deadline, now) => Effect::Leave,
        Status::Online | Status::Degraded if vitals.active_tasks == 0 => {
            Effect::SetDesired(Desired::Hibernated)
        }
        Status::Online
        | Status::Degraded
        | Status::Provisioning
        | Status::AwaitingAgent
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Effect::ClearDeadline,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{
        CapabilitySet, MemoryConfig, Mending, OrgId, ProviderConfig, Runtime, WorkspaceId, WorkspaceSpec,
    };

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn row(status: Status, runtime: Runtime) -> Workspace {
        let spec = WorkspaceSpec {
            runtime,
            ..WorkspaceSpec::new(ProviderConfig::Memory(MemoryConfig::default()), CapabilitySet::EMPTY)
        };
        Workspace {
            id: WorkspaceId::from_parts(NOW, [1; 10]),
            org_id: OrgId::DEFAULT,
            parent_id: None,
            name: "a".parse().unwrap(),
            spec,
            generation: 1,
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
            mending: Mending::default(),
            removed_at: None,
            is_purged: false,
        }
    }

    fn moments() -> impl Strategy<Value = Option<Timestamp>> {
        proptest::option::of((-100_000..100_000_i64).prop_map(|ms| NOW.plus_ms(ms)))
    }

    proptest! {
        // F20, Q6
        #[test]
        fn a_sweep_never_plans_against_a_workspace_that_is_well(
            sweep in proptest::sample::select(Sweep::ALL),
            status in proptest::sample::select(Status::ALL),
            runtime in proptest::sample::select(Runtime::ALL),
            (liveness, stall, probe, idle) in (moments(), moments(), moments(), moments()),
            (provision, mending) in (moments(), moments()),
            active_tasks in 0..2_u32,
        ) {
            let row = Workspace {
                provision_deadline: provision,
                mending: Mending { attempts: 1, next_at: mending },
                ..row(status, runtime)
            };
            let vitals = Vitals {
                active_tasks,
                liveness_deadline: liveness,
                stall_deadline: stall,
                probe_at: probe,
                idle_deadline: idle,
                ..Vitals::default()
            };
            let deadline = match sweep {
                Sweep::Liveness => liveness,
                Sweep::Stalls => stall,
                Sweep::Provisioning => provision,
                Sweep::Mending => mending,
                Sweep::Hibernation => idle,
                Sweep::Probes => probe,
                Sweep::Health | Sweep::CatchingUp | Sweep::Images | Sweep::Orphans | Sweep::Retention => None,
            };
            let effect = plan(sweep, &row, &vitals, NOW);
            prop_assert_eq!(effect == Effect::Leave, deadline.is_none_or(|at| at > NOW));
            let touches_status =
                matches!(effect, Effect::Signal(_) | Effect::Restart | Effect::SetDesired(_));
            if touches_status {
                prop_assert!(!matches!(status, Status::Paused | Status::Hibernated | Status::Removed));
            }
            if matches!(effect, Effect::SetDesired(_)) {
                prop_assert_eq!(active_tasks, 0);
            }
        }
    }

    // F14, F20
    #[test]
    fn what_a_sweep_writes_takes_its_own_deadline_out_of_the_way_and_nothing_else() {
        let due = Some(NOW);
        let vitals = Vitals {
            active_tasks: 1,
            liveness_deadline: due,
            stall_deadline: due,
            probe_at: due,
            idle_deadline: due,
            last_progress_at: Some(NOW.plus_ms(-1)),
            ..Vitals::default()
        };
        let mending = Mending { attempts: 1, next_at: due };
        for status in Status::ALL {
            let row = Workspace { provision_deadline: due, mending, ..row(*status, Runtime::Resident) };
            for sweep in Sweep::ALL {
                let Some(deed) = deed(*sweep, &row, &vitals, NOW) else { continue };
                let after = deed.vitals.clone().unwrap_or_else(|| vitals.clone());
                match (sweep, deed.act) {
                    (Sweep::Stalls, Act::Signal(Signal::StallFound)) => {
                        let expected = Vitals { stall_deadline: None, probe_at: due, ..vitals.clone() };
                        assert_eq!((after, &deed.row, deed.then), (expected, &row, Then::Nothing));
                    }
                    (Sweep::Stalls, _) => {
                        assert_eq!(after, Vitals { stall_deadline: None, ..vitals.clone() });
                        assert_eq!((&deed.row, deed.act), (&row, Act::Write), "its row is left alone");
                    }
                    (Sweep::Probes, Act::Write) if deed.then == Then::Probe => {
                        assert!(after.probe_at.is_some_and(|at| at > NOW), "somebody asks again");
                    }
                    (Sweep::Mending, Act::Signal(Signal::Restart)) => {
                        assert_eq!((deed.row.generation, deed.row.mending.attempts), (2, 2));
                        assert_eq!((deed.vitals, deed.then), (None, Then::Reconcile));
                    }
                    (Sweep::Mending, Act::Write) => {
                        assert!(deed.row.mending.next_at.is_none_or(|at| at > NOW), "{status}: due still");
                        assert_eq!(deed.vitals, None);
                    }
                    _ => {}
                }
            }
        }
    }

    // F16
    #[test]
    fn only_what_warren_brings_up_itself_is_brought_up_again() {
        let due = Mending { attempts: 3, next_at: Some(NOW) };
        for (runtime, expected) in [
            (Runtime::Resident, Effect::Restart),
            (Runtime::External, Effect::ClearDeadline),
            (Runtime::Hosted, Effect::Restart),
        ] {
            let row = Workspace { mending: due, ..row(Status::Offline, runtime) };
            assert_eq!(plan(Sweep::Mending, &row, &Vitals::default(), NOW), expected);
        }
    }

    proptest! {
        // F22, Q6
        #[test]
        fn a_run_keeps_its_lease_for_as_long_as_it_goes_on_and_stops_once_somebody_else_had_it(
            pauses in proptest::collection::vec((0..40_000_i64, proptest::bool::weighted(0.2)), 1..40),
        ) {
            let mine = 7;
            let mut lease = Standing { fence: mine, expires_at: NOW.plus_ms(LEASE_MS) };
            let mut now = NOW;
            for (pause_ms, rival_looks) in pauses {
                now = now.plus_ms(pause_ms);
                let may_be_taken = lease.expires_at <= now;
                if rival_looks && may_be_taken {
                    lease = Standing { fence: lease.fence + 1, expires_at: now.plus_ms(LEASE_MS) };
                }
                match hold(mine, Some(lease), now) {
                    Hold::Stop => prop_assert_ne!(lease.fence, mine),
                    Hold::Keep => prop_assert!(lease.expires_at.ms_since(now) > 0),
                    Hold::Renew { until } => lease.expires_at = until,
                }
                if lease.fence == mine {
                    // A batch has half the time at least before anybody else may begin.
                    prop_assert!(lease.expires_at.ms_since(now) >= LEASE_MS / 2);
                }
            }
            prop_assert_eq!(hold(mine, None, now), Hold::Stop);
        }
    }

    // F42
    #[test]
    fn what_is_kept_for_ever_is_never_cleared() {
        assert_eq!(cleared_before(None, NOW), None);
        assert_eq!(cleared_before(Some(2), NOW).map(|at| NOW.ms_since(at)), Some(172_800_000));
    }

    // F21
    #[test]
    fn names_are_unique_and_found_again() {
        for sweep in Sweep::ALL {
            assert_eq!(Sweep::parse(sweep.as_str()), Some(*sweep));
            assert!(sweep.interval_ms() >= 1_000 && sweep.meaning().ends_with('.'));
        }
        assert_eq!(Sweep::parse("nothing"), None);
    }
}
