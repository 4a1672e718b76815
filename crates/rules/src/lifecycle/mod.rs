//! The lifecycle of a workspace: one pure table (F2).
//!
//! ```text
//!                    place ready            first heartbeat
//!   provisioning ───────────────▶ awaiting_agent ─────▶ online ◀──▶ degraded
//!        │  (hosted runtimes go straight to online)        │ silence
//!        ▼ could not be opened, or too late                ▼
//!      failed ◀────────────────────────────────────────  offline
//! ```
//!
//! `paused` and `hibernated` are left only when somebody asks; `removed` never. The full diagram is generated
//! from this table into the reference. Nothing else in Warren chooses a status: handlers and sweepers send a
//! signal, and write what comes back.

pub mod bundles;
mod diagram;
mod entry;
pub mod hosted;
pub mod images;
pub mod probes;
pub mod reconcile;
pub mod replicas;
pub mod residents;
pub mod startup;
pub mod sweeps;
pub mod template_tiers;
pub mod templates;
#[cfg(test)]
mod tests;
pub mod vitals;

pub use diagram::diagram;
pub use entry::{enter, hold_boot_clock, start_boot_clock};

use warren_model::{
    Desired, EventKind, Runtime, RuntimeState, Status, Timestamp, Vitals, Workspace, WorkspaceSpec,
};

use crate::lifecycle::vitals::is_stalled;
use crate::messages::outcomes::worse_rate;

/// Error rate from which a workspace is degraded, and below which it may recover (F13). The gap between the two
/// keeps one that hovers from flapping.
pub const DEGRADED_FROM: f64 = 0.5;
pub const RECOVERED_BELOW: f64 = 0.1;

const WEDGED: &str = "The runtime reports that it is wedged.";
const NO_PLACE: &str = "The runtime is there, but its files are not: they were lost or cannot be opened. Restart the workspace, or make a new one.";
const STALLED: &str = "Work is in flight without progress.";

/// What happened, or what somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The provider opened the place.
    PlaceReady,
    /// The provider cannot open the place, or it is gone for good.
    PlaceFailed,
    /// Provisioning took longer than its budget.
    ProvisionTimedOut,
    /// The runtime registered or sent a heartbeat; what it reported is in the facts.
    Heartbeat,
    /// Nothing was heard past the deadline (F16).
    LivenessExpired,
    /// Work in flight showed no progress past the deadline (F14).
    StallFound,
    /// A stalled runtime does not answer a probe (F14).
    ProbeFailed,
    /// The box is not there any more, as a look at it showed (F20).
    BoxGone,
    /// Of the work that Warren handed it, too much fails (F13).
    WorkFailed,
    Pause,
    Resume,
    Hibernate,
    Wake,
    Restart,
    /// An operator wants a failed workspace tried again.
    Reset,
    Remove,
}

impl Signal {
    pub const ALL: [Self; 16] = [
        Self::PlaceReady,
        Self::PlaceFailed,
        Self::ProvisionTimedOut,
        Self::Heartbeat,
        Self::LivenessExpired,
        Self::StallFound,
        Self::ProbeFailed,
        Self::BoxGone,
        Self::WorkFailed,
        Self::Pause,
        Self::Resume,
        Self::Hibernate,
        Self::Wake,
        Self::Restart,
        Self::Reset,
        Self::Remove,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PlaceReady => "place ready",
            Self::PlaceFailed => "place failed",
            Self::ProvisionTimedOut => "provision timed out",
            Self::Heartbeat => "heartbeat",
            Self::LivenessExpired => "silent past deadline",
            Self::StallFound => "no progress past deadline",
            Self::ProbeFailed => "no answer to a probe",
            Self::BoxGone => "box is gone",
            Self::WorkFailed => "too much work fails",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Hibernate => "hibernate",
            Self::Wake => "wake",
            Self::Restart => "restart",
            Self::Reset => "reset",
            Self::Remove => "remove",
        }
    }
}

/// What the decision depends on beside status and signal.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub runtime: Runtime,
    pub error_rate: f64,
    pub runtime_state: RuntimeState,
    /// The runtime declared `status_mgmt`.
    pub manages_own_status: bool,
    /// Work is in flight without progress for longer than the idle timeout (F14).
    pub is_stalled: bool,
    pub active_tasks: u32,
    pub has_paused_ancestor: bool,
    /// Its place is gone, or could not be opened; a runtime elsewhere may live on.
    pub has_lost_place: bool,
    /// The caller insists, such as on hibernating with work in flight.
    pub is_forced: bool,
}

