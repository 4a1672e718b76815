//! Where people have put workspaces on their maps.

use std::collections::BTreeMap;

use warren_model::{Position, Principal, WorkspaceId};

use crate::Error;

pub trait PositionReads {
    /// Where this principal has put these workspaces; those without a place are not in it.
    fn positions_of(
        &mut self,
        principal: &Principal,
        ids: &[WorkspaceId],
    ) -> Result<BTreeMap<WorkspaceId, Position>, Error>;
}

pub trait PositionWrites {
    /// `None` takes the place back.
    fn put_position(
        &mut self,
        principal: &Principal,
        id: WorkspaceId,
        position: Option<Position>,
    ) -> Result<(), Error>;
}
