//! Tokens, of which only hashes are kept.

use warren_model::{Holder, OrgId, Principal, Timestamp, Token, TokenHash, TokenId, TokenKind, WorkspaceId};

use crate::{Error, Page};

/// Tokens in order of creation.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenQuery {
    pub org_id: Option<OrgId>,
    pub owner: Option<Principal>,
    /// Without the tokens of other people than this one.
    pub only_of: Option<Principal>,
    pub includes_ended: bool,
    pub after: Option<TokenId>,
    pub limit: u32,
}

pub trait TokenReads {
    fn token(&mut self, id: TokenId) -> Result<Option<Token>, Error>;
    /// The way a credential is checked: by hash, so that no comparison leaks timing.
    fn token_by_hash(&mut self, hash: &TokenHash) -> Result<Option<Token>, Error>;
    /// The same, with the person whose token it is as they stand now: one read, since every request begins with it.
    fn held_token_by_hash(&mut self, hash: &TokenHash) -> Result<Option<(Token, Option<Holder>)>, Error>;
    /// The same by its id.
    fn held_token(&mut self, id: TokenId) -> Result<Option<(Token, Option<Holder>)>, Error>;
    fn tokens(&mut self, query: &TokenQuery) -> Result<Page<Token, TokenId>, Error>;
    /// When a token of each of these was last used in the org; without those who have used none.
    fn last_uses(
        &mut self,
        org_id: OrgId,
        owners: &[Principal],
    ) -> Result<Vec<(Principal, Timestamp)>, Error>;
    /// How many tokens this owner holds that are neither expired at `now`, revoked nor used up; sign-in links and
    /// browser sessions do not count.
    fn count_tokens(&mut self, owner: &Principal, now: Timestamp) -> Result<u64, Error>;
}

pub trait TokenWrites {
    fn insert_token(&mut self, token: &Token) -> Result<(), Error>;
    /// Sets `revoked_at` once. Returns whether this call did it.
    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool, Error>;
    /// Sets `used_at` once, of a token that is not revoked. Returns whether this call did it: of two callers, one gets `true`.
    fn use_up_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool, Error>;
    fn touch_token(&mut self, id: TokenId, at: Timestamp) -> Result<(), Error>;
    /// Has it count in another org from now on.
    fn move_token(&mut self, id: TokenId, org_id: OrgId) -> Result<(), Error>;
    /// Revokes all tokens of one kind that speak for a workspace. Returns how many this call ended.
    fn revoke_tokens_of(
        &mut self,
        workspace_id: WorkspaceId,
        kind: TokenKind,
        at: Timestamp,
    ) -> Result<u64, Error>;
    /// Deletes tokens that ended before this moment, at most `limit`. Returns how many.
    fn prune_tokens(&mut self, before: Timestamp, limit: u32) -> Result<u64, Error>;
}
