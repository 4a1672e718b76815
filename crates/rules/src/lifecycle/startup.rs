//! What to do with each workspace when Warren starts.

use warren_model::{Desired, ProviderKind, Status, Workspace};

use crate::access::secrets::is_settled_by_a_start;

/// What a starting Warren owes a workspace it finds in its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAction {
    /// Known to the registry, opened when first used.
    Keep,
    /// As `Keep`, and it has what is wanted by that alone: it is only written down.
    Settle,
    /// Bring it to what is wanted.
    Reconcile,
    /// Its files lived in the process that ended: say so (W70).
    MarkLost,
    /// Its removal was accepted and not finished (F8).
    FinishRemoval,
    Nothing,
}

pub fn plan(workspace: &Workspace) -> StartAction {
    if workspace.status == Status::Removed {
        // Whoever asked for a purge is owed it also when the crash came after the last of its files.
        let is_owed = workspace.reference.is_some() || workspace.is_purged;
        return if is_owed { StartAction::FinishRemoval } else { StartAction::Nothing };
    }
    let is_volatile = workspace.spec.provider.kind() == ProviderKind::Memory;
    let was_opened = workspace.reference.is_some();
    if is_volatile && was_opened && workspace.status != Status::Failed {
        return StartAction::MarkLost;
    }
    let is_behind = workspace.behind_of().is_some() && workspace.spec.desired == Desired::Running;
    if workspace.status == Status::Provisioning {
        return StartAction::Reconcile;
    }
    match is_behind {
        true if is_settled_by_a_start(workspace) => StartAction::Settle,
        true => StartAction::Reconcile,
        false => StartAction::Keep,
    }
}
