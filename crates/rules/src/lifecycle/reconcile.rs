//! What a workspace needs next, from what is wanted and what is known (F3).
//!
//! A generation that was not brought about yet is the one reason to act: whatever changed in the middle of a step
//! raises it again, so that the step after sees it. No change is lost, however many come.

use warren_model::{Runtime, Status, Timestamp, Workspace};

/// One step of a carrier. After each step the row is read again and asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Open the place, or find it again.
    Open {
        /// What an earlier generation left open is ended before.
        closes_first: bool,
    },
    /// End what runs there; files stay.
    Close,
    /// Bring it up anew: what is wanted changed since it was brought up.
    Restart,
    /// Delete what is left of a removed workspace.
    Destroy,
    /// Nothing is left of it, and somebody wants its rows gone.
    Erase,
    /// It is as it should be; the note to look again is no longer needed.
    Settle,
    /// It is as it should be.
    Rest,
}

pub fn next_step(workspace: &Workspace) -> Step {
    let is_behind = workspace.observed_generation < workspace.generation;
    match workspace.status {
        Status::Removed if workspace.reference.is_some() => Step::Destroy,
        Status::Removed if workspace.is_purged => Step::Erase,
        Status::Provisioning => Step::Open { closes_first: workspace.generation > 1 },
        Status::Paused | Status::Hibernated if is_behind => Step::Close,
        Status::AwaitingAgent | Status::Online | Status::Degraded | Status::Offline if is_behind => {
            Step::Restart
        }
        Status::Paused | Status::Hibernated | Status::Removed if workspace.mending.next_at.is_some() => {
            Step::Settle
        }
        Status::AwaitingAgent
        | Status::Online
        | Status::Degraded
        | Status::Offline
        | Status::Failed
        | Status::Paused
        | Status::Hibernated
        | Status::Removed => Step::Rest,
    }
}

/// How the removal of a workspace stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemovalStanding {
    /// Nothing is left of it.
    Finished,
    /// It could not be stopped: its files are kept, and it is tried again.
    Failed,
    /// Somebody is at it.
    Pending,
}

/// How the removal of a workspace stands, by its row; no row: it was erased.
fn removal_standing(row: Option<&Workspace>, is_busy: bool) -> RemovalStanding {
    match row {
        // An open that was under way when the removal came may still make something to delete.
        _ if is_busy => RemovalStanding::Pending,
        None => RemovalStanding::Finished,
        Some(row) if row.reference.is_none() => RemovalStanding::Finished,
        Some(row) if row.mending.attempts > 0 => RemovalStanding::Failed,
        Some(_) => RemovalStanding::Pending,
    }
}

/// How the removal of several stands: of a workspace and all below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemovalCounts {
    /// Marked as removed, now or before.
    pub marked: u32,
    /// Nothing is left of them.
    pub finished: u32,
    /// Could not be stopped: their files are kept, and it is tried again.
    pub failed: u32,
    /// Still at it.
    pub pending: u32,
}

/// Counts all that were marked, each by its row and by whether somebody is at it.
pub fn removal_counts<'a>(marked: impl IntoIterator<Item = (Option<&'a Workspace>, bool)>) -> RemovalCounts {
    let mut counts = RemovalCounts::default();
    for (row, is_busy) in marked {
        counts.marked += 1;
        match removal_standing(row, is_busy) {
            RemovalStanding::Finished => counts.finished += 1,
            RemovalStanding::Failed => counts.failed += 1,
            RemovalStanding::Pending => counts.pending += 1,
        }
    }
    counts
}

/// How a carrier's answer "it is open" is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// It is what is wanted.
    AsWanted,
    /// Something was changed while it was being opened: it is to be opened again.
    Outdated,
}

/// `opened` is the generation that the carrier read before it began.
pub fn judge_open(current: u64, opened: u64) -> Opened {
    if opened >= current { Opened::AsWanted } else { Opened::Outdated }
}

/// Whoever began something looks after it; if they die, somebody else looks after so long.
pub const LOOK_AGAIN_MS: i64 = 60_000;

/// Whether one that fell silent, or lost its box, is brought up again without anybody's asking (F16): what Warren itself
/// brought up.
pub const fn is_mended(runtime: Runtime) -> bool {
    match runtime {
        Runtime::Hosted | Runtime::Resident => true,
        Runtime::External => false,
    }
}

/// Waits before a silent workspace is restarted without anybody's asking (F16): at once, then ever longer.
const MENDING_WAITS_MS: [i64; 6] = [0, 15_000, 30_000, 60_000, 300_000, 600_000];
/// Well for so long, and earlier troubles are forgotten.
const WELL_AGAIN_AFTER_MS: i64 = 600_000;

/// When to try the mending after `attempts` tries.
pub fn next_mending(attempts: u32, now: Timestamp) -> Timestamp {
    let last = MENDING_WAITS_MS.len() - 1;
    let at = usize::try_from(attempts).unwrap_or(last).min(last);
    now.plus_ms(MENDING_WAITS_MS[at])
}

