//! Secrets of Warren's own, such as those that it shares with the receivers of webhooks: sealed and rotated like all
//! others, under an org that no workspace belongs to, so that none of them becomes a variable anywhere.

use warren_model::{
    ErrorCode, Id, IdKind, OrgId, Principal, SealedSecret, SecretName, SecretOwner, SecretValue, Timestamp,
};

use super::sealing;
use crate::{Error, Fleet};

impl Fleet {
    /// Whose they are, to find and delete them by.
    pub const OWN_SECRETS: SecretOwner = SecretOwner::Org(OrgId::WARREN);

    /// Under which the secret is kept that belongs to something with an id, such as a webhook or a channel.
    pub fn own_secret_name<K: IdKind>(id: Id<K>) -> SecretName {
        let hex: String = id.as_bytes().iter().map(|byte| format!("{byte:02X}")).collect();
        format!("WEBHOOK_{hex}").parse().expect("letters, digits and `_`")
    }

    /// A row that is not written yet.
    pub fn seal_own(
        &self,
        name: &SecretName,
        value: &SecretValue,
        by: &Principal,
        at: Timestamp,
    ) -> SealedSecret {
        let ring = self.keys().ring();
        let mut row = SealedSecret {
            owner: Self::OWN_SECRETS,
            name: name.clone(),
            version: 1,
            key_id: ring.current().id().clone(),
            nonce: [0; 12],
            sealed: Vec::new(),
            created_at: at,
            updated_at: at,
            updated_by: by.clone(),
        };
        sealing::seal(&mut row, value, ring.current(), self.entropy());
        row
    }

    pub fn open_own(&self, row: &SealedSecret) -> Result<SecretValue, Error> {
        sealing::open(row, &self.keys_for([row])).map_err(|error| {
            tracing::error!(secret = row.name.as_str(), %error, "a secret of Warren's own does not open");
            Error::new(ErrorCode::SecretUnreadable).caused_by(error.to_string())
        })
    }
}
