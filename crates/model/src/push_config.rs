//! Where somebody wants to be told about a task.

use crate::{Principal, TaskId, Timestamp};

/// One receiver of a task's changes.
///
/// What it was told is a version of the task: whenever the task is newer, another call is owed. So nothing has to be
/// written when a task changes, and a crash between a change and its call loses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConfig {
    pub task_id: TaskId,
    /// Its own within the task; the client's choice, or made for it.
    pub id: String,
    /// Who set it.
    pub owner: Principal,
    pub url: String,
    /// Token and credentials, sealed; absent where there are none.
    pub sealed: Option<String>,
    /// The version of the task that the receiver knows.
    pub told_version: u64,
    /// Calls about a newer version that failed, one after the other.
    pub attempts: u32,
    /// Not called before this: somebody is about to, or it failed.
    pub not_before: Timestamp,
    pub created_at: Timestamp,
}

impl PushConfig {
    pub const MAX_ID_BYTES: usize = 128;
    pub const MAX_PER_TASK: usize = 10;

    /// Names the place of `sealed`: what is sealed for one config opens in no other.
    pub fn seal_place(task_id: TaskId, id: &str) -> String {
        format!("push_config/{task_id}/{id}")
    }
}
