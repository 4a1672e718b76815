//! What a workspace needs next, from what is wanted and what is known (F3).

use warren_model::{Status, Workspace};

/// One step of a carrier. After each step the row is read again and asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Open the place, or find it again.
    Open,
    /// End what runs there; files stay.
    Close,
    /// Delete what is left of a removed workspace.
    Destroy,
    /// It is as it should be.
    Rest,
}

pub fn next_step(workspace: &Workspace) -> Step {
    let is_behind = workspace.observed_generation < workspace.generation;
    match workspace.status {
        Status::Removed if workspace.reference.is_some() => Step::Destroy,
        Status::Provisioning => Step::Open,
        Status::Paused | Status::Hibernated if is_behind => Step::Close,
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
