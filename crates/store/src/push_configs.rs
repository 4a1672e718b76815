//! Who wants to be told about tasks, and what they are owed.

use warren_model::{PushConfig, TaskId, Timestamp};

use crate::{Batch, Error, Page};

pub trait PushConfigReads {
    /// By id.
    fn push_configs(&mut self, task_id: TaskId) -> Result<Vec<PushConfig>, Error>;
    /// Those whose task is newer than what they were told and that may be called at `now`, the longest waiting first.
    fn owed_pushes(&mut self, now: Timestamp, limit: u32) -> Result<Batch<PushConfig>, Error>;
    /// Those with something sealed, by task and id, behind one of them.
    fn sealed_push_configs(
        &mut self,
        after: Option<(TaskId, &str)>,
        limit: u32,
    ) -> Result<Page<PushConfig, (TaskId, String)>, Error>;
}

pub trait PushConfigWrites {
    /// Writes it in place of the one of the same id, if there is one.
    fn put_push_config(&mut self, config: &PushConfig) -> Result<(), Error>;
    /// Compare-and-set: only if it stands as it was read (`not_before` and `attempts`). Returns whether it did.
    fn update_push_config(&mut self, config: &PushConfig, known: &PushConfig) -> Result<bool, Error>;
    /// Replaces what is sealed, only if it still is what was read. Returns whether it was.
    fn reseal_push_config(&mut self, known: &PushConfig, sealed: &str) -> Result<bool, Error>;
    /// Returns whether there was one.
    fn remove_push_config(&mut self, task_id: TaskId, id: &str) -> Result<bool, Error>;
}
