//! Which replica holds the box of a workspace.

use warren_model::WorkspaceId;

use crate::Error;

/// The replica that holds a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxHolder {
    pub workspace_id: WorkspaceId,
    pub replica: String,
    /// Grows with each new holder.
    pub epoch: u64,
}

pub trait BoxHolderReads {
    fn place(&mut self, id: WorkspaceId) -> Result<Option<BoxHolder>, Error>;
}

pub trait BoxHolderWrites {
    /// Compare-and-set: only if the row is still at `known` epoch, or there is none and `known` is absent; otherwise
    /// `Error::Conflict`.
    fn put_place(&mut self, holder: &BoxHolder, known: Option<u64>) -> Result<(), Error>;
}
