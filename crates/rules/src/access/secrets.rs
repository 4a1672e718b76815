//! What is decided about secrets: which names there may be, which value a command gets, and how a change reaches what
//! is running (F32, F33).
//!
//! ```text
//!   nearest wins:   what a person sets for one command  >  the workspace's secret  >  the org's secret
//! ```
//!
//! A model may not stand in for a person here: a variable that is a secret of the workspace is not the model's to set.
//! It could otherwise point a program that holds one secret (a key) at an address that was meant to be another.

use std::collections::BTreeMap;

use warren_model::{
    BehindOf, Capability, ProviderConfig, RefusalKind, Reuse, Runtime, SealedSecret, SecretName, Status,
    Workspace, WorkspaceId, WorkspaceSpec,
};

use crate::boxes::command_policy::{CommandRefusal, is_reserved_variable};

/// Whether a secret may have this name: not one that changes how programs are found or loaded, and none of Warren's.
pub fn check_name(name: &SecretName) -> Result<(), &'static str> {
    if is_reserved_variable(name.as_str()) {
        return Err("the name is reserved: it changes how programs are found or loaded, or is Warren's own");
    }
    Ok(())
}

/// The secrets that a command of a workspace gets, by name: its own before its org's.
pub fn in_effect(secrets: Vec<SealedSecret>) -> BTreeMap<SecretName, SealedSecret> {
    let mut nearest: BTreeMap<SecretName, SealedSecret> = BTreeMap::new();
    for secret in secrets {
        let is_own = secret.owner.workspace_id().is_some();
        if is_own || !nearest.contains_key(&secret.name) {
            nearest.insert(secret.name.clone(), secret);
        }
    }
    nearest
}

/// Why a model cannot set this variable for a command.
pub fn not_for_models(name: &str) -> CommandRefusal {
    CommandRefusal {
        kind: RefusalKind::Variable,
        sentence: format!("the variable `{name}` is a secret of this workspace and may not be set"),
        allowed: "the secret is in the command's environment already; other variables may be set".into(),
    }
}

/// Whether a change of secrets means anything to what runs in this workspace. Without a shell nothing there has an
/// environment, and no change reaches it.
pub fn concerns(workspace: &Workspace) -> bool {
    workspace.spec.capabilities.contains(Capability::Shell)
}

/// What runs in a workspace in the background, as far as it could be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// It is not open: nothing runs.
    NotOpen,
    /// So many processes run with values of before.
    Running(usize),
    /// It could not be asked.
    Unknown,
}

/// Whether a process has values of before: `started_with` is the generation whose secrets it got, as far as that is known.
pub const fn holds_old_values(started_with: Option<u64>, generation: u64) -> bool {
    match started_with {
        Some(started_with) => started_with < generation,
        None => true,
    }
}

/// What can be said of it without asking; absent: its processes are to be looked at.
pub fn known_background(spec: &WorkspaceSpec, is_open: bool) -> Option<Background> {
    match (spec.runtime, is_open) {
        // Its own agent has the values of its start, whatever else runs.
        (Runtime::Resident | Runtime::External, _) => Some(Background::Unknown),
        // Its box may be there all the same, with what a Warren before this one started in it.
        (Runtime::Hosted, false) if may_outlive_its_owner(&spec.provider) => Some(Background::Unknown),
        (Runtime::Hosted, false) => Some(Background::NotOpen),
        (Runtime::Hosted, true) => None,
    }
}

fn may_outlive_its_owner(provider: &ProviderConfig) -> bool {
    match provider {
        ProviderConfig::Docker(docker) => docker.reuse == Reuse::Reconnect,
        ProviderConfig::Memory(_) | ProviderConfig::Local(_) | ProviderConfig::Sandbox(_) => false,
    }
}

/// Whether a workspace that a starting Warren finds behind needs no more than a note: its secrets alone have changed, and
/// nothing that has the old ones outlived the process before this one.
pub fn is_settled_by_a_start(workspace: &Workspace) -> bool {
    let known = known_background(&workspace.spec, false);
    workspace.behind_of() == Some(BehindOf::Secrets)
        && known.is_some_and(|background| {
            bring_up(workspace.spec.runtime, Behind::OfSecrets(background)) == BringUp::Note
        })
}

