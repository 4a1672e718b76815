//! Which replica has a workspace's box.

use warren_model::WorkspaceId;

use crate::Error;

/// The holder of a box, as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub workspace_id: WorkspaceId,
    pub replica: String,
    /// Grows with each new holder.
    pub epoch: u64,
}

pub trait PlaceReads {
    fn place(&mut self, id: WorkspaceId) -> Result<Option<Place>, Error>;
}

pub trait PlaceWrites {
    /// Compare-and-set: only if the row is still at `known` epoch, or there is none and `known` is absent; otherwise
    /// `Error::Conflict`.
    fn put_place(&mut self, place: &Place, known: Option<u64>) -> Result<(), Error>;
}
