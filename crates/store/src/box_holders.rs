//! Which replica holds the box of a workspace, and where replicas are reached.

use warren_model::{Timestamp, WorkspaceId};

use crate::Error;

/// The replica that holds a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxHolder {
    pub workspace_id: WorkspaceId,
    pub replica: String,
    /// Grows with each new holder.
    pub epoch: u64,
}

/// A replica that opens boxes. Whether it lives, its lease says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaRow {
    pub name: String,
    /// Where the other replicas reach it; absent where they cannot.
    pub url: Option<String>,
    /// When it last said that it lives.
    pub seen_at: Timestamp,
}

pub trait BoxHolderReads {
    fn place(&mut self, id: WorkspaceId) -> Result<Option<BoxHolder>, Error>;

    fn replica(&mut self, name: &str) -> Result<Option<ReplicaRow>, Error>;

    /// Those that were seen at `since` or later, by name.
    fn replicas_seen(&mut self, since: Timestamp) -> Result<Vec<ReplicaRow>, Error>;
}

pub trait BoxHolderWrites {
    /// Compare-and-set: only if the row is still at `known` epoch, or there is none and `known` is absent; otherwise
    /// `Error::Conflict`.
    fn put_place(&mut self, holder: &BoxHolder, known: Option<u64>) -> Result<(), Error>;

    /// Writes it in place of the one of the same name, if there is one.
    fn put_replica(&mut self, replica: &ReplicaRow) -> Result<(), Error>;

    fn remove_replica(&mut self, name: &str) -> Result<(), Error>;

    /// Removes those that were last seen before `before`.
    fn prune_replicas(&mut self, before: Timestamp) -> Result<u64, Error>;
}