/// Why a workspace is behind, with what whoever brings it up must know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// Secrets changed, and nothing else.
    OfSecrets(Background),
    /// Something else did: its carrier died, or works elsewhere.
    OfSomething { is_open: bool },
}

/// How it comes to what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BringUp {
    Restart,
    /// Nothing there has what was before: it is only written down.
    Note,
}

/// An agent of its own was surely started with what was before; commands get the values of the moment, so that only
/// processes in the background hold old ones. What cannot be asked is brought up anew, and so is whatever is open where
/// nobody knows what changed.
pub const fn bring_up(runtime: Runtime, behind: Behind) -> BringUp {
    match (runtime, behind) {
        (Runtime::Resident | Runtime::External, _) => BringUp::Restart,
        (Runtime::Hosted, Behind::OfSecrets(Background::NotOpen | Background::Running(0)))
        | (Runtime::Hosted, Behind::OfSomething { is_open: false }) => BringUp::Note,
        (Runtime::Hosted, Behind::OfSecrets(Background::Unknown | Background::Running(_)))
        | (Runtime::Hosted, Behind::OfSomething { is_open: true }) => BringUp::Restart,
    }
}

/// How fast a change of secrets is rolled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Workspaces that may be on their way up at the same time.
    pub at_once: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { at_once: 8 }
    }
}

/// What a roll-out does next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RollOut {
    /// To be restarted now.
    pub restart: Vec<WorkspaceId>,
    /// Left for a later pass.
    pub waiting: usize,
}

/// Plans the next stretch of a roll-out over the workspaces whose generation is ahead of what was observed (F33).
///
/// It needs no memory of its own: who is behind stands in the rows, and so does who is on its way up. A pass that
/// crashed is planned anew. Each comes with the number of its active tasks: workspaces without tasks go first, then the
/// longest unchanged, so that the busy are interrupted last.
///
/// `tried` are those that were brought up before in this roll-out, with the generation they had: one that is behind of the
/// same still has a trouble of its own, and is not restarted again for this.
pub fn roll_out<'a>(
    workspaces: impl IntoIterator<Item = (&'a Workspace, u32)>,
    tried: &BTreeMap<WorkspaceId, u64>,
    pace: Pace,
) -> RollOut {
    let mut plan = RollOut::default();
    let mut candidates = Vec::new();
    let mut on_their_way = 0;
    for (workspace, active_tasks) in workspaces {
        if tried.get(&workspace.id) == Some(&workspace.generation) {
            continue;
        }
        match workspace.status {
            Status::Provisioning => on_their_way += 1,
            Status::AwaitingAgent | Status::Online | Status::Degraded | Status::Offline => {
                if is_behind(workspace) {
                    candidates.push((active_tasks, workspace.updated_at, workspace.id));
                }
            }
            // They get the new values when they are brought up again.
            Status::Failed | Status::Paused | Status::Hibernated | Status::Removed => {}
        }
    }
    candidates.sort();
    let room = pace.at_once.max(1).saturating_sub(on_their_way);
    plan.waiting = candidates.len().saturating_sub(room);
    plan.restart = candidates.into_iter().take(room).map(|(_, _, id)| id).collect();
    plan
}

