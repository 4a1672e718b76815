//! What was made with which token.

use warren_model::{MadeWithToken, OrgId, Principal, TokenId};

use crate::Error;

pub trait MadeWithReads {
    /// What was made with this token itself, the oldest kinds of ids first. What is gone meanwhile may be among it.
    fn made_with(&mut self, token_id: TokenId) -> Result<Vec<MadeWithToken>, Error>;
    /// Schedules, webhooks and channels of an org that somebody made, with whatever token.
    fn made_by(&mut self, who: &Principal, org_id: OrgId) -> Result<Vec<MadeWithToken>, Error>;
}

pub trait MadeWithWrites {
    /// A thing is made once.
    fn note_made_with(&mut self, token_id: TokenId, made: MadeWithToken) -> Result<(), Error>;
    /// Deletes entries of what is gone and led to nothing else, at most `limit`. Returns how many.
    fn prune_made_with(&mut self, limit: u32) -> Result<u64, Error>;
}