/// Whether a living workspace has been well for long enough to start counting anew.
pub fn is_well_again(workspace: &Workspace, now: Timestamp) -> bool {
    let has_history = workspace.mending.attempts > 0 && workspace.status == Status::Online;
    let since = workspace.provisioning_started_at.unwrap_or(workspace.created_at);
    has_history && now.ms_since(since) >= WELL_AGAIN_AFTER_MS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{
        CapabilitySet, MemoryConfig, Mending, OrgId, ProviderConfig, Ref, WorkspaceId, WorkspaceSpec,
    };

    use super::*;

    fn workspace(status: Status, generation: u64, observed_generation: u64) -> Workspace {
        let start = Timestamp::from_micros(0);
        let provider = ProviderConfig::Memory(MemoryConfig::default());
        Workspace {
            id: WorkspaceId::from_parts(start, [1; 10]),
            org_id: OrgId::DEFAULT,
            parent_id: None,
            name: "a".parse().unwrap(),
            spec: WorkspaceSpec::new(provider, CapabilitySet::EMPTY),
            generation,
            observed_generation,
            secrets_since: None,
            version: 1,
            status,
            reason: None,
            reference: None,
            created_at: start,
            updated_at: start,
            provisioning_started_at: None,
            provision_deadline: None,
            mending: Mending::default(),
            removed_at: None,
            is_purged: false,
        }
    }

    fn reference() -> Ref {
        Ref {
            provider: "memory".into(),
            schema_version: 1,
            capabilities: CapabilitySet::EMPTY,
            payload: serde_json::Value::Null,
        }
    }

    proptest! {
        // F3, Q6
        #[test]
        fn a_generation_that_was_not_brought_about_is_never_left_alone(
            status in proptest::sample::select(Status::ALL), generation in 2..9_u64, behind in 0..2_u64,
        ) {
            let row = workspace(status, generation, generation - behind);
            let step = next_step(&row);
            match status {
                Status::Provisioning => prop_assert_eq!(step, Step::Open { closes_first: true }),
                // Whoever failed waits to be reset.
                Status::Failed | Status::Removed => prop_assert_eq!(step, Step::Rest),
                _ => prop_assert_eq!(step == Step::Rest, behind == 0),
            }
        }

        // F8
        #[test]
        fn what_is_removed_is_deleted_before_it_is_erased(has_remains: bool, is_purged: bool) {
            let reference = has_remains.then(reference);
            let row = Workspace { reference, is_purged, ..workspace(Status::Removed, 2, 2) };
            let expected = match (has_remains, is_purged) {
                (true, _) => Step::Destroy,
                (false, true) => Step::Erase,
                (false, false) => Step::Rest,
            };
            prop_assert_eq!(next_step(&row), expected);
        }
    }

    // F2
    #[test]
    fn a_first_generation_is_opened_without_closing_what_its_first_user_opened() {
        assert_eq!(next_step(&workspace(Status::Provisioning, 1, 0)), Step::Open { closes_first: false });
    }

    // F8
    #[test]
    fn a_removal_is_finished_when_nothing_is_left_and_nobody_is_at_it() {
        let gone = workspace(Status::Removed, 2, 2);
        let left = Workspace { reference: Some(reference()), ..gone.clone() };
        let stuck = Workspace { mending: Mending { attempts: 1, next_at: None }, ..left.clone() };
        for (row, expected) in [
            (None, RemovalStanding::Finished),
            (Some(&gone), RemovalStanding::Finished),
            (Some(&left), RemovalStanding::Pending),
            (Some(&stuck), RemovalStanding::Failed),
        ] {
            assert_eq!(removal_standing(row, false), expected);
            assert_eq!(removal_standing(row, true), RemovalStanding::Pending);
        }
        let all = [(None, false), (Some(&gone), true), (Some(&left), false), (Some(&stuck), false)];
        let counts = RemovalCounts { marked: 4, finished: 1, failed: 1, pending: 2 };
        assert_eq!(removal_counts(all), counts, "each marked one is counted once");
    }

    // F16
    #[test]
    fn mending_begins_at_once_and_slows_down_but_never_ends() {
        let now = Timestamp::from_micros(0);
        let waits: Vec<_> = (0..8).map(|attempt| next_mending(attempt, now).ms_since(now)).collect();
        assert_eq!(waits, [0, 15_000, 30_000, 60_000, 300_000, 600_000, 600_000, 600_000]);
        assert_eq!(next_mending(u32::MAX, now).ms_since(now), 600_000);
    }

    // F3
    #[test]
    fn what_was_opened_under_an_older_generation_is_opened_again() {
        assert_eq!(judge_open(3, 3), Opened::AsWanted);
        assert_eq!(judge_open(4, 3), Opened::Outdated);
    }
}
