//! Sealed secrets, and how a change of them is told to the workspaces it reaches (F32, F33).

use warren_model::{KeyId, OrgId, SealedSecret, SecretName, SecretOwner, Timestamp, WorkspaceId};

use crate::{Error, Page};

/// One owner's secrets, in order of their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretQuery {
    pub owner: SecretOwner,
    pub after: Option<SecretName>,
    pub limit: u32,
}

/// Where a walk over all secrets stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretKey {
    pub owner: SecretOwner,
    pub name: SecretName,
}

pub trait SecretReads {
    fn secret(&mut self, owner: SecretOwner, name: &SecretName) -> Result<Option<SealedSecret>, Error>;
    fn secrets(&mut self, query: &SecretQuery) -> Result<Page<SealedSecret, SecretName>, Error>;
    /// The workspace's own and its org's, in no particular order.
    fn secrets_for(&mut self, org_id: OrgId, workspace_id: WorkspaceId) -> Result<Vec<SealedSecret>, Error>;
    fn count_secrets(&mut self, owner: SecretOwner) -> Result<u64, Error>;
    /// How many secrets there are under each key whose id can be read.
    fn count_secrets_by_key(&mut self) -> Result<Vec<(KeyId, u64)>, Error>;
    /// Secrets of all owners that another key sealed, in pages.
    fn secrets_not_under(
        &mut self,
        key_id: &KeyId,
        after: Option<&SecretKey>,
        limit: u32,
    ) -> Result<Page<SealedSecret, SecretKey>, Error>;
}

/// Which workspaces a change of one secret reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    pub owner: SecretOwner,
    pub name: SecretName,
}

pub trait SecretWrites {
    /// Writes a secret that is not there yet; otherwise `AlreadyExists`.
    fn insert_secret(&mut self, secret: &SealedSecret) -> Result<(), Error>;
    /// Compare-and-set on version and key: `Conflict` if the row has moved on. A new value and the same value under
    /// another key are both written by this.
    fn update_secret(
        &mut self,
        secret: &SealedSecret,
        expected_version: u64,
        expected_key: &KeyId,
    ) -> Result<(), Error>;
    /// Returns whether it was there.
    fn delete_secret(&mut self, owner: SecretOwner, name: &SecretName) -> Result<bool, Error>;
    /// Removes all secrets of a workspace and answers with how many there were.
    fn delete_secrets_of(&mut self, workspace_id: WorkspaceId) -> Result<u64, Error>;
    /// Raises generation and version of every workspace that the change reaches, and notes that it was for secrets: those
    /// that are up or on their way up, have the `shell` capability and, for an org's secret, have none of their own by
    /// that name. Answers with how many. One statement whatever their number, so that nobody comes between reading and
    /// writing a row.
    fn raise_generations(&mut self, reach: &Reach, at: Timestamp) -> Result<u64, Error>;
}
