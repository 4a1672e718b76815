//! What of a workspace means something elsewhere (F51): rules about peers by names in place of ids, schedules without their runs.

use std::collections::BTreeMap;

use warren_model::{
    BundlePeer, BundlePeers, BundleSchedule, PeerPolicy, Schedule, Timing, WorkspaceId, WorkspaceName,
};

use crate::messages::schedules::NewSchedule;

/// A rule about peers for a bundle: those that are in it too go by their names.
pub fn peers_for_bundle(policy: &PeerPolicy, names: &BTreeMap<WorkspaceId, WorkspaceName>) -> BundlePeers {
    let named = |ids: &[WorkspaceId]| {
        let one = |id: &WorkspaceId| match names.get(id) {
            Some(name) => BundlePeer::Name(name.to_string()),
            None => BundlePeer::Id(*id),
        };
        ids.iter().map(one).collect()
    };
    BundlePeers { circle: policy.circle, allow: named(&policy.allow), deny: named(&policy.deny) }
}

/// A rule of version 1, in which all went by their ids.
pub fn peers_of_old_bundle(policy: &PeerPolicy) -> BundlePeers {
    peers_for_bundle(policy, &BTreeMap::new())
}

/// A rule about peers as it reads where a bundle is taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeersTakenIn {
    pub policy: PeerPolicy,
    /// What was left out, as sentences for people.
    pub warnings: Vec<String>,
}

/// Finds those that a rule names among those that are made (`made`, by name) and those that are there (`is_here`). Whoever
/// is neither is left out and told: a rule about nobody would one day be one about somebody else.
pub fn peers_from_bundle(
    peers: &BundlePeers,
    made: &BTreeMap<String, WorkspaceId>,
    is_here: impl Fn(WorkspaceId) -> bool,
) -> PeersTakenIn {
    let mut warnings = Vec::new();
    let mut found = |list: &str, peers: &[BundlePeer]| {
        let mut ids = Vec::new();
        for peer in peers {
            match peer {
                BundlePeer::Name(name) => match made.get(name) {
                    Some(id) => ids.push(*id),
                    None => warnings.push(format!(
                        "peers.{list}: `{name}` is not in the bundle; the rule about it was left out"
                    )),
                },
                BundlePeer::Id(id) if is_here(*id) => ids.push(*id),
                BundlePeer::Id(id) => warnings.push(format!(
                    "peers.{list}: the workspace {id} is not in the bundle and not here; the rule about it was left out"
                )),
            }
        }
        ids
    };
    let (allow, deny) = (found("allow", &peers.allow), found("deny", &peers.deny));
    PeersTakenIn { policy: PeerPolicy { circle: peers.circle, allow, deny }, warnings }
}

/// A schedule for a bundle.
pub fn schedule_for_bundle(schedule: &Schedule) -> BundleSchedule {
    let (cron, time_zone, every_seconds) = match &schedule.timing {
        Timing::Cron { expression, time_zone } => (Some(expression.clone()), Some(time_zone.clone()), None),
        Timing::Every { seconds } => (None, None, Some(*seconds)),
    };
    BundleSchedule {
        name: schedule.name.clone(),
        cron,
        time_zone,
        every_seconds,
        prompt: schedule.prompt.clone(),
        jitter_seconds: schedule.jitter_seconds,
        missed: schedule.missed,
        overlap: schedule.overlap,
        is_paused: schedule.is_paused,
    }
}

/// The same back, as one that somebody wants.
pub fn schedule_from_bundle(schedule: &BundleSchedule) -> NewSchedule {
    let timing = match (&schedule.cron, schedule.every_seconds) {
        (Some(expression), _) => Timing::Cron {
            expression: expression.clone(),
            time_zone: schedule.time_zone.clone().unwrap_or_else(|| "UTC".into()),
        },
        (None, seconds) => Timing::Every { seconds: seconds.unwrap_or(0) },
    };
    NewSchedule {
        name: schedule.name.clone(),
        timing,
        prompt: schedule.prompt.clone(),
        jitter_seconds: schedule.jitter_seconds,
        missed: schedule.missed,
        overlap: schedule.overlap,
    }
}

#[cfg(test)]
mod tests {
    use warren_model::PeerCircle;

    use super::*;

    // F51
    #[test]
    fn rules_about_peers_follow_the_workspaces_of_the_bundle_and_say_whom_they_lost() {
        let id = |byte: u8| WorkspaceId::from_bytes([byte; 16]);
        let policy =
            PeerPolicy { circle: PeerCircle::Nobody, allow: vec![id(1), id(9)], deny: vec![id(2), id(8)] };
        let names = [(id(1), "lead".parse().unwrap()), (id(2), "critic".parse().unwrap())].into();
        let peers = peers_for_bundle(&policy, &names);
        assert_eq!(peers.allow, [BundlePeer::Name("lead".into()), BundlePeer::Id(id(9))]);
        let made = [("lead".to_owned(), id(11)), ("critic".to_owned(), id(12))].into();
        let taken = peers_from_bundle(&peers, &made, |one| one == id(9));
        assert_eq!(taken.policy.allow, [id(11), id(9)], "who is here is kept");
        assert_eq!(taken.policy.deny, [id(12)]);
        assert_eq!(taken.policy.circle, PeerCircle::Nobody);
        assert_eq!(taken.warnings.len(), 1, "{:?}", taken.warnings);
        assert!(taken.warnings[0].contains(&id(8).to_string()), "{:?}", taken.warnings);
        // Version 1 knew ids alone.
        let old = peers_from_bundle(&peers_of_old_bundle(&policy), &made, |_| false);
        assert_eq!((old.policy.allow.len(), old.warnings.len()), (0, 4));
    }
}