impl Facts {
    pub fn of(workspace: &Workspace, vitals: &Vitals, now: Timestamp) -> Self {
        Self {
            is_stalled: is_stalled(vitals, now),
            error_rate: worse_rate(vitals, now),
            has_lost_place: has_lost_place(workspace),
            ..Self::from_vitals(workspace.spec.runtime, vitals)
        }
    }

    pub fn from_vitals(runtime: Runtime, vitals: &Vitals) -> Self {
        Self {
            runtime,
            error_rate: vitals.error_rate,
            runtime_state: vitals.runtime_state.clone(),
            manages_own_status: vitals.displaced.status_mgmt,
            is_stalled: false,
            active_tasks: vitals.active_tasks,
            has_paused_ancestor: false,
            has_lost_place: false,
            is_forced: false,
        }
    }
}

/// What follows from a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Change(Change),
    /// Nothing to write.
    Stay,
    /// The caller asked for what cannot be.
    Refuse(TransitionRefusal),
}

/// A new status, the reason shown with it, and the event to write in the same transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub to: Status,
    /// A fixed public sentence; `None` clears the old one. A carrier that knows more may put its own in place.
    pub reason: Option<&'static str>,
    pub event: EventKind,
    /// The place is gone with it, until it is brought up anew.
    pub loses_place: bool,
}

/// Whether a workspace has no place: it was lost or could not be opened, and nobody has brought it up anew since. The clock
/// of its boot was taken away with it.
pub fn has_lost_place(workspace: &Workspace) -> bool {
    let may_have = matches!(workspace.status, Status::Failed | Status::Offline | Status::Degraded);
    may_have && workspace.provisioning_started_at.is_none()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionRefusal {
    Removed,
    NotPaused,
    NotHibernated,
    NotFailed,
    NotRunning,
    AncestorPaused,
    TasksActive,
}

impl TransitionRefusal {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Removed => "the workspace is removed",
            Self::NotPaused => "the workspace is not paused",
            Self::NotHibernated => "the workspace is not hibernated",
            Self::NotFailed => "only a failed workspace can be reset",
            Self::NotRunning => "the workspace is paused or hibernated; resume or wake it",
            Self::AncestorPaused => "a workspace above it is paused; resume that one first",
            Self::TasksActive => "the workspace has tasks in flight; wait for them or force it",
        }
    }
}

/// The table.
pub fn transition(status: Status, signal: Signal, facts: &Facts) -> Decision {
    match signal {
        Signal::PlaceReady => place_ready(status, facts),
        Signal::PlaceFailed => place_failed(status),
        Signal::ProvisionTimedOut => provision_timed_out(status),
        Signal::Heartbeat => heartbeat(status, facts),
        Signal::LivenessExpired => liveness_expired(status),
        Signal::StallFound => stall_found(status, facts),
        Signal::ProbeFailed => probe_failed(status),
        Signal::BoxGone => box_gone(status, facts),
        Signal::WorkFailed => work_failed(status, facts),
        Signal::Pause => pause(status),
        Signal::Resume => resume(status, facts),
        Signal::Hibernate => hibernate(status, facts),
        Signal::Wake => wake(status, facts),
        Signal::Restart => restart(status),
        Signal::Reset => reset(status),
        Signal::Remove => remove(status),
    }
}

/// The signal that brings a workspace towards what is wanted of it, if its status shows that one is needed (F3).
pub fn signal_towards(status: Status, desired: Desired) -> Option<Signal> {
    match (desired, status) {
        (_, Status::Removed) => None,
        (Desired::Removed, _) => Some(Signal::Remove),
        (Desired::Paused, Status::Paused) | (Desired::Hibernated, Status::Hibernated) => None,
        (Desired::Paused, _) => Some(Signal::Pause),
        (Desired::Hibernated, _) => Some(Signal::Hibernate),
        (Desired::Running, Status::Paused) => Some(Signal::Resume),
        (Desired::Running, Status::Hibernated) => Some(Signal::Wake),
        (
            Desired::Running,
            Status::Provisioning
            | Status::AwaitingAgent
            | Status::Online
            | Status::Degraded
            | Status::Offline
            | Status::Failed,
        ) => None,
    }
}

/// Whether a desired state reaches all below a workspace: a rest and its end do (F7).
pub fn reaches_below(status: Status, desired: Desired) -> bool {
    match desired {
        Desired::Paused => true,
        Desired::Running => status == Status::Paused,
        Desired::Hibernated | Desired::Removed => false,
    }
}

/// Whether such a desired state, sent to a workspace with status `root`, changes one below it: the end of a rest takes only what
/// rests.
pub fn is_reached(status: Status, root: Status, desired: Desired) -> bool {
    desired != Desired::Running || status == root
}