fn is_behind(workspace: &Workspace) -> bool {
    workspace.observed_generation < workspace.generation
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_model::{
        DockerConfig, KeyId, LocalConfig, Mending, OrgId, Principal, ProviderConfig, SecretOwner, Timestamp,
        WorkspaceSpec,
    };

    use super::*;

    const AT: Timestamp = Timestamp::from_micros(1);

    fn id(seed: u8) -> WorkspaceId {
        WorkspaceId::from_parts(AT, [seed; 10])
    }

    fn workspace(seed: u8, status: Status, is_behind: bool) -> Workspace {
        let capabilities = [Capability::Fs, Capability::Shell].into_iter().collect();
        Workspace {
            id: id(seed),
            org_id: OrgId::DEFAULT,
            parent_id: None,
            name: "x".parse().unwrap(),
            spec: WorkspaceSpec::new(ProviderConfig::Local(LocalConfig::default()), capabilities),
            generation: 2,
            observed_generation: if is_behind { 1 } else { 2 },
            secrets_since: None,
            version: 1,
            status,
            reason: None,
            reference: None,
            created_at: AT,
            updated_at: AT,
            provisioning_started_at: None,
            provision_deadline: None,
            mending: Mending::default(),
            removed_at: None,
            is_purged: false,
        }
    }

    fn secret(owner: SecretOwner, name: &str, version: u64) -> SealedSecret {
        SealedSecret {
            owner,
            name: name.parse().unwrap(),
            version,
            key_id: KeyId::from_fingerprint([1; 8]),
            nonce: [0; 12],
            sealed: Vec::new(),
            created_at: AT,
            updated_at: AT,
            updated_by: Principal::system("test"),
        }
    }

    // F32
    #[test]
    fn a_workspaces_own_secret_wins_over_its_orgs_in_any_order() {
        let own = SecretOwner::Workspace { id: id(1), org_id: OrgId::DEFAULT };
        let org = SecretOwner::Org(OrgId::DEFAULT);
        let mut rows = vec![secret(org, "A", 1), secret(own, "A", 2), secret(org, "B", 3)];
        for _ in 0..rows.len() {
            rows.rotate_left(1);
            let chosen: Vec<u64> = in_effect(rows.clone()).into_values().map(|one| one.version).collect();
            assert_eq!(chosen, [2, 3]);
        }
    }

    // F32, sec/T03
    #[test]
    fn reserved_variables_are_no_names_of_secrets() {
        for name in ["PATH", "LD_PRELOAD", "BASH_ENV", "WARREN_TOKEN", "NODE_OPTIONS"] {
            assert!(check_name(&name.parse().unwrap()).is_err(), "{name}");
        }
        for name in ["API_KEY", "DATABASE_URL", "GITHUB_TOKEN"] {
            assert!(check_name(&name.parse().unwrap()).is_ok(), "{name}");
        }
    }

    // F33
    #[test]
    fn a_few_restart_at_once_idle_ones_first_and_the_resting_are_left_alone() {
        let rows = [
            (workspace(1, Status::Online, true), 3),
            (workspace(3, Status::Online, false), 0),
            (workspace(4, Status::Degraded, true), 0),
            (workspace(5, Status::Provisioning, true), 0),
            (workspace(6, Status::Paused, true), 0),
            (workspace(7, Status::AwaitingAgent, true), 0),
            (workspace(8, Status::Removed, true), 0),
        ];
        let plan = |at_once| {
            roll_out(rows.iter().map(|(row, tasks)| (row, *tasks)), &BTreeMap::new(), Pace { at_once })
        };
        assert_eq!(plan(3).restart, [id(4), id(7)], "one place of three is taken by 5");
        assert_eq!(plan(3).waiting, 1, "the busy one");
        assert_eq!(plan(1).restart, [], "5 is still on its way");
        assert_eq!(plan(9).restart, [id(4), id(7), id(1)], "the busy one comes last");
    }

    // F33
    #[test]
    fn only_what_may_hold_old_values_is_restarted() {
        use Behind::{OfSecrets, OfSomething};
        for (behind, expected) in [
            (OfSecrets(Background::NotOpen), BringUp::Note),
            (OfSecrets(Background::Running(0)), BringUp::Note),
            (OfSecrets(Background::Running(2)), BringUp::Restart),
            (OfSecrets(Background::Unknown), BringUp::Restart),
            (OfSomething { is_open: false }, BringUp::Note),
            (OfSomething { is_open: true }, BringUp::Restart),
        ] {
            assert_eq!(bring_up(Runtime::Hosted, behind), expected, "{behind:?}");
            for runtime in [Runtime::Resident, Runtime::External] {
                assert_eq!(bring_up(runtime, behind), BringUp::Restart, "its agent was started before");
            }
        }
    }

    // F33
    #[test]
    fn a_process_holds_old_values_unless_it_is_known_to_have_got_those_of_now() {
        assert!(holds_old_values(None, 3), "nobody knows");
        assert!(holds_old_values(Some(2), 3));
        assert!(!holds_old_values(Some(3), 3));
        assert!(!holds_old_values(Some(4), 3), "the row was read before the last change");
    }

    // F33
    #[test]
    fn only_an_open_place_of_no_agent_is_asked_what_runs_there() {
        let spec = |runtime, provider| WorkspaceSpec {
            runtime,
            ..WorkspaceSpec::new(provider, warren_model::CapabilitySet::EMPTY)
        };
        let local = || ProviderConfig::Local(LocalConfig::default());
        for runtime in Runtime::ALL {
            for is_open in [false, true] {
                let is_asked = known_background(&spec(*runtime, local()), is_open).is_none();
                assert_eq!(is_asked, *runtime == Runtime::Hosted && is_open, "{runtime:?} {is_open}");
            }
        }
        let closed = |provider| known_background(&spec(Runtime::Hosted, provider), false);
        assert_eq!(closed(local()), Some(Background::NotOpen));
        let docker = |reuse| ProviderConfig::Docker(DockerConfig { reuse, ..DockerConfig::default() });
        assert_eq!(closed(docker(Reuse::Recreate)), Some(Background::NotOpen));
        assert_eq!(closed(docker(Reuse::Reconnect)), Some(Background::Unknown), "its box lives on");
    }

    // F33
    #[test]
    fn a_start_owes_no_restart_to_what_is_behind_of_secrets_alone_and_holds_no_old_ones() {
        use crate::lifecycle::startup::{StartAction, plan};
        let behind = |secrets_since| Workspace { secrets_since, ..workspace(1, Status::Online, true) };
        assert_eq!(plan(&behind(Some(1))), StartAction::Settle);
        assert_eq!(plan(&behind(None)), StartAction::Reconcile, "something else changed");
        assert_eq!(
            plan(&behind(Some(2))),
            StartAction::Reconcile,
            "something else changed before the secrets did"
        );
        let mut agent = behind(Some(1));
        agent.spec.runtime = Runtime::Resident;
        assert_eq!(plan(&agent), StartAction::Reconcile, "its agent was started with what was before");
        let booting = Workspace { status: Status::Provisioning, ..behind(Some(1)) };
        assert_eq!(plan(&booting), StartAction::Reconcile);
        let caught_up = Workspace { observed_generation: 2, ..behind(Some(1)) };
        assert_eq!(plan(&caught_up), StartAction::Keep);
    }

    // F33
    #[test]
    fn what_is_behind_still_after_its_restart_is_not_restarted_again_for_the_same_change() {
        let row = workspace(1, Status::Online, true);
        let plan = |tried: &[(WorkspaceId, u64)]| {
            roll_out([(&row, 0)], &tried.iter().copied().collect(), Pace::default()).restart
        };
        assert_eq!(plan(&[]), [row.id]);
        assert_eq!(plan(&[(row.id, row.generation)]), []);
        assert_eq!(plan(&[(row.id, row.generation - 1)]), [row.id], "it changed once more");
    }

    proptest! {
        // F33
        #[test]
        fn every_workspace_that_is_behind_is_restarted_once_and_never_too_many_together(
            count in 0_u8..60, at_once in 1_usize..10,
        ) {
            let mut rows: Vec<Workspace> =
                (0..count).map(|seed| workspace(seed, Status::Online, true)).collect();
            let mut restarts = 0;
            for _ in 0..=usize::from(count) {
                let plan = roll_out(rows.iter().map(|row| (row, 0)), &BTreeMap::new(), Pace { at_once });
                prop_assert!(plan.restart.len() <= at_once);
                restarts += plan.restart.len();
                for row in rows.iter_mut().filter(|row| plan.restart.contains(&row.id)) {
                    row.observed_generation = row.generation;
                }
            }
            prop_assert_eq!(restarts, usize::from(count));
            prop_assert_eq!(roll_out(rows.iter().map(|row| (row, 0)), &BTreeMap::new(), Pace { at_once }), RollOut::default());
        }
    }
}