/// Whether the credentials of a runtime end with a status: with the boot they were given for. One that runs elsewhere is
/// not started anew by Warren, and would have no way to get another.
pub fn ends_credentials(runtime: Runtime, status: Status) -> bool {
    let is_put_away = match status {
        Status::Provisioning | Status::Paused | Status::Hibernated | Status::Removed => true,
        Status::AwaitingAgent | Status::Online | Status::Degraded | Status::Offline | Status::Failed => false,
    };
    is_put_away && runtime == Runtime::Resident
}

/// How long provisioning may take unless the spec or the fleet says otherwise (F5).
pub const DEFAULT_PROVISION_TIMEOUT_MS: i64 = 10 * 60_000;

/// The budget of a workspace from the start of provisioning to its first sign of life. An override holds for all.
pub fn provision_timeout_ms(spec: &WorkspaceSpec, fleet_wide_ms: Option<i64>) -> i64 {
    let own = spec.provision_timeout_seconds.map(|seconds| i64::from(seconds) * 1_000);
    fleet_wide_ms.or(own).unwrap_or(DEFAULT_PROVISION_TIMEOUT_MS)
}

/// Whether the clock of provisioning runs in a status.
pub fn is_booting(status: Status) -> bool {
    match status {
        Status::Provisioning | Status::AwaitingAgent => true,
        Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => false,
    }
}

/// Whether files and commands of a workspace may be used now. The first use opens it, so that it need not be online.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usability {
    Usable,
    /// Somebody put it to rest.
    Resting,
    Failed,
    Gone,
}

pub fn usability(status: Status) -> Usability {
    match status {
        Status::Removed => Usability::Gone,
        Status::Paused | Status::Hibernated => Usability::Resting,
        Status::Failed => Usability::Failed,
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline => Usability::Usable,
    }
}

fn change(to: Status, reason: Option<&'static str>) -> Decision {
    let event = match to {
        Status::Removed => EventKind::WorkspaceRemoved,
        _ => EventKind::WorkspaceStatusChanged,
    };
    Decision::Change(Change { to, reason, event, loses_place: false })
}

fn place_ready(status: Status, facts: &Facts) -> Decision {
    let ready = match facts.runtime {
        Runtime::Hosted => Status::Online,
        Runtime::Resident | Runtime::External => Status::AwaitingAgent,
    };
    match status {
        Status::Provisioning | Status::Failed => change(ready, None),
        Status::Offline if facts.runtime == Runtime::Hosted => change(ready, None),
        Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Decision::Stay,
    }
}

fn place_failed(status: Status) -> Decision {
    match status {
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline => Decision::Change(Change {
            to: Status::Failed,
            reason: Some("The workspace could not be opened."),
            event: EventKind::WorkspaceStatusChanged,
            loses_place: true,
        }),
        Status::Failed | Status::Paused | Status::Hibernated | Status::Removed => Decision::Stay,
    }
}

fn provision_timed_out(status: Status) -> Decision {
    match status {
        Status::Provisioning => change(Status::Failed, Some("The workspace was not ready in time.")),
        Status::AwaitingAgent => change(Status::Failed, Some("The agent did not register in time.")),
        Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Decision::Stay,
    }
}

/// A live heartbeat is proof of life (F6). What the runtime says of itself comes first (F12), and what Warren
/// infers from its numbers second, unless the runtime manages its own status (F13).
fn heartbeat(status: Status, facts: &Facts) -> Decision {
    match status {
        Status::Paused | Status::Hibernated | Status::Removed => Decision::Stay,
        // Its life brings no files back: it can be called, and everybody sees what is missing.
        Status::Offline | Status::Failed if facts.has_lost_place => {
            change(Status::Degraded, Some(trouble(facts).unwrap_or(NO_PLACE)))
        }
        Status::Degraded if facts.has_lost_place => Decision::Stay,
        Status::Provisioning | Status::AwaitingAgent | Status::Offline | Status::Failed => {
            match trouble(facts) {
                Some(reason) => change(Status::Degraded, Some(reason)),
                None => change(Status::Online, None),
            }
        }
        Status::Online => match trouble(facts) {
            Some(reason) => change(Status::Degraded, Some(reason)),
            None => Decision::Stay,
        },
        Status::Degraded if has_recovered(facts) => change(Status::Online, None),
        Status::Degraded => Decision::Stay,
    }
}

fn trouble(facts: &Facts) -> Option<&'static str> {
    if facts.runtime_state == RuntimeState::Wedged {
        Some(WEDGED)
    } else if facts.is_stalled {
        Some(STALLED)
    } else if !facts.manages_own_status && facts.error_rate >= DEGRADED_FROM {
        Some("At least half of the recent work failed.")
    } else {
        None
    }
}

fn has_recovered(facts: &Facts) -> bool {
    let says_well = facts.runtime_state == RuntimeState::Well;
    says_well && !facts.is_stalled && (facts.manages_own_status || facts.error_rate < RECOVERED_BELOW)
}

fn liveness_expired(status: Status) -> Decision {
    match status {
        Status::Online | Status::Degraded => {
            change(Status::Offline, Some("Nothing was heard from the runtime."))
        }
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Decision::Stay,
    }
}

/// The sweep sends this by the row's deadline; the facts are asked again, since a report may have come meanwhile.
fn stall_found(status: Status, facts: &Facts) -> Decision {
    match status {
        Status::Online if facts.is_stalled => change(Status::Degraded, Some(STALLED)),
        Status::Online
        | Status::Provisioning
        | Status::AwaitingAgent
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Decision::Stay,
    }
}

/// A runtime that neither moves nor answers is as good as silent.
fn probe_failed(status: Status) -> Decision {
    match status {
        Status::Degraded => {
            change(Status::Offline, Some("The runtime shows no progress and does not answer."))
        }
        Status::Online
        | Status::Provisioning
        | Status::AwaitingAgent
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Decision::Stay,
    }
}

/// A runtime that lives elsewhere does not end with the box: that one is opened again by its next use.
fn box_gone(status: Status, facts: &Facts) -> Decision {
    match status {
        _ if facts.runtime == Runtime::External => Decision::Stay,
        Status::AwaitingAgent | Status::Online | Status::Degraded => {
            change(Status::Offline, Some("The box has ended."))
        }
        Status::Provisioning
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Decision::Stay,
    }
}

/// Sent once, when the work that Warren counts begins to fail. Recovery is left to the next heartbeat.
fn work_failed(status: Status, facts: &Facts) -> Decision {
    match status {
        Status::Online => match trouble(facts) {
            Some(reason) => change(Status::Degraded, Some(reason)),
            None => Decision::Stay,
        },
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Decision::Stay,
    }
}

fn pause(status: Status) -> Decision {
    match status {
        Status::Removed => Decision::Refuse(TransitionRefusal::Removed),
        Status::Paused => Decision::Stay,
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Hibernated => change(Status::Paused, Some("Paused on request.")),
    }
}

fn resume(status: Status, facts: &Facts) -> Decision {
    match status {
        Status::Removed => Decision::Refuse(TransitionRefusal::Removed),
        Status::Paused if facts.has_paused_ancestor => Decision::Refuse(TransitionRefusal::AncestorPaused),
        Status::Paused => change(Status::Provisioning, None),
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Hibernated => Decision::Refuse(TransitionRefusal::NotPaused),
    }
}

fn hibernate(status: Status, facts: &Facts) -> Decision {
    match status {
        Status::Removed => Decision::Refuse(TransitionRefusal::Removed),
        Status::Hibernated => Decision::Stay,
        Status::Paused => Decision::Refuse(TransitionRefusal::NotRunning),
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed => {
            if facts.active_tasks > 0 && !facts.is_forced {
                Decision::Refuse(TransitionRefusal::TasksActive)
            } else {
                change(Status::Hibernated, Some("Asleep until a message comes."))
            }
        }
    }
}

fn wake(status: Status, facts: &Facts) -> Decision {
    match status {
        Status::Removed => Decision::Refuse(TransitionRefusal::Removed),
        Status::Hibernated if facts.has_paused_ancestor => {
            Decision::Refuse(TransitionRefusal::AncestorPaused)
        }
        Status::Hibernated => change(Status::Provisioning, None),
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused => Decision::Refuse(TransitionRefusal::NotHibernated),
    }
}

fn restart(status: Status) -> Decision {
    match status {
        Status::Removed => Decision::Refuse(TransitionRefusal::Removed),
        Status::Paused | Status::Hibernated => Decision::Refuse(TransitionRefusal::NotRunning),
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed => change(Status::Provisioning, None),
    }
}

fn reset(status: Status) -> Decision {
    match status {
        Status::Removed => Decision::Refuse(TransitionRefusal::Removed),
        Status::Failed => change(Status::Provisioning, None),
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Paused
        | Status::Hibernated => Decision::Refuse(TransitionRefusal::NotFailed),
    }
}

fn remove(status: Status) -> Decision {
    match status {
        Status::Removed => Decision::Stay,
        Status::Provisioning
        | Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated => change(Status::Removed, None),
    }
}
